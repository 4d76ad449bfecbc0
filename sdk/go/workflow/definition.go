package workflow

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
	"github.com/drover-dev/drover/sdk/go/internal/bare"
	"github.com/drover-dev/drover/sdk/go/internal/defined"
)

// Definition returns the workflow in the form that a client takes. The error joins what is wrong with each step: a
// value without a JSON form, or an unknown name of an enum value. The server checks what the steps
// mean together.
func (w Workflow) Definition() (*drover.Definition, error) {
	b := &builder{}
	made := &droverpb.WorkflowDefinition{
		Workflow:    w.Name,
		Timeout:     duration(w.Timeout),
		InputSchema: b.payload(w.InputSchema),
	}
	for _, step := range w.Steps {
		b.step = step.ID
		made.Steps = append(made.Steps, b.toStep(step))
	}
	definition := defined.New(made).(*drover.Definition)
	return definition, errors.Join(b.wrong...)
}

// builder gathers what is wrong.
type builder struct {
	step  string
	wrong []error
}

func (b *builder) complain(err error) {
	if b.step != "" {
		err = fmt.Errorf("workflow: step %q: %w", b.step, err)
	}
	b.wrong = append(b.wrong, err)
}

// toStep sends settings that mean nothing for the kind as they are: the server refuses them.
func (b *builder) toStep(step Step) *droverpb.StepDefinition {
	made := &droverpb.StepDefinition{
		Id:           step.ID,
		Needs:        step.Needs,
		Input:        b.payload(step.Input),
		Retry:        toRetries(step.Retry),
		Timeouts:     toTimeouts(step.Timeouts),
		Effects:      droverpb.Effects(b.enum("EFFECTS", droverpb.Effects_value, step.Effects)),
		Verify:       toVerify(step.Verify),
		When:         step.When,
		RunIf:        droverpb.RunIf(b.enum("RUN_IF", droverpb.RunIf_value, step.RunIf)),
		Always:       step.Always,
		Pivot:        step.Pivot,
		OnPickup:     droverpb.OnPickup(b.enum("ON_PICKUP", droverpb.OnPickup_value, step.OnPickup)),
		OnFailure:    droverpb.OnFailure(b.enum("ON_FAILURE", droverpb.OnFailure_value, step.OnFailure)),
		Escalation:   b.toEscalation(step.Escalation),
		OutputSchema: b.payload(step.OutputSchema),
		Logs:         droverpb.StepLogs(b.enum("STEP_LOGS", droverpb.StepLogs_value, step.Logs)),
	}
	b.setKind(made, step.Do)
	if undo := step.Compensate; undo != nil {
		made.Compensate = &droverpb.Compensate{
			Task: undo.Task, Queue: undo.Queue,
			Retry: toRetries(undo.Retry), Timeouts: toTimeouts(undo.Timeouts),
		}
		if undo.Attempted {
			made.Compensate.When = droverpb.CompensateWhen_COMPENSATE_WHEN_ATTEMPTED
		}
	}
	for _, other := range step.Fallback {
		way := &droverpb.Fallback{
			Queue: other.Queue, Task: other.Task, Input: b.payload(other.Input),
		}
		if other.Run != nil {
			way.Run = toRun(*other.Run)
		}
		made.Fallback = append(made.Fallback, way)
	}
	return made
}

func (b *builder) setKind(step *droverpb.StepDefinition, kind Kind) {
	switch kind := kind.(type) {
	case Task:
		task := &droverpb.TaskStep{Name: kind.Name, Queue: kind.Queue}
		step.Kind = &droverpb.StepDefinition_Task{Task: task}
		if kind.input != nil {
			step.Input = b.payload(kind.input)
		}
	case Wait:
		step.Kind = &droverpb.StepDefinition_Wait{Wait: toWait(kind)}
	case Signal:
		expiry := b.enum("SIGNAL_EXPIRY", droverpb.SignalExpiry_value, kind.OnExpiry)
		step.Kind = &droverpb.StepDefinition_Signal{Signal: &droverpb.SignalStep{
			Name: kind.Name, Within: duration(kind.Within), OnExpiry: droverpb.SignalExpiry(expiry),
		}}
	case Approval:
		step.Kind = &droverpb.StepDefinition_Approval{Approval: b.toApproval(kind)}
	case Run:
		step.Kind = &droverpb.StepDefinition_Run{Run: toRun(kind)}
	case Map:
		step.Kind = &droverpb.StepDefinition_Map{Map: b.toMap(kind)}
	default:
		b.complain(errors.New("it does nothing: set a Task, Wait, Signal, Approval, Run or Map"))
	}
}

func toWait(wait Wait) *droverpb.WaitStep {
	if wait.Until != "" {
		return &droverpb.WaitStep{Over: &droverpb.WaitStep_Until{Until: wait.Until}}
	}
	return &droverpb.WaitStep{Over: &droverpb.WaitStep_For{For: durationpb.New(wait.For)}}
}

