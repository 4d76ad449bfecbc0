// Package drovertest runs a handler without a server and without an agent: the test passes a task,
// and gets what an agent would report.
//
//	result := drovertest.Run(t, bookFlight, drovertest.Task{Input: trip})
//	var booking Booking
//	result.Output(&booking)
package drovertest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
	"github.com/drover-dev/drover/sdk/go/internal/bare"
)

// Task is the task for the handler. Fields that are left out have the values of a first attempt:
// the name is "task", the run "run-1", the step "step", the keys "key-1" and, except for perform,
// "effect-1".
type Task struct {
	Name string
	// Kind is drover.TaskPerform by default.
	Kind drover.TaskKind
	// Input, Output (of a compensate) and LastDetails have a JSON form, or are payloads; nil: none.
	Input       any
	Output      any
	LastDetails any
	// Attempt is 1 by default.
	Attempt        int
	IdempotencyKey string
	EffectKey      string
	// Item is the index in the list of a map; nil: the step is not a map.
	Item   *int
	Labels map[string]string
	// Left is the remaining time of lease and attempt. Default 15 minutes.
	Left time.Duration
	// Codec is the codec of the agent. Default: none.
	Codec drover.Codec
}

// Kind is how an attempt ended.
type Kind string

// How an attempt ended.
const (
	Success   Kind = "success"
	Failed    Kind = "failed"
	Unknown   Kind = "unknown"
	Cancelled Kind = "cancelled"
	Again     Kind = "again"
	Deferred  Kind = "deferred"
)

// Result is what an agent would report, with the progress and details of the handler.
type Result struct {
	// Kind is Failed, with the code "drover.output", also for a success whose output is lost: the
	// server makes that of it.
	Kind Kind
	// Code and Message are those of Failed and Unknown.
	Code    string
	Message string
	// Transient: a retry may help; for Failed.
	Transient bool
	// RetryAfter is the minimum time before the next try, for Failed. 0: not given.
	RetryAfter time.Duration
	// NoEffect: nothing exists at the remote service; for Failed and Cancelled.
	NoEffect bool
	// After is when the task is handed out again; for Again.
	After time.Duration
	// Progress has each reported progress, in order: a float64 of a fraction, a uint64 of a counter,
	// a string of a cursor.
	Progress []any

	t       testing.TB
	codec   drover.Codec
	output  *drover.Payload
	details *drover.Payload
}

// Run runs the handler to its end.
func Run(t testing.TB, handler drover.Handler, task Task) Result {
	t.Helper()
	return Start(t, handler, task).Wait()
}

// Attempt is a running handler.
type Attempt struct {
	stop context.CancelCauseFunc
	done chan struct{}

	mu     sync.Mutex
	result Result
}

// Start starts the handler and returns at once.
func Start(t testing.TB, handler drover.Handler, task Task) *Attempt {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	t.Cleanup(func() { stop(context.Canceled) })
	made := &Attempt{stop: stop, done: make(chan struct{}), result: Result{t: t, codec: task.Codec}}
	left := task.Left
	if left == 0 {
		left = 15 * time.Minute
	}
	ends := time.Now().Add(left)
	of := bare.Attempt{
		Handler: handler,
		Codec:   task.Codec,
		Task:    messageOf(t, task),
		Note:    made.note,
		Left:    func() time.Duration { return max(0, time.Until(ends)) },
		Log:     slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	go func() {
		defer close(made.done)
		outcome := bare.Run(ctx, of)
		made.mu.Lock()
		made.result.read(outcome)
		made.mu.Unlock()
	}()
	return made
}

// Stop cancels the handler's context, as an agent would for this reason.
func (a *Attempt) Stop(kind drover.StopKind) { a.stop(&drover.Stopped{Kind: kind}) }

// Wait waits until the handler has ended, and returns the result.
func (a *Attempt) Wait() Result {
	<-a.done
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.result
}

func (a *Attempt) note(progress *droverpb.Progress, details *droverpb.Payload) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch kind := progress.GetKind().(type) {
	case *droverpb.Progress_Fraction:
		a.result.Progress = append(a.result.Progress, kind.Fraction)
	case *droverpb.Progress_Counter:
		a.result.Progress = append(a.result.Progress, kind.Counter)
	case *droverpb.Progress_Cursor:
		a.result.Progress = append(a.result.Progress, kind.Cursor)
	}
	if details != nil {
		a.result.details = bare.Payload(details).(*drover.Payload)
	}
}

