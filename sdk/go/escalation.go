package drover

import (
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
	// Answers are those that it accepts now.
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
