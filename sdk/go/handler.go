package drover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"time"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Handler performs one attempt. It returns the step's output (any value with a JSON form, a payload
// made by [Bytes], or nil for none) or an [Answer]. Its error describes how the attempt failed, see
// [TaskError].
//
// The context is cancelled when the work must stop, with a [*Stopped] as its [context.Cause]. A
// handler that then continues for longer than the agent's stop grace is reported as lost, and ends
// the agent.
type Handler func(ctx context.Context, task *Task) (any, error)

// TaskKind is what a handler must do.
type TaskKind string

// What a handler must do.
const (
	// TaskPerform: perform the step.
	TaskPerform TaskKind = "perform"
	// TaskVerify: find out whether an earlier attempt took effect; never do the work itself.
	TaskVerify TaskKind = "verify"
	// TaskCompensate: undo the step.
	TaskCompensate TaskKind = "compensate"
)

// Task is one attempt, as its handler sees it.
type Task struct {
	// Name of the task, as in the definition.
	Name  string
	Kind  TaskKind
	Queue string
	RunID string
	// StepID names the step; Item is its index in the list of a map, from 0, or nil.
	StepID string
	Item   *int
	// Attempt is the number of the attempt, from 1. Verify tasks are numbered separately.
	Attempt  int
	Workflow string
	// WorkflowVersion 0: the definition was sent with the run.
	WorkflowVersion int
	// IdempotencyKey is for the remote service, so that a repeated request takes effect once.
	IdempotencyKey string
	// EffectKey is, for verify and compensate, the key under which the effect was made, or would have
	// been made.
	EffectKey string
	// CallbackToken is, for perform, the token that a remote service which reports the outcome itself
	// passes to [Client.CompleteDeferred].
	CallbackToken string
	// Fence grows with each hand-out of the step, for services that refuse a lower value.
	Fence int
	// Labels of the run.
	Labels map[string]string

	message *droverpb.Task
	codec   Codec
	notes   notebook
	log     *slog.Logger
	// lines: where lines of the log go too; nil: nowhere.
	lines *taskLog
}

// notebook stores the progress and details of a handler until a heartbeat carries them.
type notebook interface {
	note(notes)
	left() time.Duration
}

// Input reads the input; if there is none, the value is unchanged. If a handler returns an error of
// Input, the attempt fails permanently with the code "bad-input".
func (t *Task) Input(into any) error {
	_, err := t.read("input", t.message.GetInput(), into)
	return err
}

// Output reads, for compensate, the step's output; false: there is none, or it is not known.
func (t *Task) Output(into any) (bool, error) {
	return t.read("output", t.message.GetOutput(), into)
}

// LastDetails reads what an earlier attempt passed to Details, to resume from; for verify, what the
// lost attempt passed. False: there are no details.
func (t *Task) LastDetails(into any) (bool, error) {
	return t.read("details", t.message.GetLastDetails(), into)
}

func (t *Task) read(what string, payload *droverpb.Payload, into any) (bool, error) {
	found, err := decode(t.codec, payload, into)
	if err != nil {
		message := fmt.Sprintf("The %s is not as expected: %v", what, err)
		return found, Permanent("bad-"+what, message, CausedBy(err))
	}
	return found, nil
}

// Left is the remaining time of lease and attempt: check it before a call that must not come late.
func (t *Task) Left() time.Duration { return t.notes.left() }

// Progress reports how far the work has come; use one kind of mark throughout. It is sent within a
// second. Only this call changes the progress: heartbeats that the agent sends by itself do not.
func (t *Task) Progress(mark Mark) {
	if mark.progress == nil {
		t.log.Warn("progress without a mark is no progress")
		return
	}
	t.notes.note(notes{progress: mark.progress})
}

// Details stores what a later attempt needs to resume. It is sent within a second, and before the
// report of an attempt that ends without success. An error means that the value has no JSON form.
func (t *Task) Details(value any) error {
	if value == nil {
		value = &Payload{JSON: "null"}
	}
	payload, err := encode(t.codec, value)
	if err != nil {
		return err
	}
	t.notes.note(notes{details: payload})
	return nil
}

// Log returns a logger with the run, the step and the attempt on each line. The server stores the
// lines with the attempt, of every level, up to 64 KiB; not if the step has `logs: off`.
func (t *Task) Log() *slog.Logger { return t.log }

