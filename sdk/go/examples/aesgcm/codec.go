// Package aesgcm is an example of a payload codec: AES-256-GCM with one key, so that the server
// never sees the clear text. In your own program, keys change, and the payload must name the key
// that was used.
package aesgcm

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// ContentType is the content type of encrypted payloads.
const ContentType = "application/x-drover-aes-gcm"

// Codec encrypts payloads: nonce (12 bytes), ciphertext, tag (16 bytes). The clear text is the
// payload as it would have been sent.
//
// The nonce is derived from key and payload, so the same input under the same key of a run is the
// same request, also from a restarted caller. An observer of two payloads learns whether they are
// equal, and nothing else.
type Codec struct {
	aead     cipher.AEAD
	nonceKey []byte
}

// New makes a codec with a key of 32 bytes.
func New(key []byte) (*Codec, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("aesgcm: the key has %d bytes; it must have 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Codec{aead, sum(key, []byte("drover nonce"))}, nil
}

// Encode encrypts a payload.
func (c *Codec) Encode(payload *drover.Payload) (*drover.Payload, error) {
	opened, err := proto.MarshalOptions{Deterministic: true}.Marshal(messageOf(payload))
	if err != nil {
		return nil, err
	}
	nonce := sum(c.nonceKey, opened)[:c.aead.NonceSize()]
	return drover.Bytes(c.aead.Seal(nonce, nonce, opened, nil), ContentType), nil
}

// messageOf: the clear text is the message of the contract, as the codecs of the other SDKs have it.
func messageOf(payload *drover.Payload) *droverpb.Payload {
	message := &droverpb.Payload{ContentType: payload.ContentType}
	if payload.JSON != "" {
		message.Body = &droverpb.Payload_Json{Json: payload.JSON}
	} else {
		message.Body = &droverpb.Payload_Data{Data: payload.Data}
	}
	return message
}

func sum(key, of []byte) []byte {
	made := hmac.New(sha256.New, key)
	made.Write(of)
	return made.Sum(nil)
}

// Decode decrypts payloads of this content type, and returns all others unchanged.
func (c *Codec) Decode(payload *drover.Payload) (*drover.Payload, error) {
	if payload.ContentType != ContentType {
		return payload, nil
	}
	data, size := payload.Data, c.aead.NonceSize()
	if len(data) < size {
		return nil, errors.New("aesgcm: the payload is too short to be encrypted")
	}
	opened, err := c.aead.Open(nil, data[:size], data[size:], nil)
	if err != nil {
		return nil, fmt.Errorf("aesgcm: the payload was not encrypted with this key: %w", err)
	}
	made := &droverpb.Payload{}
	if err := proto.Unmarshal(opened, made); err != nil {
		return nil, fmt.Errorf("aesgcm: the clear text is no payload: %w", err)
	}
	return &drover.Payload{
		JSON: made.GetJson(), Data: made.GetData(), ContentType: made.GetContentType(),
	}, nil
}
