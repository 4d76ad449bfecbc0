package drover

import (
	"context"
	"errors"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Undo is what happens to the work that was done.
type Undo string

// What happens to the work that was done.
const (
	// UndoCompensate: it is undone, in reverse order.
	UndoCompensate Undo = "compensate"
	// UndoLeave: it stays.
	UndoLeave Undo = "leave"
)

// CancelRun stops a run. An empty undo is UndoCompensate.
func (c *Client) CancelRun(ctx context.Context, run RunName, undo Undo, reason string) (
	Run, error) {
	kind, err := valueOfWord[droverpb.Undo](undo)
	if err != nil {
		return Run{}, err
	}
	request := &droverpb.CancelRunRequest{Run: run.ref(), Undo: kind, Reason: reason}
	answer, err := c.scheduler.CancelRun(ctx, request)
	return runOf(answer.GetRun()), err
}

// PauseRun pauses a run: no new task is handed out, and tasks that agents hold continue.
func (c *Client) PauseRun(ctx context.Context, run RunName, reason string) (Run, error) {
	request := &droverpb.PauseRunRequest{Run: run.ref(), Reason: reason}
	answer, err := c.scheduler.PauseRun(ctx, request)
	return runOf(answer.GetRun()), err
}

// ResumeRun resumes a paused run.
func (c *Client) ResumeRun(ctx context.Context, run RunName, reason string) (Run, error) {
	request := &droverpb.ResumeRunRequest{Run: run.ref(), Reason: reason}
	answer, err := c.scheduler.ResumeRun(ctx, request)
	return runOf(answer.GetRun()), err
}

// Signal sends an event for a step that waits for it; it is stored until a step takes it. The id is
// the caller's own name for the signal: one id makes one signal only; "": a random id. If repeated
// is true, a signal of this id was stored before.
func (c *Client) Signal(ctx context.Context, run RunName, name, id string, payload any) (
	repeated bool, err error) {
	body, err := encode(c.calls.codec, payload)
	if err != nil {
		return false, err
	}
	request := &droverpb.SignalRequest{Run: run.ref(), Name: name, SignalId: id, Payload: body}
	answer, err := c.scheduler.Signal(ctx, request)
	return answer.GetRepeated(), err
}

// CompleteDeferred reports that a deferred attempt has succeeded, by its [Task.CallbackToken]. If
// repeated is true, the same outcome was reported before.
func (c *Client) CompleteDeferred(ctx context.Context, token string, output any) (
	repeated bool, err error) {
	payload, err := encode(c.calls.codec, output)
	if err != nil {
		return false, err
	}
	success := &droverpb.CompleteDeferredRequest_Success{
		Success: &droverpb.Outcome_Success{Output: payload},
	}
	request := &droverpb.CompleteDeferredRequest{CallbackToken: token, Outcome: success}
	answer, err := c.scheduler.CompleteDeferred(ctx, request)
	return answer.GetRepeated(), err
}

// FailDeferred reports that a deferred attempt has failed, with an error of [Transient] or
// [Permanent].
func (c *Client) FailDeferred(ctx context.Context, token string, failure error) (
	repeated bool, err error) {
	var known *TaskError
	if !errors.As(failure, &known) || (known.Kind != KindTransient && known.Kind != KindPermanent) {
		return false, errors.New("drover: a deferred failure is made by Transient or by Permanent")
	}
	failed := &droverpb.CompleteDeferredRequest_Failed{Failed: toFailed(known)}
	request := &droverpb.CompleteDeferredRequest{CallbackToken: token, Outcome: failed}
	answer, err := c.scheduler.CompleteDeferred(ctx, request)
	return answer.GetRepeated(), err
}