// Mark is a measure of progress.
type Mark struct{ progress *droverpb.Progress }

// Fraction is the share of the whole, 0 to 1. NaN is ignored.
func Fraction(share float64) Mark {
	if math.IsNaN(share) {
		return Mark{}
	}
	kind := &droverpb.Progress_Fraction{Fraction: min(max(share, 0), 1)}
	return Mark{&droverpb.Progress{Kind: kind}}
}

// Counter is the number of things done so far.
func Counter(done uint64) Mark {
	return Mark{&droverpb.Progress{Kind: &droverpb.Progress_Counter{Counter: done}}}
}

const cursorLengthMax = 1_024

// Cursor is any text that changes as the work advances. An empty text is ignored.
func Cursor(text string) Mark {
	if text == "" {
		return Mark{}
	}
	kind := &droverpb.Progress_Cursor{Cursor: tidyText(text, cursorLengthMax)}
	return Mark{&droverpb.Progress{Kind: kind}}
}

// attempt runs the handler to its end, however long that takes.
func attempt(ctx context.Context, handler Handler, task *Task) *droverpb.Outcome {
	return withinTask(ctx, task, func(ctx context.Context) *droverpb.Outcome {
		task.log = task.lines.tee(task.log)
		return tried(ctx, handler, task)
	})
}

func tried(ctx context.Context, handler Handler, task *Task) *droverpb.Outcome {
	result, err := callHandler(ctx, handler, task)
	var answer Answer
	if errors.As(err, &answer) && answer.kind != 0 {
		result, err = answer, nil
	}
	if err == nil {
		outcome := outcomeOfResult(task.codec, result, task.message.GetKind())
		if problem := outcome.GetSuccess().GetOutputProblem(); problem != "" {
			task.log.Error("the output of a handler is lost", "task", task.Name, "error", problem)
		}
		return outcome
	}
	stopped := stoppedBy(ctx)
	var panicked *panicError
	switch {
	case errors.As(err, &panicked):
		task.log.Error("handler panicked", "task", task.Name, "error", err, "stack", panicked.stack)
	case isUnexpected(err, stopped):
		task.log.Error("handler returned an error that it did not name", "task", task.Name, "error", err)
	}
	return outcomeOfError(err, stopped)
}

// callHandler turns a panic into an error: one bad task must not cost the others their agent.
func callHandler(ctx context.Context, handler Handler, task *Task) (result any, err error) {
	ended := false
	defer func() {
		if ended {
			return
		}
		thrown := recover()
		if thrown == nil {
			err = errors.New("the handler ended its goroutine")
			return
		}
		err = &panicError{thrown, string(debug.Stack())}
	}()
	result, err = handler(ctx, task)
	ended = true
	return result, err
}

type panicError struct {
	thrown any
	stack  string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.thrown) }

func stoppedBy(ctx context.Context) *Stopped {
	var stopped *Stopped
	if errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return nil
}

func readTask(message *droverpb.Task, notes notebook, codec Codec, log *slog.Logger) *Task {
	task := &Task{
		Name:            message.GetTask(),
		Kind:            kindOf(message.GetKind()),
		Queue:           message.GetQueue(),
		RunID:           message.GetRunId(),
		StepID:          message.GetStepId(),
		Attempt:         int(message.GetAttempt()),
		Workflow:        message.GetWorkflow(),
		WorkflowVersion: int(message.GetWorkflowVersion()),
		IdempotencyKey:  message.GetIdempotencyKey(),
		EffectKey:       message.GetEffectKey(),
		CallbackToken:   message.GetCallbackToken(),
		Fence:           int(message.GetFence()),
		Labels:          message.GetLabels(),
		message:         message,
		codec:           codec,
		notes:           notes,
		log:             log.With(taskFields(message)...),
	}
	if message.Item != nil {
		item := int(message.GetItem())
		task.Item = &item
	}
	return task
}

func taskFields(task *droverpb.Task) []any {
	return []any{"run", task.GetRunId(), "step", task.GetStepId(), "attempt", task.GetAttempt()}
}

func kindOf(kind droverpb.TaskKind) TaskKind {
	switch kind {
	case droverpb.TaskKind_TASK_KIND_VERIFY:
		return TaskVerify
	case droverpb.TaskKind_TASK_KIND_COMPENSATE:
		return TaskCompensate
	default:
		return TaskPerform
	}
}
