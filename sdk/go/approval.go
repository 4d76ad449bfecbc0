package drover

import (
	"context"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Decision is the decision of an approver.
type Decision struct {
	// Reject rejects. Default: approve.
	Reject bool
	// Approver is the person who decides, as the caller states it; the server does not verify it.
	Approver string
	// Roles of the approver, as the caller states them.
	Roles   []string
	Comment string
	// Form is the form of the step, filled in. The server checks it, so no codec encodes it.
	Form any
}

// Decided is a decision that was stored.
type Decided struct {
	Run Run
	// Repeated: this approver made the same decision before.
	Repeated bool
}

// ReceivedDecision is a decision in the history of a run.
type ReceivedDecision struct {
	StepID string
	// Approver is the person, as the caller stated it unless ApproverVerified.
	Approver         string
	ApproverVerified bool
	Approved         bool
	Comment          string
	Form             *Payload
	DecidedTime      time.Time
}

// Decide answers a step that waits for people.
func (c *Client) Decide(ctx context.Context, run RunName, stepID string, decision Decision) (
	Decided, error) {
	form, err := toPayload(decision.Form)
	if err != nil {
		return Decided{}, err
	}
	kind := droverpb.DecisionKind_DECISION_KIND_APPROVE
	if decision.Reject {
		kind = droverpb.DecisionKind_DECISION_KIND_REJECT
	}
	answer, err := c.scheduler.Decide(ctx, &droverpb.DecideRequest{
		Run:      run.ref(),
		StepId:   stepID,
		Approver: decision.Approver,
		Roles:    decision.Roles,
		Decision: kind,
		Comment:  decision.Comment,
		Form:     form.message(),
	})
	return Decided{Run: runOf(answer.GetRun()), Repeated: answer.GetRepeated()}, err
}

func receivedDecisionOf(message *droverpb.Decision) ReceivedDecision {
	return ReceivedDecision{
		StepID:           message.GetStepId(),
		Approver:         message.GetApprover(),
		ApproverVerified: message.GetApproverVerified(),
		Approved:         message.GetApproved(),
		Comment:          message.GetComment(),
		Form:             payloadOf(message.GetForm()),
		DecidedTime:      timeOf(message.GetDecidedTime()),
	}
}
