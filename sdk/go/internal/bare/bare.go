// Package bare lets drovertest run a handler without an agent. Package drover fills it in.
package bare

import (
	"context"
	"log/slog"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Attempt is one try, with what an agent would otherwise have around it.
type Attempt struct {
	// Handler is a drover.Handler, and Codec a drover.Codec or nil.
	Handler any
	Codec   any
	Task    *droverpb.Task
	// Note takes what the handler reports; one of the two is nil.
	Note func(progress *droverpb.Progress, details *droverpb.Payload)
	Left func() time.Duration
	Log  *slog.Logger
}

// Run returns what would be reported.
var Run func(ctx context.Context, of Attempt) *droverpb.Outcome

// Payload makes a *drover.Payload of what was sent, and Message undoes it; nil stays nil.
var (
	Payload func(*droverpb.Payload) any
	Message func(payload any) *droverpb.Payload
)
