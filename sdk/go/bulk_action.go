package drover

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// BulkAction is one action on all runs that match a filter.
type BulkAction struct {
	Kind BulkKind
	// Filter selects the runs, at most 10,000. Default: every run to which the action applies.
	Filter RunFilter
	// Undo is, for BulkCancel, what happens to the work that was done. Default: UndoCompensate.
	Undo Undo
	// Newest uses, for BulkRetry and BulkRerun, the newest version of the workflow. Default: the
	// version that each run started with.
	Newest bool
	// SignalName and Payload are those of the signal, for BulkSignal.
	SignalName string
	Payload    any
	// StepID is, for BulkRerun, the step as in [Client.RerunFrom]. Default: all steps.
	StepID string
	// Input is, for BulkRerun, the input of all new runs. Default: each has that of its run.
	Input any
	// Reason is for people; required for BulkErase.
	Reason string
	// ExpectedCount is the result of [Client.CountForBulk]: if the number of runs differs now,
	// nothing is done, and the error is [ReasonCountMismatch]. Default: any number.
	ExpectedCount *int
	// RequestID is the caller's own name for the action: it is applied to each run once. Default:
	// random.
	RequestID string
}

// BulkKind is the action on each run.
type BulkKind string

// The action on each run.
const (
	BulkCancel BulkKind = "cancel"
	BulkPause  BulkKind = "pause"
	BulkResume BulkKind = "resume"
	BulkRetry  BulkKind = "retry"
	BulkSignal BulkKind = "signal"
	BulkRerun  BulkKind = "rerun"
	// BulkErase deletes runs that have ended, with all that is stored of them; for admins only.
	BulkErase BulkKind = "erase"
)

// BulkResult is the result of one run.
type BulkResult struct {
	RunID RunID
	// NewRunID is the run that was made of it, for BulkRetry and BulkRerun.
	NewRunID RunID
	// Err is set if this run was left unchanged; it is a [*CallError].
	Err error
}

// Bulk applies one action to all runs that match its filter, oldest first, with a result for each.
// Count the runs first, and set the count:
//
//	count, err := client.CountForBulk(ctx, action)
//	action.ExpectedCount = &count
//	for result, err := range client.Bulk(ctx, action) {
func (c *Client) Bulk(ctx context.Context, action BulkAction) iter.Seq2[BulkResult, error] {
	// All its pages are one action, under one request id.
	action.RequestID = cmp.Or(action.RequestID, rand.Text())
	// Encoded once: a codec may make another text of a payload each time.
	whole, err := action.message(c.calls.codec)
	return pages(bulkResultOf, func(token string) ([]*droverpb.BulkResult, string, error) {
		if err != nil {
			return nil, "", err
		}
		request := proto.CloneOf(whole)
		request.PageToken = token
		page, err := c.scheduler.BulkAction(ctx, request)
		return page.GetResults(), page.GetNextPageToken(), err
	})
}

// CountForBulk returns the number of runs to which an action would apply, at most 10,001.
func (c *Client) CountForBulk(ctx context.Context, action BulkAction) (int, error) {
	request, err := action.message(c.calls.codec)
	if err != nil {
		return 0, err
	}
	request.DryRun = true
	answer, err := c.scheduler.BulkAction(ctx, request)
	return int(answer.GetCount()), err
}

func (b BulkAction) message(codec Codec) (*droverpb.BulkActionRequest, error) {
	kind, err := valueOf[droverpb.BulkKind](b.Kind, wordOf)
	if err != nil {
		return nil, err
	}
	undo, err := valueOfWord[droverpb.Undo](b.Undo)
	if err != nil {
		return nil, err
	}
	filter, err := b.Filter.message()
	if err != nil {
		return nil, err
	}
	payload, err := encode(codec, b.Payload)
	if err != nil {
		return nil, err
	}
	input, err := encode(codec, b.Input)
	if err != nil {
		return nil, err
	}
	request := &droverpb.BulkActionRequest{
		Kind:       kind,
		Filter:     filter,
		Undo:       undo,
		Version:    rerunVersion(b.Newest),
		SignalName: b.SignalName,
		Payload:    payload,
		StepId:     b.StepID,
		Input:      input,
		Reason:     b.Reason,
		RequestId:  b.RequestID,
	}
	if b.ExpectedCount != nil {
		request.ExpectedCount = proto.Int32(int32(*b.ExpectedCount))
	}
	return request, nil
}

func bulkResultOf(message *droverpb.BulkResult) BulkResult {
	result := BulkResult{
		RunID: RunID(message.GetRunId()), NewRunID: RunID(message.GetNewRunId()),
	}
	if message.GetStatus().GetCode() != int32(codes.OK) {
		result.Err = callErrorOfProto(message.GetStatus())
	}
	return result
}
