package drover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Payload is a value as it is sent and stored: a JSON text, or bytes with their media type.
type Payload struct {
	// JSON is the text of a JSON value; "": the payload is bytes.
	JSON string
	// Data are the bytes, if it is not JSON.
	Data []byte
	// ContentType is the media type of the bytes; "": application/octet-stream.
	ContentType string
}

// JSON makes a payload of a value. Functions that take a payload do this for a plain value.
func JSON(value any) (*Payload, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	// As a person wrote it: what is not shown in a page needs no \u003c.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("drover: a payload of type %T has no JSON form: %w", value, err)
	}
	return &Payload{JSON: string(bytes.TrimRight(text.Bytes(), "\n"))}, nil
}

// Bytes makes a payload that is not JSON; the server passes it on unchanged and never reads it. An
// empty media type means application/octet-stream.
func Bytes(data []byte, contentType string) *Payload {
	return &Payload{ContentType: contentType, Data: data}
}

// Unmarshal reads a payload: JSON into any value that [json.Unmarshal] accepts, bytes into a
// *[]byte. If there is no payload, the value is unchanged.
func Unmarshal(payload *Payload, into any) error { return unmarshal("the payload", payload, into) }

// unmarshal names the payload in its errors.
func unmarshal(name string, payload *Payload, into any) error {
	switch {
	case payload == nil:
	case payload.JSON != "":
		if err := unmarshalJSON([]byte(payload.JSON), into); err != nil {
			return fmt.Errorf("drover: %s is not as expected: %w", name, err)
		}
	default:
		data, ok := into.(*[]byte)
		if !ok {
			const text = "drover: %s is bytes (%q); read it into a *[]byte, not a %T"
			return fmt.Errorf(text, name, payload.ContentType, into)
		}
		*data = payload.Data
	}
	return nil
}

// validated is a value that knows what is wrong with itself.
type validated interface{ Validate() error }

// unmarshalJSON says where a value is not of its type, and asks a value with Validate.
func unmarshalJSON(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	var mismatch *json.UnmarshalTypeError
	switch value, checks := into.(validated); {
	case errors.As(err, &mismatch):
		return &mismatchError{mismatch}
	case err == nil && checks:
		return value.Validate()
	}
	return err
}

// mismatchError has a text for people: "legs.to: got a JSON number, want string".
type mismatchError struct{ of *json.UnmarshalTypeError }

func (e *mismatchError) Error() string {
	text := fmt.Sprintf("got a JSON %s, want %s", e.of.Value, e.of.Type)
	if e.of.Field == "" {
		return text
	}
	return e.of.Field + ": " + text
}

func (e *mismatchError) Unwrap() error { return e.of }

// toPayload leaves a payload as it is; nil is none, and all else is JSON.
func toPayload(value any) (*Payload, error) {
	switch given := value.(type) {
	case nil:
		return nil, nil
	case *Payload:
		return given, nil
	default:
		return JSON(value)
	}
}

// message is the payload as it is sent; of nil it is nil.
func (p *Payload) message() *droverpb.Payload {
	switch {
	case p == nil:
		return nil
	case p.JSON != "":
		return &droverpb.Payload{
			ContentType: p.ContentType, Body: &droverpb.Payload_Json{Json: p.JSON},
		}
	default:
		return &droverpb.Payload{
			ContentType: p.ContentType, Body: &droverpb.Payload_Data{Data: p.Data},
		}
	}
}

// payloadOf reads what was sent; without a body there is none.
func payloadOf(message *droverpb.Payload) *Payload {
	if message.GetBody() == nil {
		return nil
	}
	return &Payload{
		JSON: message.GetJson(), Data: message.GetData(), ContentType: message.GetContentType(),
	}
}

// payloadSize is about how many bytes it takes in a message.
func payloadSize(payload *droverpb.Payload) int {
	return len(payload.GetJson()) + len(payload.GetData())
}
