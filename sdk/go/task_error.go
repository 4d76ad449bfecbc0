package drover

import (
	"context"
	"fmt"
	"time"
)

// ErrorKind is what an error of a handler means for retries.
type ErrorKind string

// The kinds of a [TaskError].
const (
	// KindTransient: it failed, and will probably work later; retried by the step's policy.
	KindTransient ErrorKind = "transient"
	// KindPermanent: it failed, and will never work; not retried.
	KindPermanent ErrorKind = "permanent"
	// KindUnknown: it is unknown whether it took effect, for example because a connection broke.
	KindUnknown ErrorKind = "unknown"
	// KindCancelled: it stopped because its context was cancelled.
	KindCancelled ErrorKind = "cancelled"
)

// TaskError describes how an attempt failed, as its handler knows it. A handler returns one, wrapped or
// not; Transient, Permanent, Unknown and Cancelled make it.
//
// Any other error is reported as unknown, with the code "unexpected-error": it may have come after
// the effect, and only the handler knows.
type TaskError struct {
	Kind ErrorKind
	// Code is a stable name for programs and retry policies, such as "rate-limited".
	Code string
	// Message is one sentence for a person.
	Message string
	// RetryAfter is the minimum time before the next try, for a transient error. 0: only the policy
	// decides.
	RetryAfter time.Duration
	// NoEffect states that nothing exists at the remote service, neither from this attempt nor from an
	// earlier one.
	NoEffect bool
	// Cause is the next error for [errors.Is] and [errors.As]; it is not sent.
	Cause error
}

// Error returns the code and the message.
func (e *TaskError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *TaskError) Unwrap() error { return e.Cause }

// ErrorOption adds a property to a [TaskError].
type ErrorOption func(*TaskError)

// RetryAfter sets the minimum time before the next try.
func RetryAfter(wait time.Duration) ErrorOption {
	return func(e *TaskError) { e.RetryAfter = wait }
}

// NoEffect states that nothing exists at the remote service, neither from this attempt nor from an
// earlier one.
func NoEffect() ErrorOption {
	return func(e *TaskError) { e.NoEffect = true }
}

// CausedBy stores the cause, for [errors.Is] and [errors.As].
func CausedBy(err error) ErrorOption {
	return func(e *TaskError) { e.Cause = err }
}

// Transient makes an error for a failure that will probably pass.
func Transient(code, message string, options ...ErrorOption) error {
	return taskError(KindTransient, code, message, options)
}

// Permanent makes an error for a failure that will not pass.
func Permanent(code, message string, options ...ErrorOption) error {
	return taskError(KindPermanent, code, message, options)
}

// Unknown makes an error for an unknown outcome: the work may have taken effect, or not.
func Unknown(code, message string, options ...ErrorOption) error {
	return taskError(KindUnknown, code, message, options)
}

// Cancelled reports that the handler stopped because its context was cancelled. Returning the
// context's own error means the same; this error can also carry NoEffect.
func Cancelled(options ...ErrorOption) error {
	return taskError(KindCancelled, "", "The task was cancelled.", options)
}

func taskError(kind ErrorKind, code, message string, options []ErrorOption) error {
	made := &TaskError{Kind: kind, Code: code, Message: message}
	for _, option := range options {
		option(made)
	}
	return made
}

// StopKind is the reason why a handler's context was cancelled.
type StopKind string

// Why a handler's context was cancelled.
const (
	// StopCancelled: the server requested it; the run is being stopped, or the attempt took too long.
	StopCancelled StopKind = "cancelled"
	// StopLeaseLost: the server answered that the task no longer belongs to this agent.
	StopLeaseLost StopKind = "lease-lost"
	// StopLeaseEnded: by the agent's own clock the lease ended, because no heartbeat was answered.
	StopLeaseEnded StopKind = "lease-ended"
	// StopAttemptOver: the time of the attempt has passed.
	StopAttemptOver StopKind = "attempt-over"
	// StopAgent: the agent is stopping, and its grace is over.
	StopAgent StopKind = "agent-stopped"
)

var stopTexts = map[StopKind]string{
	StopCancelled:   "stopped: the server asked to cancel the task",
	StopLeaseLost:   "stopped: the server has given the task to another",
	StopLeaseEnded:  "stopped: the lease ended, because no heartbeat was answered in time",
	StopAttemptOver: "stopped: the time of the attempt is over",
	StopAgent:       "stopped: the agent is being stopped",
}

// Stopped is the [context.Cause] of a handler's context. It is a [context.Canceled] to [errors.Is].
type Stopped struct{ Kind StopKind }

// Error returns the reason as a text.
func (s *Stopped) Error() string { return stopTexts[s.Kind] }

// Is makes a Stopped a [context.Canceled].
func (s *Stopped) Is(target error) bool { return target == context.Canceled }
