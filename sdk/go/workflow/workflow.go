// Package workflow builds workflows in Go, typed, with the names of the YAML form; the result is
// exactly the message that the YAML form becomes. A field that is left out has its default;
// proto/drover/v1/workflow.proto lists the defaults and the limits of each field.
//
//	trip, err := workflow.Workflow{
//		Name: "trip",
//		Steps: []workflow.Step{
//			{ID: "flight", Do: workflow.Task{Name: "book-flight"}, Compensate: workflow.Undo("cancel")},
//			{ID: "mail", Do: workflow.Task{Name: "send-mail"}, Needs: []string{"flight"}},
//		},
//	}.Definition()
package workflow

import (
	"time"

	drover "github.com/drover-dev/drover/sdk/go"
)

// Workflow is a graph of steps without cycles.
type Workflow struct {
	Name string
	// Timeout is the maximum duration of a run. Default 7 days.
	Timeout time.Duration
	// InputSchema is the JSON Schema for the input of a run.
	InputSchema any
	Steps       []Step
}

// Step is one node of the graph.
type Step struct {
	ID string
	// Do is what the step does: a [Task], [Wait], [Signal], [Approval], [Run] or [Map].
	Do Kind
	// Needs are the steps that must have ended before this one starts.
	Needs []string
	// When is a CEL condition; false: the step is skipped.
	When string
	// RunIf is how the steps in Needs must have ended. Default: Ended.
	RunIf RunIf
	// Always makes it a finally step: it runs once, last, however the run ends.
	Always bool
	// Pivot: once the step has succeeded, the run is no longer undone; later failures ask a person.
	Pivot bool
	// Input has a JSON form, or is a payload; its strings may contain expressions. Default: the run's
	// input; for a map, the item.
	Input any
	// Retry: the first policy that matches the code of a failure applies.
	Retry    []Retry
	Timeouts *Timeouts
	// Effects is what a repeated attempt does to the remote service. Default: Idempotent.
	Effects Effects
	// Verify finds out whether a lost attempt took effect; only with Verifiable.
	Verify *Beside
	// Fallback are other ways to try the step, in this order.
	Fallback []Fallback
	// OnPickup is what happens when no agent polls for the task. Default: Alarm.
	OnPickup OnPickup
	// Compensate undoes the step.
	Compensate *Compensate
	// OnFailure: by default compensate if an effect that can be undone exists by then, otherwise fail.
	OnFailure OnFailure
	// Escalation is how long an escalation of the step stays open, and what follows then.
	Escalation *Escalation
	// OutputSchema is the JSON Schema for the output of the step.
	OutputSchema any
	// Logs is LogsOff for tasks that handle secrets: the lines that handlers log are not sent to the
	// server. Default: LogsOn.
	Logs Logs
}

// Kind is what a step does.
type Kind interface{ isKind() }

// Task is performed by an agent.
type Task struct {
	Name string
	// Queue is "default" by default.
	Queue string
	// input, in place of the step's Input; see PerformWith.
	input any
}

// Perform is a task by its type; the step gets the input of the run, or its own Input.
func Perform[In, Out any](task drover.TaskType[In, Out]) Task { return Task{Name: task.Name()} }

// PerformWith is a task by its type, with an input of the type of the task, whose strings may contain
// expressions.
func PerformWith[In, Out any](task drover.TaskType[In, Out], input In) Task {
	return Task{Name: task.Name(), input: input}
}

// Wait is a timer: for a duration, or until a time, RFC 3339 or an expression, ${...}.
type Wait struct {
	For   time.Duration
	Until string
}

// Signal waits for an event from outside.
type Signal struct {
	Name string
	// Within is 7 days by default.
	Within time.Duration
	// OnExpiry is "escalate" (the default), "fail" or "skip".
	OnExpiry string
}

// Approval waits for people.
type Approval struct {
	// Approvers are names or roles of the people who may decide. Default: anyone may.
	Approvers []string
	// Need is the number of approvals needed. Default 1.
	Need int
	// NotRequester: the person who started the run, named by its label "requester", may not decide.
	NotRequester bool
	// Form is the JSON Schema of the form that an approver fills in.
	Form any
	// Within is 7 days by default.
	Within time.Duration
	// OnExpiry is "escalate" (the default), "reject" or "approve".
	OnExpiry string
}

// Run starts a run of a workflow, and waits for its end.
type Run struct {
	Workflow string
	// Version is the version of the workflow. Default: the default version at the time at which the
	// run starts.
	Version int
}