func toRun(run Run) *droverpb.RunStep {
	return &droverpb.RunStep{Workflow: run.Workflow, Version: int32(run.Version)}
}

func (b *builder) toApproval(approval Approval) *droverpb.ApprovalStep {
	expiry := b.enum("APPROVAL_EXPIRY", droverpb.ApprovalExpiry_value, approval.OnExpiry)
	return &droverpb.ApprovalStep{
		Approvers:    approval.Approvers,
		Need:         given(int32(approval.Need)),
		NotRequester: approval.NotRequester,
		Form:         b.payload(approval.Form),
		Within:       duration(approval.Within),
		OnExpiry:     droverpb.ApprovalExpiry(expiry),
	}
}

func (b *builder) toMap(of Map) *droverpb.MapStep {
	made := &droverpb.MapStep{
		Over: of.Over, Task: of.Task, Queue: of.Queue, Concurrency: given(int32(of.Concurrency)),
	}
	if most := of.Tolerate; most != nil {
		if most.percent != nil {
			made.Tolerated = &droverpb.MapStep_ToleratePercent{ToleratePercent: *most.percent}
		} else {
			made.Tolerated = &droverpb.MapStep_Tolerate{Tolerate: int32(most.count)}
		}
	}
	if waves := of.Waves; waves != nil {
		made.Waves = &droverpb.Waves{Pause: duration(waves.Pause), Gate: b.toGate(waves.Gate)}
		if waves.Size.percent != nil {
			made.Waves.Amount = &droverpb.Waves_Percent{Percent: *waves.Size.percent}
		} else {
			made.Waves.Amount = &droverpb.Waves_Size{Size: int32(waves.Size.count)}
		}
	}
	return made
}

func (b *builder) toGate(gate *Gate) *droverpb.Gate {
	if gate == nil {
		return nil
	}
	return &droverpb.Gate{
		Task: gate.Task, Queue: gate.Queue, Input: b.payload(gate.Input),
		Retry: toRetries(gate.Retry), Timeouts: toTimeouts(gate.Timeouts),
	}
}

func toVerify(verify *Beside) *droverpb.Verify {
	if verify == nil {
		return nil
	}
	return &droverpb.Verify{
		Task: verify.Task, Queue: verify.Queue,
		Retry: toRetries(verify.Retry), Timeouts: toTimeouts(verify.Timeouts),
	}
}

func toRetries(policies []Retry) []*droverpb.RetryPolicy {
	var made []*droverpb.RetryPolicy
	for _, policy := range policies {
		made = append(made, &droverpb.RetryPolicy{
			On:       policy.On,
			Attempts: given(int32(policy.Attempts)),
			Initial:  duration(policy.Initial),
			Factor:   given(policy.Factor),
			Max:      duration(policy.Max),
			Jitter:   policy.Jitter,
		})
	}
	return made
}

func toTimeouts(times *Timeouts) *droverpb.Timeouts {
	if times == nil {
		return nil
	}
	made := &droverpb.Timeouts{
		Pickup:    duration(times.Pickup),
		Attempt:   duration(times.Attempt),
		Heartbeat: duration(times.Heartbeat),
		Stall:     duration(times.Stall),
		Total:     duration(times.Total),
		Callback:  duration(times.Callback),
	}
	if times.Cancel != nil {
		made.Cancel = durationpb.New(*times.Cancel)
	}
	if times.Settle != nil {
		made.Settle = durationpb.New(*times.Settle)
	}
	return made
}

func (b *builder) toEscalation(escalation *Escalation) *droverpb.Escalate {
	if escalation == nil {
		return nil
	}
	then := b.enum("DEADLINE_ANSWER", droverpb.DeadlineAnswer_value, escalation.Then)
	return &droverpb.Escalate{
		Remind:   duration(escalation.Remind),
		Deadline: duration(escalation.Deadline),
		Then:     droverpb.DeadlineAnswer(then),
	}
}

// enum is the number of a value by its name in lower case; without a name UNSPECIFIED, the default.
func (b *builder) enum(prefix string, values map[string]int32, choice any) int32 {
	text := fmt.Sprint(choice)
	if text == "" {
		return 0
	}
	value, known := values[prefix+"_"+strings.ToUpper(text)]
	if !known {
		b.complain(fmt.Errorf("%q is no value of %s", text, strings.ToLower(prefix)))
	}
	return value
}

func (b *builder) payload(value any) *droverpb.Payload {
	if value == nil {
		return nil
	}
	payload, given := value.(*drover.Payload)
	if !given {
		made, err := drover.JSON(value)
		if err != nil {
			b.complain(err)
		}
		payload = made
	}
	return bare.Message(payload)
}

// duration leaves out what is not given: absent means the default.
func duration(time time.Duration) *durationpb.Duration {
	if time == 0 {
		return nil
	}
	return durationpb.New(time)
}

func given[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return &value
}
