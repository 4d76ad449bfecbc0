package drover

import (
	"context"
	"iter"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Approval is a step of an open run that waits until people approve or reject.
type Approval struct {
	RunID    RunID
	Key      string
	Workflow string
	// WorkflowVersion 0: the definition was sent with the run.
	WorkflowVersion int
	Labels          map[string]string
	StepID          string
	// Approvers are names and roles of the people who may decide; empty: anyone may.
	Approvers []string
	// NotRequester: the person in the run's label "requester" may not decide.
	NotRequester bool
	// Need is the number of approvals that are needed, each by another person.
	Need int
	// ApprovedBy are the people who have approved so far, as they stated their names.
	ApprovedBy []string
	// Form is the JSON Schema of the form that an approver fills in; nil: there is no form.
	Form      *Payload
	SinceTime time.Time
	// DeadlineTime is when OnExpiry follows; zero: it waits without a limit.
	DeadlineTime time.Time
	OnExpiry     ApprovalExpiry
}

// ApprovalExpiry is what follows when an approval was not decided in time.
type ApprovalExpiry string

// What follows when an approval was not decided in time.
const (
	ApprovalExpiryEscalate ApprovalExpiry = "ESCALATE"
	ApprovalExpiryReject   ApprovalExpiry = "REJECT"
	ApprovalExpiryApprove  ApprovalExpiry = "APPROVE"
)

// ApprovalFilter selects approvals: all conditions that are set must match.
type ApprovalFilter struct {
	// Run: only those of this run. Default: those of all runs.
	Run RunName
	// Approver: only those on which this person may decide and has not decided.
	Approver string
	// Roles of that person; without an Approver, those on which people with one of them may decide.
	Roles []string
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

// ListApprovals iterates over the approvals that open runs wait for, those of the oldest runs
// first; it reads page by page.
func (c *Client) ListApprovals(ctx context.Context, filter ApprovalFilter) iter.Seq2[
	Approval, error] {
	return pages(approvalOf, func(token string) ([]*droverpb.Approval, string, error) {
		request := &droverpb.ListApprovalsRequest{
			Approver: filter.Approver, Roles: filter.Roles, PageToken: token,
		}
		if filter.Run != nil {
			request.Run = filter.Run.ref()
		}
		page, err := c.operator.ListApprovals(ctx, request)
		return page.GetApprovals(), page.GetNextPageToken(), err
	})
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

func approvalOf(message *droverpb.Approval) Approval {
	return Approval{
		RunID:           RunID(message.GetRunId()),
		Key:             message.GetRunKey(),
		Workflow:        message.GetWorkflow(),
		WorkflowVersion: int(message.GetVersion()),
		Labels:          message.GetLabels(),
		StepID:          message.GetStepId(),
		Approvers:       message.GetApprovers(),
		NotRequester:    message.GetNotRequester(),
		Need:            int(message.GetNeed()),
		ApprovedBy:      message.GetApprovedBy(),
		Form:            payloadOf(message.GetForm()),
		SinceTime:       timeOf(message.GetSinceTime()),
		DeadlineTime:    timeOf(message.GetDeadlineTime()),
		OnExpiry:        nameOf[ApprovalExpiry](message.GetOnExpiry()),
	}
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
