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

// RunSnapshot is the state of a run with its steps.
type RunSnapshot struct {
	Run   Run
	Steps []Step
}

const waitRunFor = 30 * time.Second

// WaitRun waits until the run has ended, or the context ends, and returns the run.
func (c *Client) WaitRun(ctx context.Context, run RunName) (Run, error) {
	request := &droverpb.WaitRunRequest{Run: run.ref(), Wait: durationpb.New(waitRunFor)}
	for {
		asked := time.Now()
		answer, err := c.scheduler.WaitRun(ctx, request)
		if err != nil {
			return Run{}, err
		}
		if answer.GetEnded() {
			return runOf(answer.GetRun()), nil
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
func (c *Client) WatchRun(ctx context.Context, run RunName) iter.Seq2[RunSnapshot, error] {
	return func(yield func(RunSnapshot, error) bool) {
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
				yield(RunSnapshot{}, context.Cause(ctx))
				return
			case failed != nil && (late || failed.outcome() == definite):
				yield(RunSnapshot{}, failed)
				return
			}
			sleep(ctx, backoff.next(failed))
		}
	}
}

// watchOnce is one stream. Left: the run has ended, or the loop was left.
func (c *Client) watchOnce(ctx context.Context, request *droverpb.WatchRunRequest,
	yield func(RunSnapshot, error) bool) (received, left bool, err error) {
	stream, err := c.scheduler.WatchRun(ctx, request)
	if err != nil {
		return false, false, err
	}
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return received, false, nil
		}
		if err != nil {
			return received, false, err
		}
		received = true
		// A server of an older version does not know the cursor, and uses the version.
		request.After, request.AfterVersion = answer.GetCursor(), answer.GetRun().GetVersion()
		snapshot := RunSnapshot{runOf(answer.GetRun()), each(answer.GetSteps(), stepOf)}
		if !yield(snapshot, nil) || snapshot.Run.State.Ended() {
			return received, true, nil
		}
	}
}
