package drover

import (
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// RunExplanation is why a run is not moving, what happens next, and what a person can do.
type RunExplanation struct {
	Run Run
	// Wait is what the run waits for: its own wait, or that of the first of the steps in WaitsOn.
	Wait RunWait
	// Steps are those that are active or wait, in the order of the definition.
	Steps []RunWait
	// Now is the time by the database clock, as all times here.
	Now time.Time
	// UntakenSignals are the newest 10 that no step has taken.
	UntakenSignals []UntakenSignal
}

// UntakenSignal is a signal that arrived and that no step has taken.
type UntakenSignal struct {
	Name         string
	ID           string
	ReceivedTime time.Time
	// Sentence is for a person: which step will take it later, or that none will.
	Sentence string
}

// RunWait is what a run, or one of its steps, waits for.
type RunWait struct {
	// StepID is empty for the run as a whole.
	StepID string
	// Undo: it is about the undoing of the step.
	Undo       bool
	WaitingFor WaitKind
	// Sentence is the whole entry for a person.
	Sentence  string
	SinceTime time.Time
	// Next is what happens at NextTime if nothing else happens before; empty: nothing.
	Next     NextKind
	NextTime time.Time
	// Tried is nil if no agent performs the step.
	Tried   *Tried
	Actions []PersonAction
	// WaitsOn are ids of steps.
	WaitsOn []string
	// TaskKind is empty if no agent performs the step.
	TaskKind TaskKind
	// Lane is set with AGENT_TO_POLL.
	Lane *LaneWait
	// Agent is set with AGENT_WORKING, AGENT_TO_STOP and CALLBACK.
	Agent *AgentWait
	// SignalName is set with SIGNAL.
	SignalName string
	// Approval is set with APPROVAL.
	Approval *ApprovalWait
	// Child is set with CHILD: [Client.ExplainRun] of the child run explains what it waits for.
	Child *ChildWait
	// Escalation is set with PERSON.
	Escalation *EscalationWait
}

// LaneWait is a task in its queue.
type LaneWait struct {
	Queue string
	Task  string
	// Polled: an agent polled for it in the last minute.
	Polled       bool
	LastPollTime time.Time
	// Alarms is how often the supervisor found that no agent serves the task.
	Alarms int
	// Cordoned is the number of agent sessions that poll for it, if every one of them is cordoned;
	// otherwise 0.
	Cordoned int
	// AgentVersion: only agents of this version get it, because of a pin of the queue; empty: all do.
	AgentVersion string
}

// AgentWait is a task that an agent holds.
type AgentWait struct {
	AgentID           string
	LastHeartbeatTime time.Time
	// Progress is a float64 of a fraction, a uint64 of a counter, a string of a cursor, or nil.
	Progress       any
	ProgressTime   time.Time
	AttemptEndTime time.Time
	// StopCause is why the agent is asked to stop; empty: it is not.
	StopCause     StopCause
	StopDelivered bool
	// SuspectTime is since when its attempt is suspect: it runs far longer than others of the step
	// did.
	SuspectTime time.Time
}

// ApprovalWait is an approval that waits for people.
type ApprovalWait struct {
	// Approvers are names and roles of the people who may approve; empty: anyone may.
	Approvers []string
	// Approvals so far, of those that are needed.
	Approvals int
	Need      int
}

// ChildWait is a child run.
type ChildWait struct {
	RunID RunID
	// Stopping: it was asked to stop.
	Stopping bool
}

// EscalationWait is a question to a person.
type EscalationWait struct {
	ID      string
	Reason  string
	Message string
}

// Tried is what was tried for a step, or for its undoing.
type Tried struct {
	Attempts int
	// Lost is the number of lost attempts in a row.
	Lost       int
	HandedOut  int
	Verifies   int
	Strategy   int
	Strategies int
	// LastOutcome is empty if no attempt has ended.
	LastOutcome   OutcomeKind
	LastFailure   *Failure
	LastAgentID   string
	LastEndedTime time.Time
}

// PersonAction is what a person can do.
type PersonAction struct {
	Kind         ActionKind
	StepID       string
	EscalationID string
	// Choices are the possible values.
	Choices    []string
	SignalName string
	Queue      string
	Task       string
	Workflow   string
	// AgentVersion is, with START_AGENT, the required version of the agent; empty: any.
	AgentVersion string
	// Region is set with START_SUPERVISOR.
	Region    string
	Approvers []string
}

// WaitKind is what a run or a step waits for.
type WaitKind string

// What a run or a step waits for.
const (
	WaitKindAgentToPoll  WaitKind = "AGENT_TO_POLL"
	WaitKindAgentWorking WaitKind = "AGENT_WORKING"
	WaitKindAgentToStop  WaitKind = "AGENT_TO_STOP"
	WaitKindBackoff      WaitKind = "BACKOFF"
	WaitKindAgain        WaitKind = "AGAIN"
	// WaitKindSettle: until NextTime a lost attempt may still act.
	WaitKindSettle   WaitKind = "SETTLE"
	WaitKindTimer    WaitKind = "TIMER"
	WaitKindSignal   WaitKind = "SIGNAL"
	WaitKindApproval WaitKind = "APPROVAL"
	WaitKindCallback WaitKind = "CALLBACK"
	// WaitKindPerson: for the answer to an escalation.
	WaitKindPerson WaitKind = "PERSON"
	WaitKindResume WaitKind = "RESUME"
	// WaitKindSteps: for other steps, those of WaitsOn.
	WaitKindSteps WaitKind = "STEPS"
	// WaitKindEndOfRun: a step that always runs, last.
	WaitKindEndOfRun WaitKind = "END_OF_RUN"
	// WaitKindEnded: for nothing.
	WaitKindEnded          WaitKind = "ENDED"
	WaitKindStart          WaitKind = "START"
	WaitKindPermit         WaitKind = "PERMIT"
	WaitKindItems          WaitKind = "ITEMS"
	WaitKindChild          WaitKind = "CHILD"
	WaitKindQueueToResume  WaitKind = "QUEUE_TO_RESUME"
	WaitKindCircuitToClose WaitKind = "CIRCUIT_TO_CLOSE"
)

// NextKind is what happens next if nothing else happens before.
type NextKind string

// What happens next if nothing else happens before.
const (
	NextKindCheckAgain     NextKind = "CHECK_AGAIN"
	NextKindAlarm          NextKind = "ALARM"
	NextKindEscalate       NextKind = "ESCALATE"
	NextKindFallBack       NextKind = "FALL_BACK"
	NextKindFail           NextKind = "FAIL"
	NextKindCheckLease     NextKind = "CHECK_LEASE"
	NextKindTellToStop     NextKind = "TELL_TO_STOP"
	NextKindEndLease       NextKind = "END_LEASE"
	NextKindMakeReady      NextKind = "MAKE_READY"
	NextKindSucceed        NextKind = "SUCCEED"
	NextKindSkip           NextKind = "SKIP"
	NextKindCountAsUnknown NextKind = "COUNT_AS_UNKNOWN"
	NextKindUndo           NextKind = "UNDO"
	NextKindStart          NextKind = "START"
	NextKindGiveUp         NextKind = "GIVE_UP"
	NextKindNextWave       NextKind = "NEXT_WAVE"
	NextKindStopChild      NextKind = "STOP_CHILD"
	NextKindTryOne         NextKind = "TRY_ONE"
)

// ActionKind is what a person can do.
type ActionKind string

// What a person can do.
const (
	ActionKindStartAgent       ActionKind = "START_AGENT"
	ActionKindAnswer           ActionKind = "ANSWER"
	ActionKindSignal           ActionKind = "SIGNAL"
	ActionKindDecide           ActionKind = "DECIDE"
	ActionKindCompleteDeferred ActionKind = "COMPLETE_DEFERRED"
	ActionKindPause            ActionKind = "PAUSE"
	ActionKindResume           ActionKind = "RESUME"
	ActionKindCancel           ActionKind = "CANCEL"
	ActionKindRetryRun         ActionKind = "RETRY_RUN"
	ActionKindRerun            ActionKind = "RERUN"
	ActionKindResumeQueue      ActionKind = "RESUME_QUEUE"
	ActionKindResumeNamespace  ActionKind = "RESUME_NAMESPACE"
	ActionKindResumeWorkflow   ActionKind = "RESUME_WORKFLOW"
	ActionKindSetCircuit       ActionKind = "SET_CIRCUIT"
	ActionKindUncordonAgent    ActionKind = "UNCORDON_AGENT"
	ActionKindStartSupervisor  ActionKind = "START_SUPERVISOR"
)

// StopCause is why an agent is asked to stop.
type StopCause string

// Why an agent is asked to stop.
const (
	StopCauseRun     StopCause = "RUN"
	StopCauseTimeout StopCause = "TIMEOUT"
	// StopCauseStalled: its progress did not change.
	StopCauseStalled StopCause = "STALLED"
)

func explanationOf(message *droverpb.ExplainRunResponse) RunExplanation {
	return RunExplanation{
		Run:            runOf(message.GetRun()),
		Wait:           runWaitOf(message.GetWait()),
		Steps:          each(message.GetSteps(), runWaitOf),
		Now:            timeOf(message.GetNow()),
		UntakenSignals: each(message.GetUntakenSignals(), untakenSignalOf),
	}
}

func untakenSignalOf(message *droverpb.UntakenSignal) UntakenSignal {
	return UntakenSignal{
		Name:         message.GetName(),
		ID:           message.GetSignalId(),
		ReceivedTime: timeOf(message.GetReceivedTime()),
		Sentence:     message.GetSentence(),
	}
}

func runWaitOf(message *droverpb.Wait) RunWait {
	wait := RunWait{
		StepID:     message.GetStepId(),
		Undo:       message.GetUndo(),
		WaitingFor: nameOf[WaitKind](message.GetWaitingFor()),
		Sentence:   message.GetSentence(),
		SinceTime:  timeOf(message.GetSinceTime()),
		Next:       nameOf[NextKind](message.GetNext()),
		NextTime:   timeOf(message.GetNextTime()),
		Tried:      triedOf(message.GetTried()),
		Actions:    each(message.GetActions(), personActionOf),
		WaitsOn:    message.GetWaitsOn(),
		TaskKind:   wordOf[TaskKind](message.GetTaskKind()),
		SignalName: message.GetSignalName(),
	}
	switch detail := message.GetDetail().(type) {
	case *droverpb.Wait_Lane:
		wait.Lane = laneWaitOf(detail.Lane)
	case *droverpb.Wait_Agent:
		wait.Agent = agentWaitOf(detail.Agent)
	case *droverpb.Wait_Approval:
		approval := detail.Approval
		wait.Approval = &ApprovalWait{
			Approvers: approval.GetApprovers(),
			Approvals: int(approval.GetApprovals()),
			Need:      int(approval.GetNeed()),
		}
	case *droverpb.Wait_Child:
		child := detail.Child
		wait.Child = &ChildWait{RunID: RunID(child.GetRunId()), Stopping: child.GetStopping()}
	case *droverpb.Wait_Escalation:
		escalation := detail.Escalation
		wait.Escalation = &EscalationWait{
			ID: escalation.GetId(), Reason: escalation.GetReason(), Message: escalation.GetMessage(),
		}
	}
	return wait
}

func laneWaitOf(message *droverpb.LaneWait) *LaneWait {
	return &LaneWait{
		Queue:        message.GetQueue(),
		Task:         message.GetTask(),
		Polled:       message.GetPolled(),
		LastPollTime: timeOf(message.GetLastPollTime()),
		Alarms:       int(message.GetAlarms()),
		Cordoned:     int(message.GetCordoned()),
		AgentVersion: message.GetAgentVersion(),
	}
}

func agentWaitOf(message *droverpb.AgentWait) *AgentWait {
	return &AgentWait{
		AgentID:           message.GetAgentId(),
		LastHeartbeatTime: timeOf(message.GetLastHeartbeatTime()),
		Progress:          progressOf(message.GetProgress()),
		ProgressTime:      timeOf(message.GetProgressTime()),
		AttemptEndTime:    timeOf(message.GetAttemptEndTime()),
		StopCause:         nameOf[StopCause](message.GetStopCause()),
		StopDelivered:     message.GetStopDelivered(),
		SuspectTime:       timeOf(message.GetSuspectTime()),
	}
}

func progressOf(message *droverpb.Progress) any {
	switch kind := message.GetKind().(type) {
	case *droverpb.Progress_Fraction:
		return kind.Fraction
	case *droverpb.Progress_Counter:
		return kind.Counter
	case *droverpb.Progress_Cursor:
		return kind.Cursor
	}
	return nil
}

func triedOf(message *droverpb.Tried) *Tried {
	if message == nil {
		return nil
	}
	return &Tried{
		Attempts:      int(message.GetAttempts()),
		Lost:          int(message.GetLost()),
		HandedOut:     int(message.GetHandedOut()),
		Verifies:      int(message.GetVerifies()),
		Strategy:      int(message.GetStrategy()),
		Strategies:    int(message.GetStrategies()),
		LastOutcome:   nameOf[OutcomeKind](message.GetLastOutcome()),
		LastFailure:   failureOf(message.GetLastFailure()),
		LastAgentID:   message.GetLastAgentId(),
		LastEndedTime: timeOf(message.GetLastEndedTime()),
	}
}

func personActionOf(message *droverpb.PersonAction) PersonAction {
	return PersonAction{
		Kind:         nameOf[ActionKind](message.GetKind()),
		StepID:       message.GetStepId(),
		EscalationID: message.GetEscalationId(),
		Choices:      message.GetChoices(),
		SignalName:   message.GetSignalName(),
		Queue:        message.GetQueue(),
		Task:         message.GetTask(),
		Workflow:     message.GetWorkflow(),
		AgentVersion: message.GetAgentVersion(),
		Region:       message.GetRegion(),
		Approvers:    message.GetApprovers(),
	}
}
