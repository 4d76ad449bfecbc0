package drover

import (
	"context"
	"iter"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Escalation is a question that only a person can answer. It is named by its run and its ID.
type Escalation struct {
	// ID is its number within its run, as text.
	ID       string
	RunID    RunID
	Workflow string
	// StepID is empty if it concerns the run as a whole.
	StepID string
	// Reason is the stable name of the cause, such as "unknown" or "step-failed".
	Reason string
	// Code is the error code that led to it; empty: none.
	Code string
	// Message is what happened, in words for a person.
	Message string
	// ClaimedBy is the person who works on it, as the caller stated it; empty: it is not claimed.
	ClaimedBy   string
	ClaimedTime time.Time
	// DeadlineTime is when the step's `then` becomes the answer; zero: there is no deadline.
	DeadlineTime time.Time
	OpenedTime   time.Time
	// ClosedTime is zero while it is open.
	ClosedTime time.Time
	ClosedBy   string
	// Answers are those that [Client.ResolveEscalation] accepts now; empty in ListEscalations.
	Answers []EscalationAnswer
	// Answer is nil if no person has answered.
	Answer *ReceivedAnswer
}

// EscalationAnswer is an answer to an escalation; each escalation accepts some of them.
type EscalationAnswer string

// The answers to escalations.
const (
	// AnswerRetry: try the step again.
	AnswerRetry EscalationAnswer = "retry"
	// AnswerRetryChanged: try the step again, with the payload as its input.
	AnswerRetryChanged EscalationAnswer = "retry-changed"
	// AnswerSucceed: the step is done, with the payload as its output.
	AnswerSucceed EscalationAnswer = "succeed"
	// AnswerSkip: skip the step and continue.
	AnswerSkip EscalationAnswer = "skip"
	// AnswerCompensate: undo the run.
	AnswerCompensate EscalationAnswer = "compensate"
	// AnswerFail: the run fails, and what was done stays.
	AnswerFail EscalationAnswer = "fail"
	// AnswerAcknowledge: the person knows, and nothing is to be done.
	AnswerAcknowledge EscalationAnswer = "acknowledge"
)

// ReceivedAnswer is the answer of a person to an escalation.
type ReceivedAnswer struct {
	Answer EscalationAnswer
	// By is the person, as the caller stated it unless ByVerified.
	By         string
	ByVerified bool
	Why        string
}

// EscalationFilter selects escalations.
type EscalationFilter struct {
	// IncludeClosed: those that are closed, too. Default: only open ones.
	IncludeClosed bool
}

// EscalationDetails is an escalation with its history.
type EscalationDetails struct {
	// Escalation has the answers that it accepts now.
	Escalation Escalation
	Run        Run
	// Step is nil if the escalation concerns the run as a whole.
	Step *Step
	// Attempts are the hand-outs of the tasks of the step, the oldest first.
	Attempts []Attempt
	// EffectKey is the key by which the remote service knows the effect; empty: no task was handed
	// out.
	EffectKey string
}

// Resolution is the answer that a person gives to an escalation.
type Resolution struct {
	// Answer is one of Escalation.Answers.
	Answer EscalationAnswer
	// By is the person who answers, as the caller states it; the server does not verify it.
	By string
	// Why is for later readers.
	Why string
	// Payload is, for AnswerRetryChanged, the whole input, and for AnswerSucceed the output: a value
	// with a JSON form, or a payload. Default: none.
	Payload any
}

// Resolved is an answer that was accepted.
type Resolved struct {
	Escalation Escalation
	Run        Run
	// Repeated: the same answer was given before.
	Repeated bool
}

// Claim says who works on an escalation.
type Claim struct {
	// By is the person, as the caller states it; the server does not verify it.
	By string
	// Anyway: although another person has claimed it. Default: that is [ReasonEscalationClaimed].
	Anyway bool
}

// ListEscalations iterates over the escalations of the namespace, those of the newest runs first,
// without the answers that they accept; it reads page by page.
func (c *Client) ListEscalations(ctx context.Context, filter EscalationFilter) iter.Seq2[
	Escalation, error] {
	return pages(escalationOf, func(token string) ([]*droverpb.Escalation, string, error) {
		request := &droverpb.ListEscalationsRequest{
			IncludeClosed: filter.IncludeClosed, PageToken: token,
		}
		page, err := c.operator.ListEscalations(ctx, request)
		return page.GetEscalations(), page.GetNextPageToken(), err
	})
}

// GetEscalation returns an escalation with its history and the answers that it accepts.
func (c *Client) GetEscalation(ctx context.Context, run RunName, id string) (
	EscalationDetails, error) {
	request := &droverpb.GetEscalationRequest{Run: run.ref(), EscalationId: id}
	answer, err := c.operator.GetEscalation(ctx, request)
	details := EscalationDetails{
		Escalation: escalationOf(answer.GetEscalation()),
		Run:        runOf(answer.GetRun()),
		Attempts:   each(answer.GetAttempts(), attemptOf),
		EffectKey:  answer.GetEffectKey(),
	}
	if answer.GetStep() != nil {
		step := stepOf(answer.GetStep())
		details.Step = &step
	}
	return details, err
}

// ResolveEscalation answers an escalation. An answer that it does not accept is refused with
// [ReasonAnswerNotAllowed], and one that comes after another answer with [ReasonEscalationClosed].
func (c *Client) ResolveEscalation(ctx context.Context, run RunName, id string,
	resolution Resolution) (Resolved, error) {
	payload, err := encode(c.calls.codec, resolution.Payload)
	if err != nil {
		return Resolved{}, err
	}
	answer, err := c.operator.ResolveEscalation(ctx, &droverpb.ResolveEscalationRequest{
		Run:          run.ref(),
		EscalationId: id,
		Answer:       string(resolution.Answer),
		By:           resolution.By,
		Why:          resolution.Why,
		Payload:      payload,
	})
	return Resolved{
		Escalation: escalationOf(answer.GetEscalation()),
		Run:        runOf(answer.GetRun()),
		Repeated:   answer.GetRepeated(),
	}, err
}

// ClaimEscalation records that a person works on an escalation; other people may still answer it.
func (c *Client) ClaimEscalation(ctx context.Context, run RunName, id string, claim Claim) (
	Escalation, error) {
	answer, err := c.operator.ClaimEscalation(ctx, &droverpb.ClaimEscalationRequest{
		Run: run.ref(), EscalationId: id, By: claim.By, Anyway: claim.Anyway,
	})
	return escalationOf(answer.GetEscalation()), err
}

// ReleaseEscalation takes the claim on an escalation back.
func (c *Client) ReleaseEscalation(ctx context.Context, run RunName, id string, claim Claim) (
	Escalation, error) {
	answer, err := c.operator.ReleaseEscalation(ctx, &droverpb.ReleaseEscalationRequest{
		Run: run.ref(), EscalationId: id, By: claim.By, Anyway: claim.Anyway,
	})
	return escalationOf(answer.GetEscalation()), err
}

func escalationOf(message *droverpb.Escalation) Escalation {
	escalation := Escalation{
		ID:           message.GetId(),
		RunID:        RunID(message.GetRunId()),
		Workflow:     message.GetWorkflow(),
		StepID:       message.GetStepId(),
		Reason:       message.GetReason(),
		Code:         message.GetCode(),
		Message:      message.GetMessage(),
		ClaimedBy:    message.GetClaimedBy(),
		ClaimedTime:  timeOf(message.GetClaimedTime()),
		DeadlineTime: timeOf(message.GetDeadlineTime()),
		OpenedTime:   timeOf(message.GetOpenedTime()),
		ClosedTime:   timeOf(message.GetClosedTime()),
		ClosedBy:     message.GetClosedBy(),
	}
	for _, answer := range message.GetAnswers() {
		escalation.Answers = append(escalation.Answers, EscalationAnswer(answer))
	}
	if answer := message.GetAnswer(); answer != nil {
		escalation.Answer = &ReceivedAnswer{
			Answer:     EscalationAnswer(answer.GetAnswer()),
			By:         answer.GetBy(),
			ByVerified: answer.GetByVerified(),
			Why:        answer.GetWhy(),
		}
	}
	return escalation
}
