package drover

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// calls is a connection on which each unary call is repeated, with growing and jittered waits, as
// long as it is unknown whether it took effect, or the server asks for a later repeat. That is safe
// because each is idempotent: by its key or its request id, which are made here if the caller gives
// none, by its token, or by what it does. Any other refusal is a [*CallError] at once.
type calls struct {
	conn      grpc.ClientConnInterface
	namespace string
	patience  time.Duration
	codec     Codec
	log       *slog.Logger
}

// tryFor is the time for one try.
const tryFor = 10 * time.Second

// Invoke is that of grpc.ClientConnInterface.
func (c *calls) Invoke(ctx context.Context, method string, request, reply any,
	options ...grpc.CallOption) error {
	asked, answer := c.fill(request.(proto.Message)), reply.(proto.Message)
	most := tryFor
	if waiting, ok := asked.(*droverpb.WaitRunRequest); ok {
		most += waiting.GetWait().AsDuration()
	}
	log := c.log.With("call", method)
	once := func(ctx context.Context) (struct{}, error) {
		proto.Reset(answer)
		return struct{}{}, c.conn.Invoke(ctx, method, asked, answer, options...)
	}
	if _, err := repeat(ctx, c.patience, most, log, once); err != nil {
		return err
	}
	return decodeAll(c.codec, answer)
}

// NewStream is that of grpc.ClientConnInterface. A stream is not repeated.
func (c *calls) NewStream(ctx context.Context, of *grpc.StreamDesc, method string,
	options ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := c.conn.NewStream(ctx, of, method, options...)
	if err != nil {
		return nil, callErrorOf(err)
	}
	return &callStream{stream, c}, nil
}

type callStream struct {
	grpc.ClientStream
	calls *calls
}

func (s *callStream) SendMsg(message any) error {
	return s.ClientStream.SendMsg(s.calls.fill(message.(proto.Message)))
}

func (s *callStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err == io.EOF {
		return err
	}
	if err != nil {
		return callErrorOf(err)
	}
	return decodeAll(s.calls.codec, message.(proto.Message))
}

// fill sets the namespace of a request, and the caller's own name for it, where they are left out.
func (c *calls) fill(request proto.Message) proto.Message {
	filled := proto.Clone(request)
	message := filled.ProtoReflect()
	fields := message.Descriptor().Fields()
	setIfEmpty(message, fields.ByName("namespace"), func() string { return c.namespace })
	if dry := fields.ByName("dry_run"); dry == nil || !message.Get(dry).Bool() {
		setIfEmpty(message, fields.ByName("request_id"), rand.Text)
	}
	switch message.Interface().(type) {
	case *droverpb.ScheduleRequest:
		setIfEmpty(message, fields.ByName("key"), rand.Text)
	case *droverpb.SignalRequest:
		setIfEmpty(message, fields.ByName("signal_id"), rand.Text)
	}
	return filled
}

func setIfEmpty(message protoreflect.Message, field protoreflect.FieldDescriptor,
	text func() string) {
	if field != nil && message.Get(field).String() == "" {
		message.Set(field, protoreflect.ValueOfString(text()))
	}
}
