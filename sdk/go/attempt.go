package drover

import (
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Attempt is one hand-out of a task, and how it ended.
type Attempt struct {
	StepID string
	Kind   TaskKind
	Fence  int
	// Attempt is, for a verify task, the number of the verify.
	Attempt int
	// AgentID is empty if no agent held it: the server itself ended the step.
	AgentID     string
	StartedTime time.Time
	// EndedTime is zero, and Outcome empty, while an agent holds the task.
	EndedTime time.Time
	Outcome   OutcomeKind
	Failure   *Failure
	Output    *Payload
	// Late: the report came too late; it is kept as evidence and changed no state.
	Late bool
	// Source is what ended it.
	Source AttemptSource
	// N distinguishes attempts of one fence and kind: the number of a verify, else 0.
	N int
}

// OutcomeKind is how an attempt ended.
type OutcomeKind string

// How an attempt ended.
const (
	OutcomeSuccess OutcomeKind = "SUCCESS"
	OutcomeFailure OutcomeKind = "FAILURE"
	// OutcomeUnknown: it is not known whether the effect took place.
	OutcomeUnknown OutcomeKind = "UNKNOWN"
	// OutcomeAgain: to be handed out again later.
	OutcomeAgain OutcomeKind = "AGAIN"
	// OutcomeDeferred: accepted by the remote service; the outcome follows.
	OutcomeDeferred OutcomeKind = "DEFERRED"
	// OutcomeReleased: not started by the agent, and handed to another.
	OutcomeReleased  OutcomeKind = "RELEASED"
	OutcomeCancelled OutcomeKind = "CANCELLED"
	// OutcomeGivenBack: it did not reach the agent.
	OutcomeGivenBack OutcomeKind = "GIVEN_BACK"
	// OutcomeSuperseded: a verify that is no longer needed.
	OutcomeSuperseded OutcomeKind = "SUPERSEDED"
)

// AttemptSource is what ended an attempt.
type AttemptSource string

// What ended an attempt.
const (
	// AttemptSourceTask: its agent, its callback, or the supervisor in the agent's place.
	AttemptSourceTask AttemptSource = "TASK"
	// AttemptSourceEngine: the server; a failure that no agent reported.
	AttemptSourceEngine AttemptSource = "ENGINE"
	// AttemptSourceAnswer: a signal, an approval or a person's answer.
	AttemptSourceAnswer AttemptSource = "ANSWER"
)

func attemptOf(message *droverpb.Attempt) Attempt {
	return Attempt{
		StepID:      message.GetStepId(),
		Kind:        wordOf[TaskKind](message.GetKind()),
		Fence:       int(message.GetFence()),
		Attempt:     int(message.GetAttempt()),
		AgentID:     message.GetAgentId(),
		StartedTime: timeOf(message.GetStartedTime()),
		EndedTime:   timeOf(message.GetEndedTime()),
		Outcome:     nameOf[OutcomeKind](message.GetOutcome()),
		Failure:     failureOf(message.GetFailure()),
		Output:      payloadOf(message.GetOutput()),
		Late:        message.GetLate(),
		Source:      nameOf[AttemptSource](message.GetSource()),
		N:           int(message.GetN()),
	}
}
