package drover

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Run is one execution of a workflow. A time that is not set is zero.
type Run struct {
	RunID     RunID
	Namespace string
	Key       string
	Workflow  string
	// WorkflowVersion 0: the definition was sent with the run.
	WorkflowVersion int
	State           RunState
	// Reason is why the run has ended or is about to; empty: none yet.
	Reason   RunReason
	Labels   map[string]string
	Priority int
	// Input is nil in ListRuns, WatchRun and ExplainRun. [Unmarshal] reads it.
	Input        *Payload
	CreatedTime  time.Time
	EndedTime    time.Time
	DeadlineTime time.Time
	// Version grows with each change of state.
	Version      uint64
	CancelReason string
	// Warnings is the number of failures after which the run continued.
	Warnings int
	// Summary says in a sentence or two how the run ended; empty while it is open, and after a plain
	// success.
	Summary string
	// Substates are what steps of an open run do or wait for.
	Substates []RunSubstateCount
	// Parent is the run and the step that started it; nil: it is not a child run.
	Parent *ParentRun
	// StartTime is when it begins; zero unless it is PENDING, and while it waits for a permit.
	StartTime   time.Time
	Concurrency *Concurrency
}

// ParentRun is the run and the step that started a child run.
type ParentRun struct {
	RunID  RunID
	StepID string
}

// RunSubstateCount is what steps of a run do or wait for, and how many.
type RunSubstateCount struct {
	Substate RunSubstate
	// Steps is 0 for WORKING and WAITING_FOR_AGENT, whose steps are not counted.
	Steps int
}

// RunState is the state of a run. A newer server may send other values than the constants of this
// version: such a value is UNKNOWN_ with its number. That holds for every type with constants in
// capitals; where they are in small letters, as of [TaskKind], it is unknown- with its number.
type RunState string

// The states of a run.
const (
	// RunStatePending: it waits for its start time, or for a permit of its concurrency key.
	RunStatePending   RunState = "PENDING"
	RunStateRunning   RunState = "RUNNING"
	RunStatePaused    RunState = "PAUSED"
	RunStateStopping  RunState = "STOPPING"
	RunStateEscalated RunState = "ESCALATED"
	// RunStateCompensating: what was done is being undone.
	RunStateCompensating RunState = "COMPENSATING"
	// RunStateFinishing: the outcome is certain, and the steps that always run are performed.
	RunStateFinishing RunState = "FINISHING"
	RunStateCompleted RunState = "COMPLETED"
	// RunStateFailed: a step failed or the time of the run passed, and nothing was undone.
	RunStateFailed RunState = "FAILED"
	// RunStateCompensated: all work that was done has been undone.
	RunStateCompensated RunState = "COMPENSATED"
	// RunStateCancelled: it was cancelled, and nothing was undone.
	RunStateCancelled RunState = "CANCELLED"
)

// Ended reports whether the state is final: a run never leaves it.
func (s RunState) Ended() bool {
	switch s {
	case RunStateCompleted, RunStateFailed, RunStateCompensated, RunStateCancelled:
		return true
	}
	return false
}

// RunReason is why a run has ended, or is about to.
type RunReason string

// Why a run has ended, or is about to.
const (
	RunReasonDone             RunReason = "DONE"
	RunReasonStepFailed       RunReason = "STEP_FAILED"
	RunReasonTimedOut         RunReason = "TIMED_OUT"
	RunReasonCancelledByUser  RunReason = "CANCELLED_BY_USER"
	RunReasonNeverStarted     RunReason = "NEVER_STARTED"
	RunReasonRefused          RunReason = "REFUSED"
	RunReasonCancelledByNewer RunReason = "CANCELLED_BY_NEWER"
)

// RunSubstate is what steps of an open run do or wait for.
type RunSubstate string

// What steps of an open run do or wait for.
const (
	RunSubstateWorking         RunSubstate = "WORKING"
	RunSubstateWaitingForAgent RunSubstate = "WAITING_FOR_AGENT"
	// RunSubstateRetrying: a task that failed, or that an agent gave back, is ready again later.
	RunSubstateRetrying           RunSubstate = "RETRYING"
	RunSubstateWaitingForSignal   RunSubstate = "WAITING_FOR_SIGNAL"
	RunSubstateWaitingForApproval RunSubstate = "WAITING_FOR_APPROVAL"
	RunSubstateWaitingForCallback RunSubstate = "WAITING_FOR_CALLBACK"
	RunSubstateWaitingForTimer    RunSubstate = "WAITING_FOR_TIMER"
	RunSubstateWaitingForChild    RunSubstate = "WAITING_FOR_CHILD"
	// RunSubstateHeld: the run is paused; a task would be ready otherwise.
	RunSubstateHeld RunSubstate = "HELD"
)

func runOf(message *droverpb.Run) Run {
	run := Run{
		RunID:           RunID(message.GetRunId()),
		Namespace:       message.GetNamespace(),
		Key:             message.GetKey(),
		Workflow:        message.GetWorkflow(),
		WorkflowVersion: int(message.GetWorkflowVersion()),
		State:           nameOf[RunState](message.GetState()),
		Reason:          nameOf[RunReason](message.GetReason()),
		Labels:          message.GetLabels(),
		Priority:        int(message.GetPriority()),
		Input:           payloadOf(message.GetInput()),
		CreatedTime:     timeOf(message.GetCreatedTime()),
		EndedTime:       timeOf(message.GetEndedTime()),
		DeadlineTime:    timeOf(message.GetDeadlineTime()),
		Version:         message.GetVersion(),
		CancelReason:    message.GetCancelReason(),
		Warnings:        int(message.GetWarnings()),
		Summary:         message.GetSummary(),
		Substates:       each(message.GetSubstates(), substateCountOf),
		StartTime:       timeOf(message.GetStartTime()),
		Concurrency:     concurrencyOf(message.GetConcurrency()),
	}
	if parent := message.GetParent(); parent != nil {
		run.Parent = &ParentRun{RunID: RunID(parent.GetRunId()), StepID: parent.GetStepId()}
	}
	return run
}

func substateCountOf(message *droverpb.RunSubstateCount) RunSubstateCount {
	return RunSubstateCount{
		Substate: nameOf[RunSubstate](message.GetSubstate()), Steps: int(message.GetSteps()),
	}
}

// each is nil for none.
func each[Message, Value any](messages []Message, read func(Message) Value) (values []Value) {
	for _, message := range messages {
		values = append(values, read(message))
	}
	return values
}

// timeOf is zero for none.
func timeOf(sent *timestamppb.Timestamp) time.Time {
	if sent == nil {
		return time.Time{}
	}
	return sent.AsTime()
}

// timestampOf undoes timeOf.
func timestampOf(given time.Time) *timestamppb.Timestamp {
	if given.IsZero() {
		return nil
	}
	return timestamppb.New(given)
}
