package drover

import (
	"errors"
	"fmt"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Step is one step of a run, or an item of a map.
type Step struct {
	// ID is that of the definition; for an item of a map with its index, such as "deploy[3]".
	ID        string
	Kind      StepKind
	State     StepState
	UndoState UndoState
	// WaitingOn is what a step in WAITING waits for, until NextTime.
	WaitingOn WaitingOn
	// Task and Queue are empty for steps that no agent performs.
	Task  string
	Queue string
	// SignalName is the signal for which it waits; empty for other kinds of steps.
	SignalName string
	// Strategy 0 is the step as defined, n its n-th fallback.
	Strategy int
	Attempt  int
	// Verifies is, while verify tasks resolve an unknown outcome, how many of them did not find out
	// so far.
	Verifies int
	// Approvals is, for an approval, the number of approvals so far.
	Approvals int
	Fence     int
	// AgentID is the agent that holds its task now; empty: none does.
	AgentID string
	// SuspectTime is since when its attempt is suspect: it runs far longer than others of the step
	// did.
	SuspectTime time.Time
	NextTime    time.Time
	// Output is nil in WatchRun. [Output] reads it.
	Output *Payload
	// Error is the last failure; nil: none.
	Error *Failure
	Needs []string
	// ChildRunID is, for a step that runs a workflow, the run that it started last; empty: none.
	ChildRunID RunID
	// Items is the progress of a map; nil: the step is not a map, or has not started.
	Items *ItemCounts
}

// ItemCounts is the progress of the items of a map.
type ItemCounts struct {
	Total   int
	Started int
	// Open: have started and not ended.
	Open      int
	Succeeded int
	Failed    int
	// Skipped by a person.
	Skipped int
}

// Failure is what went wrong.
type Failure struct {
	// Code is a stable name for programs; those that begin with "drover." are made by the server.
	Code string
	// Message is one sentence for a person.
	Message string
	Class   FailureClass
}

// ErrNoOutput is the error of [Output] for a step without an output.
var ErrNoOutput = errors.New("no output")

// Output reads the output of a step as a value of a type, as [Unmarshal] does; []byte takes bytes.
// For a step without an output, because it has not succeeded or had none, the error is
// [ErrNoOutput].
//
//	booking, err := drover.Output[Booking](step)
func Output[T any](step Step) (T, error) {
	var output T
	if step.Output == nil {
		const text = "drover: the step %q, in the state %s, has %w"
		return output, fmt.Errorf(text, step.ID, step.State, ErrNoOutput)
	}
	err := unmarshal(fmt.Sprintf("the output of the step %q", step.ID), step.Output, &output)
	return output, err
}

// StepKind is what a step does.
type StepKind string

// What a step does.
const (
	StepKindTask     StepKind = "TASK"
	StepKindWait     StepKind = "WAIT"
	StepKindSignal   StepKind = "SIGNAL"
	StepKindApproval StepKind = "APPROVAL"
	// StepKindRun: a run of a workflow.
	StepKindRun StepKind = "RUN"
	// StepKindMap: a task for each item of a list.
	StepKindMap StepKind = "MAP"
)

// StepState is the state of a step.
type StepState string

// The states of a step; SUCCEEDED, FAILED, SKIPPED and CANCELLED are final.
const (
	// StepStateBlocked: it waits for steps that it needs.
	StepStateBlocked StepState = "BLOCKED"
	// StepStateReady: in its queue; an agent can take it.
	StepStateReady StepState = "READY"
	// StepStateLeased: an agent holds its task.
	StepStateLeased StepState = "LEASED"
	// StepStateBackoff: it will be retried at NextTime.
	StepStateBackoff StepState = "BACKOFF"
	// StepStateWaiting: for something other than an agent; see WaitingOn.
	StepStateWaiting StepState = "WAITING"
	// StepStateVerifying: a verify task resolves an unknown outcome.
	StepStateVerifying StepState = "VERIFYING"
	// StepStateEscalated: it waits for a person.
	StepStateEscalated StepState = "ESCALATED"
	StepStateSucceeded StepState = "SUCCEEDED"
	StepStateFailed    StepState = "FAILED"
	StepStateSkipped   StepState = "SKIPPED"
	// StepStateCancelled: it was not performed, because the run stopped.
	StepStateCancelled StepState = "CANCELLED"
)

// UndoState is the state of the undoing of a step.
type UndoState string

// The states of the undoing of a step.
const (
	// UndoStateNone: nothing is to be undone, or not yet.
	UndoStateNone    UndoState = "NONE"
	UndoStatePending UndoState = "PENDING"
	UndoStateActive  UndoState = "ACTIVE"
	UndoStateDone    UndoState = "DONE"
	// UndoStateFailed: a person is asked.
	UndoStateFailed UndoState = "FAILED"
)

// WaitingOn is what a step in the state WAITING waits for; empty in other states.
type WaitingOn string

// What a step in the state WAITING waits for.
const (
	WaitingOnTimer    WaitingOn = "TIMER"
	WaitingOnSignal   WaitingOn = "SIGNAL"
	WaitingOnApproval WaitingOn = "APPROVAL"
	WaitingOnCallback WaitingOn = "CALLBACK"
	WaitingOnChild    WaitingOn = "CHILD"
	// WaitingOnChildEnd: for the end of a child run that was asked to stop.
	WaitingOnChildEnd WaitingOn = "CHILD_END"
	WaitingOnItems    WaitingOn = "ITEMS"
)

// FailureClass is what a failure means for retries.
type FailureClass string

// What a failure means for retries.
const (
	FailureClassTransient FailureClass = "TRANSIENT"
	FailureClassPermanent FailureClass = "PERMANENT"
	// FailureClassUnknown: it is not known whether the attempt took effect.
	FailureClassUnknown FailureClass = "UNKNOWN"
)

func stepOf(message *droverpb.Step) Step {
	return Step{
		ID:          message.GetId(),
		Kind:        nameOf[StepKind](message.GetKind()),
		State:       nameOf[StepState](message.GetState()),
		UndoState:   nameOf[UndoState](message.GetUndoState()),
		WaitingOn:   nameOf[WaitingOn](message.GetWaitingOn()),
		Task:        message.GetTask(),
		Queue:       message.GetQueue(),
		SignalName:  message.GetSignalName(),
		Strategy:    int(message.GetStrategy()),
		Attempt:     int(message.GetAttempt()),
		Verifies:    int(message.GetVerifies()),
		Approvals:   int(message.GetApprovals()),
		Fence:       int(message.GetFence()),
		AgentID:     message.GetAgentId(),
		SuspectTime: timeOf(message.GetSuspectTime()),
		NextTime:    timeOf(message.GetNextTime()),
		Output:      payloadOf(message.GetOutput()),
		Error:       failureOf(message.GetError()),
		Needs:       message.GetNeeds(),
		ChildRunID:  RunID(message.GetChildRunId()),
		Items:       itemCountsOf(message.GetItems()),
	}
}

func failureOf(message *droverpb.Failure) *Failure {
	if message == nil {
		return nil
	}
	return &Failure{
		Code:    message.GetCode(),
		Message: message.GetMessage(),
		Class:   nameOf[FailureClass](message.GetFailureClass()),
	}
}

func itemCountsOf(message *droverpb.ItemCounts) *ItemCounts {
	if message == nil {
		return nil
	}
	return &ItemCounts{
		Total:     int(message.GetTotal()),
		Started:   int(message.GetStarted()),
		Open:      int(message.GetOpen()),
		Succeeded: int(message.GetSucceeded()),
		Failed:    int(message.GetFailed()),
		Skipped:   int(message.GetSkipped()),
	}
}