// Map performs a task for each item of a list; the settings of the step for its task apply to each
// item.
type Map struct {
	// Over is an expression that gives a list, or a number of items.
	Over string
	Task string
	// Queue is "default" by default; it may contain expressions, such as "deploy-${item.host}".
	Queue string
	// Concurrency is the maximum number of items in progress at the same time. Default 100.
	Concurrency int
	// Tolerate is how many may fail without failing the step. Default: none.
	Tolerate *Amount
	// Waves: items start in waves, each after the previous wave has ended.
	Waves *Waves
}

// Waves describes how a map divides its items into waves.
type Waves struct {
	Size Amount
	// Pause is the time from the end of a wave to its gate, or to the next wave.
	Pause time.Duration
	// Gate lets the next wave start by succeeding.
	Gate *Gate
}

// Gate is a task between two waves.
type Gate struct {
	Beside
	// Input is by default the run's input.
	Input any
}

// Amount is a number, or a percentage.
type Amount struct {
	count   int
	percent *float64
}

// Count is a number of items.
func Count(items int) Amount { return Amount{count: items} }

// Percent is a percentage of all items.
func Percent(share float64) Amount { return Amount{percent: &share} }

func (Task) isKind()     {}
func (Wait) isKind()     {}
func (Signal) isKind()   {}
func (Approval) isKind() {}
func (Run) isKind()      {}
func (Map) isKind()      {}

// Retry is a retry policy. Its zero values are its defaults, except Jitter's: nil.
type Retry struct {
	// On are the codes of failures to which the policy applies. Default: all.
	On []string
	// Attempts is the maximum number of tries, the first included. Default 5, for an undo 10.
	Attempts int
	// Initial is the first wait. Default 1 s.
	Initial time.Duration
	// Factor is the factor by which each wait is longer than the previous one. Default 2.
	Factor float64
	// Max is the longest wait. Default 1 minute, for an undo 5 minutes.
	Max time.Duration
	// Jitter is the share of each wait that is random, 0 to 1. Default 0.2.
	Jitter *float64
}

// Timeouts are the timeouts of a task; those that may be 0 are pointers, nil for the default.
type Timeouts struct {
	Pickup  time.Duration
	Attempt time.Duration
	// Heartbeat is the length of the lease, at least 2 s.
	Heartbeat time.Duration
	// Stall is how long the progress that a handler reports may stay unchanged. Default: off.
	Stall  time.Duration
	Total  time.Duration
	Cancel *time.Duration
	Settle *time.Duration
	// Callback is how long the outcome of a deferred attempt may take. Default 24 hours.
	Callback time.Duration
}

// Beside is a further task of a step, which verifies it or acts as a gate.
type Beside struct {
	Task string
	// Queue is by default the queue of the step.
	Queue    string
	Retry    []Retry
	Timeouts *Timeouts
}

// Compensate is the task that undoes a step.
type Compensate struct {
	Beside
	// Attempted also undoes a step that failed part-way. Default: only steps that finished.
	Attempted bool
}

// Undo is a compensation with all defaults.
func Undo(task string) *Compensate { return &Compensate{Beside: Beside{Task: task}} }

// Fallback is another way to try a step; fields that are left out leave the step's value unchanged.
type Fallback struct {
	Queue string
	Task  string
	// Run is a workflow to run instead, for a step that is a [Run].
	Run *Run
	// Input is merged over the step's input, key by key.
	Input any
}

// Escalation is how long an escalation stays open, and what follows then.
type Escalation struct {
	// Remind is the interval between reminders. Default 1 hour.
	Remind time.Duration
	// Deadline is the time from the opening of the escalation to the answer that Then gives: "retry",
	// "skip", "compensate" or "fail"; both or none.
	Deadline time.Duration
	Then     string
}

// RunIf is how the steps that a step needs must have ended.
type RunIf string

// Effects is what a repeated attempt does to the remote service.
type Effects string

// OnPickup is what happens when no agent polls for a task.
type OnPickup string

// Logs is whether the lines that handlers log are stored with their attempt.
type Logs string

// OnFailure is what happens to the run when a step has failed for good.
type OnFailure string

// The values of the settings.
const (
	Ended RunIf = "ended"
	AllOK RunIf = "all_ok"
	AnyOK RunIf = "any_ok"

	Idempotent Effects = "idempotent"
	Verifiable Effects = "verifiable"
	Once       Effects = "once"

	PickupAlarm    OnPickup = "alarm"
	PickupEscalate OnPickup = "escalate"
	PickupFallback OnPickup = "fallback"

	LogsOn  Logs = "on"
	LogsOff Logs = "off"

	FailureCompensate OnFailure = "compensate"
	FailureFail       OnFailure = "fail"
	FailureContinue   OnFailure = "continue"
	FailureEscalate   OnFailure = "escalate"
)
