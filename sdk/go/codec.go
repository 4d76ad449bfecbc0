package drover

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Codec encodes payloads, so that the server never sees the clear text: it encrypts or compresses
// them. Client and agents of a namespace use the same codec.
//
// It applies to the payloads that programs send and receive: inputs of runs, outputs, details,
// payloads of signals and of deferred outcomes. Payloads that the server must read are not encoded:
// definitions, triggers, and the forms of decisions. For an expression an encoded payload is only
// bytes, so a step whose input is made of expressions needs its own way to the clear text.
type Codec interface {
	// Encode returns the payload to send.
	Encode(*Payload) (*Payload, error)
	// Decode undoes Encode. It returns a payload that Encode did not make unchanged; the content type
	// shows the difference.
	Decode(*Payload) (*Payload, error)
}

// plain is no codec.
type plain struct{}

func (plain) Encode(payload *Payload) (*Payload, error) { return payload, nil }
func (plain) Decode(payload *Payload) (*Payload, error) { return payload, nil }

// encode makes a payload of a value, and encodes it; nil is none.
func encode(codec Codec, value any) (*droverpb.Payload, error) {
	payload, err := toPayload(value)
	if payload == nil || err != nil {
		return nil, err
	}
	encoded, err := codec.Encode(payload)
	return encoded.message(), err
}

// decode reads a payload into a value; false: there is none.
func decode(codec Codec, payload *droverpb.Payload, into any) (bool, error) {
	sent := payloadOf(payload)
	if sent == nil {
		return false, nil
	}
	opened, err := codec.Decode(sent)
	if err != nil {
		return true, err
	}
	return true, Unmarshal(opened, into)
}

// decodeAll decodes each payload in an answer, at any depth.
func decodeAll(codec Codec, message proto.Message) error {
	if _, none := codec.(plain); none {
		return nil
	}
	return decodeWithin(codec, message.ProtoReflect())
}

func decodeWithin(codec Codec, message protoreflect.Message) error {
	if payload, ok := message.Interface().(*droverpb.Payload); ok {
		sent := payloadOf(payload)
		if sent == nil {
			return nil
		}
		opened, err := codec.Decode(sent)
		if err != nil || opened == sent {
			return err
		}
		proto.Reset(payload)
		proto.Merge(payload, opened.message())
		return nil
	}
	var failed error
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			list := value.List()
			for at := 0; at < list.Len() && failed == nil; at++ {
				failed = decodeWithin(codec, list.Get(at).Message())
			}
		default:
			failed = decodeWithin(codec, value.Message())
		}
		return failed == nil
	})
	return failed
}
