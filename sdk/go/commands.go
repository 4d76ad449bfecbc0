package drover

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// CancelRun stops a run. For the work that was done, undo is UNDO_COMPENSATE or UNDO_LEAVE.
func (c *Client) CancelRun(ctx context.Context, run RunName, undo droverpb.Undo, reason string) (
	*droverpb.Run, error) {
	request := &droverpb.CancelRunRequest{Run: run.ref(), Undo: undo, Reason: reason}
	answer, err := c.scheduler.CancelRun(ctx, request)
	return answer.GetRun(), err
}

// PauseRun pauses a run: no new task is handed out, and tasks that agents hold continue.
func (c *Client) PauseRun(ctx context.Context, run RunName, reason string) (*droverpb.Run, error) {
	request := &droverpb.PauseRunRequest{Run: run.ref(), Reason: reason}
	answer, err := c.scheduler.PauseRun(ctx, request)
	return answer.GetRun(), err
}

// ResumeRun resumes a paused run.
func (c *Client) ResumeRun(ctx context.Context, run RunName, reason string) (*droverpb.Run, error) {
	request := &droverpb.ResumeRunRequest{Run: run.ref(), Reason: reason}
	answer, err := c.scheduler.ResumeRun(ctx, request)
	return answer.GetRun(), err
}

// Rerun describes how a run is repeated.
type Rerun struct {
	// Newest uses the newest version of the workflow. Default: the version that the run started with.
	Newest bool
	// Input of the new run, for RerunFrom only. Default: the input of the run.
	Input any
	// RequestID is the caller's own name for the request: one id makes one new run only. Default:
	// random.
	RequestID string
}

func (r Rerun) version() droverpb.RerunVersion {
	if r.Newest {
		return droverpb.RerunVersion_RERUN_VERSION_NEWEST
	}
	return droverpb.RerunVersion_RERUN_VERSION_SAME
}

// RetryRun starts a new run, which reuses the steps that succeeded and performs the others. If
// created is false, an earlier call with this request id made it.
func (c *Client) RetryRun(ctx context.Context, run RunName, how Rerun) (
	*droverpb.RetryRunResponse, error) {
	return c.scheduler.RetryRun(ctx, &droverpb.RetryRunRequest{
		Run: run.ref(), RequestId: how.RequestID, Version: how.version(),
	})
}

// RerunFrom starts a new run, which performs this step and all steps after it again; "": all steps.
func (c *Client) RerunFrom(ctx context.Context, run RunName, stepID string, how Rerun) (
	*droverpb.RerunFromResponse, error) {
	input, err := encode(c.calls.codec, how.Input)
	if err != nil {
		return nil, err
	}
	return c.scheduler.RerunFrom(ctx, &droverpb.RerunFromRequest{
		Run: run.ref(), StepId: stepID, RequestId: how.RequestID, Version: how.version(), Input: input,
	})
}

// Bulk applies one action to all runs that match the filter of the request, oldest first, with a
// result for each. Count the runs first, with DryRun and [Client.CountForBulk], and set
// ExpectedCount: if the number differs then, nothing is done. [Client.Payload] makes the payload of
// signals, or the input of re-runs.
func (c *Client) Bulk(ctx context.Context, request *droverpb.BulkActionRequest) iter.Seq2[
	*droverpb.BulkResult, error] {
	if request.RequestId == "" {
		// All its pages are one action, under one request id.
		request.RequestId = rand.Text()
	}
	return pages(func() ([]*droverpb.BulkResult, bool, error) {
		page, err := c.scheduler.BulkAction(ctx, request)
		request.PageToken = page.GetNextPageToken()
		return page.GetResults(), request.PageToken != "", err
	})
}

// CountForBulk returns the number of runs to which an action would apply, at most 10,001.
func (c *Client) CountForBulk(ctx context.Context, kind droverpb.BulkKind,
	filter *droverpb.RunFilter) (int, error) {
	request := &droverpb.BulkActionRequest{Kind: kind, Filter: filter, DryRun: true}
	answer, err := c.scheduler.BulkAction(ctx, request)
	return int(answer.GetCount()), err
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

// Decision is the decision of an approver.
type Decision struct {
	// Reject rejects. Default: approve.
	Reject bool
	// Approver is the person who decides, as the caller states it; the server does not verify it.
	Approver string
	// Roles of the approver, as the caller states them.
	Roles   []string
	Comment string
	// Form is the form of the step, filled in.
	Form any
}

// Decide answers a step that waits for people. If repeated is true, this approver made the same
// decision before.
func (c *Client) Decide(ctx context.Context, run RunName, stepID string, decision Decision) (
	*droverpb.DecideResponse, error) {
	form, err := toPayload(decision.Form)
	if err != nil {
		return nil, err
	}
	kind := droverpb.DecisionKind_DECISION_KIND_APPROVE
	if decision.Reject {
		kind = droverpb.DecisionKind_DECISION_KIND_REJECT
	}
	return c.scheduler.Decide(ctx, &droverpb.DecideRequest{
		Run:      run.ref(),
		StepId:   stepID,
		Approver: decision.Approver,
		Roles:    decision.Roles,
		Decision: kind,
		Comment:  decision.Comment,
		Form:     form.message(),
	})
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
