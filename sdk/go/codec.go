package drover

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.drover.dev/drover/droverpb"
)

// Codec changes payloads on their way, so that the server never sees the clear text: it encrypts, or
// compresses. Client and agents of a namespace use the same one.
//
// It is applied to what programs give and get: inputs of runs, outputs, details, payloads of signals
// and of deferred outcomes. What the server itself has to read goes out as it is: definitions,
// triggers, and the forms of decisions. An expression sees of an encoded payload only that it is
// bytes, so a step whose input is made of expressions needs its own way to the clear text.
type Codec interface {
	// Encode returns the payload to send.
	Encode(*droverpb.Payload) (*droverpb.Payload, error)
	// Decode undoes Encode, and returns what Encode has not made as it is: tell by the content type.
	Decode(*droverpb.Payload) (*droverpb.Payload, error)
}

// plain is no codec.
type plain struct{}

func (plain) Encode(payload *droverpb.Payload) (*droverpb.Payload, error) { return payload, nil }
func (plain) Decode(payload *droverpb.Payload) (*droverpb.Payload, error) { return payload, nil }

// encode makes a payload of a value, and encodes it; nil is none.
func encode(codec Codec, value any) (*droverpb.Payload, error) {
	payload, err := toPayload(value)
	if payload == nil || err != nil {
		return nil, err
	}
	return codec.Encode(payload)
}

// decode reads a payload into a value; false: there is none.
func decode(codec Codec, payload *droverpb.Payload, into any) (bool, error) {
	if payload == nil {
		return false, nil
	}
	clear, err := codec.Decode(payload)
	if err != nil {
		return true, err
	}
	return true, Unmarshal(clear, into)
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
		clear, err := codec.Decode(payload)
		if err != nil || clear == payload {
			return err
		}
		proto.Reset(payload)
		proto.Merge(payload, clear)
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
