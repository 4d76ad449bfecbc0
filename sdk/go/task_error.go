package drover

import (
	"context"
	"fmt"
	"time"
)

// ErrorKind says what an error of a handler means for trying again.
type ErrorKind string

// What a [TaskError] can be.
const (
	// KindTransient: it failed, and will probably work later; tried again by the step's policy.
	KindTransient ErrorKind = "transient"
	// KindPermanent: it failed, and will never work; not tried again.
	KindPermanent ErrorKind = "permanent"
	// KindUnknown: nobody knows whether it took effect, as when a connection broke in the middle.
	KindUnknown ErrorKind = "unknown"
	// KindCancelled: it stopped because its context was cancelled.
	KindCancelled ErrorKind = "cancelled"
)

// TaskError is how an attempt went wrong, as its handler knows it. A handler returns one, wrapped or
// not; Transient, Permanent, Unknown and Cancelled make it.
//
// Any other error is reported as unknown, with the code "unexpected-error": it may have come after
// the effect, and only the handler can tell.
type TaskError struct {
	Kind ErrorKind
	// Code is a stable name for programs and retry policies, such as "rate-limited".
	Code string
	// Message is one sentence for a person.
	Message string
	// RetryAfter is how long not to try again, of a transient error. 0: the policy alone decides.
	RetryAfter time.Duration
	// NoEffect claims that nothing exists at the remote service, from this attempt or an earlier one.
	NoEffect bool
	// Cause is what [errors.Is] and [errors.As] look at next; it is not sent.
	Cause error
}

// Error is the code and the message.
func (e *TaskError) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap is the cause.
func (e *TaskError) Unwrap() error { return e.Cause }

// ErrorOption says more about a [TaskError].
type ErrorOption func(*TaskError)

// RetryAfter asks for no try before so long.
func RetryAfter(wait time.Duration) ErrorOption {
	return func(e *TaskError) { e.RetryAfter = wait }
}

// NoEffect claims that nothing exists at the remote service, from this attempt or an earlier one.
func NoEffect() ErrorOption {
	return func(e *TaskError) { e.NoEffect = true }
}

// CausedBy keeps the error that led to it, for [errors.Is] and [errors.As].
func CausedBy(err error) ErrorOption {
	return func(e *TaskError) { e.Cause = err }
}

// Transient is a failure that will pass.
func Transient(code, message string, options ...ErrorOption) error {
	return taskError(KindTransient, code, message, options)
}

// Permanent is a failure that will not pass.
func Permanent(code, message string, options ...ErrorOption) error {
	return taskError(KindPermanent, code, message, options)
}

// Unknown says that it may have taken effect, or not.
func Unknown(code, message string, options ...ErrorOption) error {
	return taskError(KindUnknown, code, message, options)
}

// Cancelled says that the handler stopped because its context was cancelled. Returning the context's
// own error says the same; this one can also say NoEffect.
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

// StopKind is why a handler's context was cancelled.
type StopKind string

// Why a handler's context was cancelled.
const (
	// StopCancelled: the server asked for it; the run is being stopped, or the attempt took too long.
	StopCancelled StopKind = "cancelled"
	// StopLeaseLost: the server said that the task is no longer this agent's.
	StopLeaseLost StopKind = "lease-lost"
	// StopLeaseEnded: by the agent's own clock the lease ended, since no heartbeat was answered.
	StopLeaseEnded StopKind = "lease-ended"
	// StopAttemptOver: the time of the attempt is over.
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

// Error says why in words.
func (s *Stopped) Error() string { return stopTexts[s.Kind] }

// Is makes a Stopped a [context.Canceled].
func (s *Stopped) Is(target error) bool { return target == context.Canceled }
