package drover

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// JSON makes a payload of a value. Functions that take a payload do this for a plain value.
func JSON(value any) (*droverpb.Payload, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	// As a person wrote it: what is not shown in a page needs no \u003c.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("drover: a payload of type %T has no JSON form: %w", value, err)
	}
	body := &droverpb.Payload_Json{Json: string(bytes.TrimRight(text.Bytes(), "\n"))}
	return &droverpb.Payload{Body: body}, nil
}

// Bytes makes a payload that is not JSON; the server passes it on unchanged and never reads it. An
// empty media type means application/octet-stream.
func Bytes(data []byte, contentType string) *droverpb.Payload {
	return &droverpb.Payload{ContentType: contentType, Body: &droverpb.Payload_Data{Data: data}}
}

// Unmarshal reads a payload: JSON into any value that [json.Unmarshal] accepts, bytes into a
// *[]byte. If there is no payload, the value is unchanged.
func Unmarshal(payload *droverpb.Payload, into any) error {
	switch body := payload.GetBody().(type) {
	case *droverpb.Payload_Json:
		if err := json.Unmarshal([]byte(body.Json), into); err != nil {
			return fmt.Errorf("drover: the payload is not as expected: %w", err)
		}
	case *droverpb.Payload_Data:
		data, ok := into.(*[]byte)
		if !ok {
			const text = "drover: the payload is bytes (%q); read it into a *[]byte, not a %T"
			return fmt.Errorf(text, payload.GetContentType(), into)
		}
		*data = body.Data
	}
	return nil
}

// toPayload leaves a payload as it is; nil is none, and all else is JSON.
func toPayload(value any) (*droverpb.Payload, error) {
	switch given := value.(type) {
	case nil:
		return nil, nil
	case *droverpb.Payload:
		return given, nil
	default:
		return JSON(value)
	}
}

// payloadSize is about how many bytes it takes in a message.
func payloadSize(payload *droverpb.Payload) int {
	return len(payload.GetJson()) + len(payload.GetData())
}
