package drover

import (
	"context"
	"encoding/json"
	"fmt"
)

// TaskType is a task as the programs that share it know it: its name, and the types of its input and
// output, which have JSON forms. The handler, the step of a workflow (package workflow) and the test
// of the handler take it, so that the compiler finds where they differ. A task without output has
// the output struct{}.
//
//	var BookFlight = drover.NewTask[Trip, Booking]("book-flight")
type TaskType[In, Out any] struct{ name string }

// NewTask names a task and its types.
func NewTask[In, Out any](name string) TaskType[In, Out] { return TaskType[In, Out]{name} }

// Name returns the name of the task, as in the definition of a workflow.
func (t TaskType[In, Out]) Name() string { return t.name }

// TypedHandler performs one attempt of a [TaskType], as a [Handler] does. An [Answer] is returned as
// the error.
type TypedHandler[In, Out any] func(ctx context.Context, task *Task, input In) (Out, error)

// Handle is the option of an agent that sets the handler of the task.
//
// An input that is not of the type, or whose method Validate() error refuses it, fails the attempt
// permanently with the code "bad-input", and the handler is not called.
func (t TaskType[In, Out]) Handle(handler TypedHandler[In, Out]) AgentOption {
	if handler == nil {
		return Handle(t.name, nil)
	}
	return Handle(t.name, Typed(handler))
}

// Typed returns a [TypedHandler] in the form that [Handle] and package drovertest take.
func Typed[In, Out any](handler TypedHandler[In, Out]) Handler {
	return func(ctx context.Context, task *Task) (any, error) {
		var input In
		if err := task.Input(&input); err != nil {
			return nil, err
		}
		output, err := handler(ctx, task, input)
		if _, none := any(output).(struct{}); none || err != nil {
			return nil, err
		}
		return output, nil
	}
}

// WorkflowType is a workflow as the programs that share it know it: its name, the type of the input
// of a run, and the type of what a caller reads of a run that has ended: an object with the outputs
// of steps by their ids.
//
//	type Booked struct {
//		Flight Booking `json:"flight"`
//	}
//	var Holiday = drover.NewWorkflow[Trip, Booked]("holiday")
type WorkflowType[In, Out any] struct{ name string }

// NewWorkflow names a workflow and its types.
func NewWorkflow[In, Out any](name string) WorkflowType[In, Out] {
	return WorkflowType[In, Out]{name}
}

// Name returns the name of the workflow.
func (w WorkflowType[In, Out]) Name() string { return w.name }

// Start describes a run with this input, for [Client.Schedule]; set its other fields as you need.
func (w WorkflowType[In, Out]) Start(input In) Start {
	return Start{Workflow: w.name, Input: input}
}

// Wait waits until the run has ended, or the context ends, and returns the outputs of its steps.
// What a skipped step would set is left as it is. If the run did not complete, the error is a
// [*RunNotCompletedError].
func (w WorkflowType[In, Out]) Wait(ctx context.Context, client *Client, run RunName) (Out, error) {
	var outputs Out
	ended, err := client.WaitRun(ctx, run)
	if err != nil {
		return outputs, err
	}
	if ended.State != RunStateCompleted {
		return outputs, &RunNotCompletedError{
			RunID: ended.RunID, Workflow: ended.Workflow, State: ended.State, Summary: ended.Summary,
		}
	}
	details, err := client.GetRun(ctx, ended.RunID, Include{})
	if err != nil {
		return outputs, err
	}
	byStep := map[string]json.RawMessage{}
	for _, step := range details.Steps {
		if step.Output != nil && step.Output.JSON != "" {
			byStep[step.ID] = json.RawMessage(step.Output.JSON)
		}
	}
	text, err := json.Marshal(byStep)
	if err == nil {
		err = unmarshalJSON(text, &outputs)
	}
	if err != nil {
		const text = "drover: the outputs of run %s are not of the type of %s: %w"
		return outputs, fmt.Errorf(text, ended.RunID, w.name, err)
	}
	return outputs, nil
}

// RunNotCompletedError is the error of a run that ended in another way than with success.
type RunNotCompletedError struct {
	RunID    RunID
	Workflow string
	// State is the final state, such as RunStateFailed.
	State RunState
	// Summary says in a sentence or two how the run ended.
	Summary string
}

// Error returns all of it.
func (e *RunNotCompletedError) Error() string {
	return fmt.Sprintf("drover: the run %s of %s ended as %s: %s", e.RunID, e.Workflow, e.State, e.Summary)
}
