package drover

import (
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// RunDetails is a run with its steps, and what was included of its history.
type RunDetails struct {
	Run Run
	// Steps are in the order of the definition.
	Steps []Step
	// Warnings are the failures after which the run continued.
	Warnings []RunWarning
	// Attempts, Interventions, Escalations and Decisions are the newest 1,000, oldest first. These,
	// Signals and Settings are empty unless they are included.
	Attempts      []Attempt
	Interventions []Intervention
	Escalations   []Escalation
	Signals       []ReceivedSignal
	Decisions     []ReceivedDecision
	Settings      []Setting
}

// Step returns the step of this id; false: the run has none.
func (d RunDetails) Step(id string) (Step, bool) {
	for _, step := range d.Steps {
		if step.ID == id {
			return step, true
		}
	}
	return Step{}, false
}

// Include is what [Client.GetRun] returns of the history of a run. The zero value: nothing.
type Include struct {
	// Attempts: every hand-out of a task, and how it ended.
	Attempts bool
	// Interventions: the actions of supervisors.
	Interventions bool
	// Escalations: the questions to people.
	Escalations bool
	// Signals that the run has received.
	Signals bool
	// Decisions of approvers.
	Decisions bool
	// Settings: every setting with its effective value and the source of that value.
	Settings bool
}

// Intervention is an action of a supervisor, with its reason.
type Intervention struct {
	// StepID is empty if the action concerned the run as a whole.
	StepID string
	// Rule is such as "lease" (a silent agent) or "timer".
	Rule string
	// Saw and Did are what the supervisor found and did, in words for a person.
	Saw string
	Did string
	// DueTime is when the action was due; ActedTime minus it is the time of the detection.
	DueTime   time.Time
	ActedTime time.Time
	// Supervisor is the process that acted; empty: an agent's own statement was the reason.
	Supervisor string
	Partition  int
	Epoch      uint64
	Fence      int
	Attempt    int
}

// ReceivedSignal is a signal that was sent to a run.
type ReceivedSignal struct {
	// Seq is the number of the signal among those of the run, from 1.
	Seq          int
	ID           string
	Name         string
	Payload      *Payload
	ReceivedTime time.Time
	// TakenBy is the step that took it; empty: none has.
	TakenBy string
}

// RunWarning is a failure after which the run continued.
type RunWarning struct {
	StepID  string
	Code    string
	Message string
}

// Setting is a setting of a run with its effective value.
type Setting struct {
	// StepID is empty for a setting of the run as a whole.
	StepID string
	// Field is such as "timeouts.pickup" or "retry[0].attempts".
	Field string
	// Value is as in the text of a workflow: "5m", "0.2", "escalate", or "off".
	Value  string
	Source SettingSource
}

// SettingSource is where the value of a setting comes from.
type SettingSource string

// Where the value of a setting comes from.
const (
	SettingSourceDefault    SettingSource = "DEFAULT"
	SettingSourceDefinition SettingSource = "DEFINITION"
	SettingSourceNamespace  SettingSource = "NAMESPACE"
	SettingSourceServer     SettingSource = "SERVER"
)

func runDetailsOf(message *droverpb.GetRunResponse) RunDetails {
	return RunDetails{
		Run:           runOf(message.GetRun()),
		Steps:         each(message.GetSteps(), stepOf),
		Warnings:      each(message.GetWarnings(), warningOf),
		Attempts:      each(message.GetAttempts(), attemptOf),
		Interventions: each(message.GetInterventions(), interventionOf),
		Escalations:   each(message.GetEscalations(), escalationOf),
		Signals:       each(message.GetSignals(), receivedSignalOf),
		Decisions:     each(message.GetDecisions(), receivedDecisionOf),
		Settings:      each(message.GetSettings(), settingOf),
	}
}

func interventionOf(message *droverpb.Intervention) Intervention {
	return Intervention{
		StepID:     message.GetStepId(),
		Rule:       message.GetRule(),
		Saw:        message.GetSaw(),
		Did:        message.GetDid(),
		DueTime:    timeOf(message.GetDueTime()),
		ActedTime:  timeOf(message.GetActedTime()),
		Supervisor: message.GetSupervisor(),
		Partition:  int(message.GetPartition()),
		Epoch:      message.GetEpoch(),
		Fence:      int(message.GetFence()),
		Attempt:    int(message.GetAttempt()),
	}
}

func receivedSignalOf(message *droverpb.ReceivedSignal) ReceivedSignal {
	return ReceivedSignal{
		Seq:          int(message.GetSeq()),
		ID:           message.GetSignalId(),
		Name:         message.GetName(),
		Payload:      payloadOf(message.GetPayload()),
		ReceivedTime: timeOf(message.GetReceivedTime()),
		TakenBy:      message.GetTakenBy(),
	}
}

func warningOf(message *droverpb.RunWarning) RunWarning {
	return RunWarning{
		StepID: message.GetStepId(), Code: message.GetCode(), Message: message.GetMessage(),
	}
}

func settingOf(message *droverpb.EffectiveSetting) Setting {
	return Setting{
		StepID: message.GetStepId(),
		Field:  message.GetField(),
		Value:  message.GetValue(),
		Source: nameOf[SettingSource](message.GetSource()),
	}
}
