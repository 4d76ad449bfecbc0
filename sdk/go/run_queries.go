package drover

import (
	"context"
	"iter"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// GetRun returns the run with its steps, and what is included of its history:
//
//	details, err := client.GetRun(ctx, run, drover.Include{Attempts: true})
func (c *Client) GetRun(ctx context.Context, run RunName, include Include) (RunDetails, error) {
	answer, err := c.scheduler.GetRun(ctx, &droverpb.GetRunRequest{
		Run:                  run.ref(),
		IncludeAttempts:      include.Attempts,
		IncludeInterventions: include.Interventions,
		IncludeEscalations:   include.Escalations,
		IncludeSignals:       include.Signals,
		IncludeDecisions:     include.Decisions,
		IncludeSettings:      include.Settings,
	})
	return runDetailsOf(answer), err
}

// ListRuns iterates over the runs that match the filter, newest first; it reads page by page.
func (c *Client) ListRuns(ctx context.Context, filter RunFilter) iter.Seq2[Run, error] {
	selected, err := filter.message()
	return pages(runOf, func(token string) ([]*droverpb.Run, string, error) {
		if err != nil {
			return nil, "", err
		}
		request := &droverpb.ListRunsRequest{Filter: selected, PageToken: token}
		page, err := c.scheduler.ListRuns(ctx, request)
		return page.GetRuns(), page.GetNextPageToken(), err
	})
}

// ListItems iterates over the items of a map that have started, in the order of its list, each as
// a step; those in one of the given states, or all.
func (c *Client) ListItems(ctx context.Context, run RunName, stepID string,
	states ...StepState) iter.Seq2[Step, error] {
	selected, err := valuesOf[droverpb.StepState](states)
	return pages(stepOf, func(token string) ([]*droverpb.Step, string, error) {
		if err != nil {
			return nil, "", err
		}
		request := &droverpb.ListItemsRequest{
			Run: run.ref(), StepId: stepID, States: selected, PageToken: token,
		}
		page, err := c.scheduler.ListItems(ctx, request)
		return page.GetItems(), page.GetNextPageToken(), err
	})
}

// ExplainRun explains why a run is not moving, what happens next, and what a person can do.
func (c *Client) ExplainRun(ctx context.Context, run RunName) (RunExplanation, error) {
	answer, err := c.scheduler.ExplainRun(ctx, &droverpb.ExplainRunRequest{Run: run.ref()})
	return explanationOf(answer), err
}

// pages goes through what next returns until there is no further page, or an error. The token of
// the first page is empty.
func pages[Message, Value any](read func(Message) Value,
	next func(token string) (page []Message, nextToken string, err error)) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		token := ""
		for {
			page, nextToken, err := next(token)
			if err != nil {
				var none Value
				yield(none, err)
				return
			}
			for _, one := range page {
				if !yield(read(one), nil) {
					return
				}
			}
			if nextToken == "" {
				return
			}
			token = nextToken
		}
	}
}
