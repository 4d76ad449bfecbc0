package drover

import (
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// RunFilter selects runs: all conditions that are set must match. The zero value selects all.
type RunFilter struct {
	// States: runs in one of them.
	States []RunState
	// Substates: open runs with a step that does or waits for one of them.
	Substates []RunSubstate
	Workflow  string
	// ParentRunID: runs that a step of this run started.
	ParentRunID RunID
	// Labels that the run must have, with these values.
	Labels map[string]string
	// CreatedAfter: at this time or later.
	CreatedAfter  time.Time
	CreatedBefore time.Time
	// Query has conditions as text, such as "state:failed error:sold-out", as on the command line and
	// in the dashboard.
	Query string
}

func (f RunFilter) message() (*droverpb.RunFilter, error) {
	states, err := valuesOf[droverpb.RunState](f.States)
	if err != nil {
		return nil, err
	}
	substates, err := valuesOf[droverpb.RunSubstate](f.Substates)
	if err != nil {
		return nil, err
	}
	return &droverpb.RunFilter{
		States:        states,
		Substates:     substates,
		Workflow:      f.Workflow,
		ParentRunId:   string(f.ParentRunID),
		Labels:        f.Labels,
		CreatedAfter:  timestampOf(f.CreatedAfter),
		CreatedBefore: timestampOf(f.CreatedBefore),
		Query:         f.Query,
	}, nil
}
