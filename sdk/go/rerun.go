package drover

import (
	"context"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

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

func rerunVersion(newest bool) droverpb.RerunVersion {
	if newest {
		return droverpb.RerunVersion_RERUN_VERSION_NEWEST
	}
	return droverpb.RerunVersion_RERUN_VERSION_SAME
}

// RetryRun starts a new run, which reuses the steps that succeeded and performs the others. The new
// run has no key. If Created is false, an earlier call with this request id made it.
func (c *Client) RetryRun(ctx context.Context, run RunName, how Rerun) (Started, error) {
	answer, err := c.scheduler.RetryRun(ctx, &droverpb.RetryRunRequest{
		Run: run.ref(), RequestId: how.RequestID, Version: rerunVersion(how.Newest),
	})
	return Started{RunID: RunID(answer.GetRunId()), Created: answer.GetCreated()}, err
}

// RerunFrom starts a new run, which performs this step and all steps after it again; "": all steps.
// The result is as of RetryRun.
func (c *Client) RerunFrom(ctx context.Context, run RunName, stepID string, how Rerun) (
	Started, error) {
	input, err := encode(c.calls.codec, how.Input)
	if err != nil {
		return Started{}, err
	}
	answer, err := c.scheduler.RerunFrom(ctx, &droverpb.RerunFromRequest{
		Run:       run.ref(),
		StepId:    stepID,
		RequestId: how.RequestID,
		Version:   rerunVersion(how.Newest),
		Input:     input,
	})
	return Started{RunID: RunID(answer.GetRunId()), Created: answer.GetCreated()}, err
}