func (r *Result) read(outcome *droverpb.Outcome) {
	switch kind := outcome.GetKind().(type) {
	case *droverpb.Outcome_Success_:
		r.Kind = Success
		if r.Message = kind.Success.GetOutputProblem(); r.Message != "" {
			r.Kind, r.Code = Failed, "drover.output"
		}
		r.output = bare.Payload(kind.Success.GetOutput()).(*drover.Payload)
	case *droverpb.Outcome_Failed_:
		failed := kind.Failed
		r.Kind, r.Code, r.Message = Failed, failed.GetCode(), failed.GetMessage()
		r.Transient = failed.GetFailureClass() == droverpb.FailureClass_FAILURE_CLASS_TRANSIENT
		r.RetryAfter, r.NoEffect = failed.GetRetryAfter().AsDuration(), failed.GetNoEffect()
	case *droverpb.Outcome_Unknown_:
		r.Kind, r.Code, r.Message = Unknown, kind.Unknown.GetCode(), kind.Unknown.GetMessage()
	case *droverpb.Outcome_Cancelled_:
		r.Kind, r.NoEffect = Cancelled, kind.Cancelled.GetNoEffect()
	case *droverpb.Outcome_Again_:
		r.Kind, r.After = Again, kind.Again.GetAfter().AsDuration()
	case *droverpb.Outcome_Deferred_:
		r.Kind = Deferred
	}
}

// Output reads the output of a success; another outcome fails the test.
func (r Result) Output(into any) {
	r.t.Helper()
	if r.Kind != Success {
		r.t.Fatalf("the handler did not succeed: %s %s: %s", r.Kind, r.Code, r.Message)
	}
	r.decode(r.output, into)
}

// Details reads the last details; false: there are none.
func (r Result) Details(into any) bool {
	r.t.Helper()
	if r.details == nil {
		return false
	}
	r.decode(r.details, into)
	return true
}

func (r Result) decode(payload *drover.Payload, into any) {
	r.t.Helper()
	var err error
	if r.codec != nil && payload != nil {
		payload, err = r.codec.Decode(payload)
	}
	if err == nil {
		err = drover.Unmarshal(payload, into)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func messageOf(t testing.TB, task Task) *droverpb.Task {
	t.Helper()
	message := &droverpb.Task{
		TaskToken:         "token-1",
		CallbackToken:     "callback-1",
		RunId:             "run-1",
		StepId:            "step",
		Attempt:           uint32(max(task.Attempt, 1)),
		Workflow:          "workflow",
		Kind:              droverpb.TaskKind_TASK_KIND_PERFORM,
		Task:              orElse(task.Name, "task"),
		Queue:             "default",
		Input:             payloadOf(t, task, task.Input),
		Output:            payloadOf(t, task, task.Output),
		LastDetails:       payloadOf(t, task, task.LastDetails),
		IdempotencyKey:    orElse(task.IdempotencyKey, "key-1"),
		EffectKey:         task.EffectKey,
		Fence:             uint32(max(task.Attempt, 1)),
		LeaseFor:          durationpb.New(30 * time.Second),
		AttemptFor:        durationpb.New(15 * time.Minute),
		HeartbeatInterval: durationpb.New(10 * time.Second),
		Labels:            task.Labels,
	}
	switch task.Kind {
	case drover.TaskVerify:
		message.Kind = droverpb.TaskKind_TASK_KIND_VERIFY
	case drover.TaskCompensate:
		message.Kind = droverpb.TaskKind_TASK_KIND_COMPENSATE
	}
	if message.Kind != droverpb.TaskKind_TASK_KIND_PERFORM {
		message.EffectKey = orElse(task.EffectKey, "effect-1")
	}
	if task.Item != nil {
		item := uint32(*task.Item)
		message.Item = &item
	}
	return message
}

func payloadOf(t testing.TB, task Task, value any) *droverpb.Payload {
	t.Helper()
	if value == nil {
		return nil
	}
	payload, ready := value.(*drover.Payload)
	var err error
	if !ready {
		payload, err = drover.JSON(value)
	}
	if err == nil && task.Codec != nil {
		payload, err = task.Codec.Encode(payload)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bare.Message(payload)
}

func orElse(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}
