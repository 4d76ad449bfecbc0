package drover

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Include is what [Client.GetRun] returns besides the run and its steps.
type Include func(*droverpb.GetRunRequest)

// Everything includes attempts, interventions, escalations, signals, decisions and settings.
func Everything(request *droverpb.GetRunRequest) {
	for _, include := range []Include{
		Attempts, Interventions, Escalations, Signals, Decisions, Settings,
	} {
		include(request)
	}
}

// Attempts includes every hand-out of a task, and how it ended.
func Attempts(request *droverpb.GetRunRequest) { request.IncludeAttempts = true }

// Interventions includes the actions of supervisors.
func Interventions(request *droverpb.GetRunRequest) { request.IncludeInterventions = true }

// Escalations includes the questions to people.
func Escalations(request *droverpb.GetRunRequest) { request.IncludeEscalations = true }

// Signals includes the signals that the run has received.
func Signals(request *droverpb.GetRunRequest) { request.IncludeSignals = true }

// Decisions includes the decisions of approvers.
func Decisions(request *droverpb.GetRunRequest) { request.IncludeDecisions = true }

// Settings includes every setting with its effective value and the source of that value.
func Settings(request *droverpb.GetRunRequest) { request.IncludeSettings = true }

// GetRun returns the run with its steps, and everything that is included.
func (c *Client) GetRun(ctx context.Context, run RunName, include ...Include) (
	*droverpb.GetRunResponse, error) {
	request := &droverpb.GetRunRequest{Run: run.ref()}
	for _, one := range include {
		one(request)
	}
	return c.scheduler.GetRun(ctx, request)
}

// ListRuns iterates over the runs that match the filter (nil: all), newest first; it reads page by
// page.
func (c *Client) ListRuns(ctx context.Context, filter *droverpb.RunFilter) iter.Seq2[
	*droverpb.Run, error] {
	request := &droverpb.ListRunsRequest{Filter: filter}
	return pages(func() ([]*droverpb.Run, bool, error) {
		page, err := c.scheduler.ListRuns(ctx, request)
		request.PageToken = page.GetNextPageToken()
		return page.GetRuns(), request.PageToken != "", err
	})
}

// ListItems iterates over the items of a map that have started, in the order of its list, each as
// a step; those in one of the given states, or all.
func (c *Client) ListItems(ctx context.Context, run RunName, stepID string,
	states ...droverpb.StepState) iter.Seq2[*droverpb.Step, error] {
	request := &droverpb.ListItemsRequest{Run: run.ref(), StepId: stepID, States: states}
	return pages(func() ([]*droverpb.Step, bool, error) {
		page, err := c.scheduler.ListItems(ctx, request)
		request.PageToken = page.GetNextPageToken()
		return page.GetItems(), request.PageToken != "", err
	})
}

// pages goes through what next brings until there is no more, or an error.
func pages[T any](next func() (page []T, more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			page, more, err := next()
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range page {
				if !yield(one, nil) {
					return
				}
			}
			if !more {
				return
			}
		}
	}
}

// ExplainRun explains why a run is not moving, what happens next, and what a person can do.
func (c *Client) ExplainRun(ctx context.Context, run RunName) (*droverpb.ExplainRunResponse, error) {
	return c.scheduler.ExplainRun(ctx, &droverpb.ExplainRunRequest{Run: run.ref()})
}

const waitRunFor = 30 * time.Second

// WaitRun waits until the run has ended, or the context ends, and returns the run.
func (c *Client) WaitRun(ctx context.Context, run RunName) (*droverpb.Run, error) {
	request := &droverpb.WaitRunRequest{Run: run.ref(), Wait: durationpb.New(waitRunFor)}
	for {
		asked := time.Now()
		answer, err := c.scheduler.WaitRun(ctx, request)
		if err != nil {
			return nil, err
		}
		if answer.GetEnded() {
			return answer.GetRun(), nil
		}
		// A server that drains answers at once: do not ask it again too fast.
		if left := 100*time.Millisecond - time.Since(asked); left > 0 {
			sleep(ctx, left)
		}
	}
}

// WatchRun iterates over the state of the run with its steps: the current state and each change,
// until the end of the run. It continues after a broken stream. It may skip states, and never goes
// back.
func (c *Client) WatchRun(ctx context.Context, run RunName) iter.Seq2[
	*droverpb.WatchRunResponse, error] {
	return func(yield func(*droverpb.WatchRunResponse, error) bool) {
		// A caller that leaves the loop ends the call.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		request := &droverpb.WatchRunRequest{Run: run.ref()}
		var backoff backoff
		failingSince := time.Now()
		for {
			opened := time.Now()
			received, left, err := c.watchOnce(ctx, request, yield)
			if left {
				return
			}
			// A stream that was open for long without a change had reached the server.
			if received || time.Since(opened) > tryFor {
				backoff.reset()
				failingSince = time.Now()
			}
			var failed *CallError
			if err != nil {
				failed = callErrorOf(err)
			}
			late := failed != nil && time.Since(failingSince) > c.calls.patience
			switch {
			case ctx.Err() != nil:
				yield(nil, context.Cause(ctx))
				return
			case failed != nil && (late || failed.outcome() == definite):
				yield(nil, failed)
				return
			}
			sleep(ctx, backoff.next(failed))
		}
	}
}

// watchOnce is one stream. Left: the run has ended, or the loop was left.
func (c *Client) watchOnce(ctx context.Context, request *droverpb.WatchRunRequest,
	yield func(*droverpb.WatchRunResponse, error) bool) (received, left bool, err error) {
	stream, err := c.scheduler.WatchRun(ctx, request)
	if err != nil {
		return false, false, err
	}
	for {
		snapshot, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return received, false, nil
		}
		if err != nil {
			return received, false, err
		}
		received = true
		request.AfterVersion = snapshot.GetRun().GetVersion()
		if !yield(snapshot, nil) || HasEnded(snapshot.GetRun()) {
			return received, true, nil
		}
	}
}

// HasEnded reports whether the run is in a final state.
func HasEnded(run *droverpb.Run) bool {
	switch run.GetState() {
	case droverpb.RunState_RUN_STATE_COMPLETED, droverpb.RunState_RUN_STATE_FAILED,
		droverpb.RunState_RUN_STATE_COMPENSATED, droverpb.RunState_RUN_STATE_CANCELLED:
		return true
	}
	return false
}
