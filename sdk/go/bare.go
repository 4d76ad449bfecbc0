package drover

import (
	"context"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
	"github.com/drover-dev/drover/sdk/go/internal/bare"
)

func init() {
	bare.Payload = func(message *droverpb.Payload) any { return payloadOf(message) }
	bare.Message = func(payload any) *droverpb.Payload { return payload.(*Payload).message() }
	bare.Run = func(ctx context.Context, of bare.Attempt) *droverpb.Outcome {
		codec, ok := of.Codec.(Codec)
		if !ok {
			codec = plain{}
		}
		task := readTask(of.Task, bareNotes{of}, codec, of.Log)
		return attempt(ctx, of.Handler.(Handler), task)
	}
}

// bareNotes is a notebook for a task that no agent holds.
type bareNotes struct{ of bare.Attempt }

func (b bareNotes) note(added notes)    { b.of.Note(added.progress, added.details) }
func (b bareNotes) left() time.Duration { return b.of.Left() }
