package drover

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reason is the stable name of an error, one of the constants ReasonInvalidRequest and so on:
//
//	errors.Is(err, drover.ReasonKeyReused)
type Reason string

// Error returns the name.
func (r Reason) Error() string { return string(r) }

// CallError is the reason why a call, or one item of a call, was refused.
type CallError struct {
	// Code is the gRPC code. UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED, INTERNAL and UNKNOWN: it is
	// not known whether the call took effect. Any other code: nothing was changed.
	Code codes.Code
	// Reason is empty if the error was not made by a Drover server.
	Reason Reason
	// Message is one sentence for a person.
	Message string
	// Fields describes what is wrong with the request, by path.
	Fields   []FieldError
	Metadata map[string]string
	// RetryAfter is how long to wait before the call is repeated. 0: the server gave no time.
	RetryAfter time.Duration

	status *status.Status
}

// FieldError describes what is wrong with one field of a request.
type FieldError struct {
	// Path of the field, such as "definition.steps[2].needs[0]".
	Path    string
	Message string
}

// Error returns everything that the server sent except the metadata.
func (e *CallError) Error() string {
	text := e.Message
	if e.Reason != "" {
		text = fmt.Sprintf("%s: %s", e.Reason, text)
	}
	for _, field := range e.Fields {
		text += fmt.Sprintf(" (%s: %s)", field.Path, field.Message)
	}
	return fmt.Sprintf("drover: %s: %s", e.Code, text)
}

// Is compares with a [Reason].
func (e *CallError) Is(target error) bool {
	reason, ok := target.(Reason)
	return ok && reason == e.Reason
}

// GRPCStatus returns the status for [status.FromError].
func (e *CallError) GRPCStatus() *status.Status { return e.status }

type callOutcome int

const (
	// unclear: it is unknown whether the call took effect; repeat it.
	unclear callOutcome = iota
	// later: nothing was changed, and it may work after RetryAfter.
	later
	// definite: nothing was changed, and it will not work unless something else does.
	definite
)

func (e *CallError) outcome() callOutcome {
	switch e.Code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Internal, codes.Unknown:
		return unclear
	case codes.ResourceExhausted:
		if e.RetryAfter > 0 {
			return later
		}
	}
	return definite
}

// isAboutResults: whether the error of a whole Complete is about its results; only a Drover server
// can judge them. Any other error is about the call, and proves nothing about the results.
func (e *CallError) isAboutResults() bool {
	if e.Reason == ReasonMessageTooLarge {
		return true
	}
	named := slices.ContainsFunc(e.Fields, func(field FieldError) bool {
		return strings.HasPrefix(field.Path, "results[")
	})
	return e.Code == codes.InvalidArgument && e.Reason != "" && named
}

// wasNotAdmitted: refused by a Drover server before it claimed tasks, so that nothing can have
// been granted. After any other error a poll has to be named as lost: also after one that the
// client's own library made, such as RESOURCE_EXHAUSTED for an answer that it takes for too large.
func (e *CallError) wasNotAdmitted() bool {
	switch e.Reason {
	case ReasonInvalidRequest, ReasonMalformedMessage, ReasonMessageTooLarge, ReasonDeadlineTooLong,
		ReasonNamespaceNotFound, ReasonTokenRequired, ReasonNotAllowed:
		return true
	}
	return false
}

// callErrorOf reads what gRPC returned; all that is no status is UNKNOWN.
func callErrorOf(err error) *CallError {
	var known *CallError
	if errors.As(err, &known) {
		return known
	}
	return callErrorOfStatus(status.Convert(err))
}

func callErrorOfProto(message *statuspb.Status) *CallError {
	return callErrorOfStatus(status.FromProto(message))
}

func callErrorOfStatus(of *status.Status) *CallError {
	made := &CallError{Code: of.Code(), Message: of.Message(), status: of}
	for _, detail := range of.Details() {
		switch part := detail.(type) {
		case *errdetails.ErrorInfo:
			made.Reason, made.Metadata = Reason(part.GetReason()), part.GetMetadata()
		case *errdetails.BadRequest:
			for _, field := range part.GetFieldViolations() {
				made.Fields = append(made.Fields, FieldError{field.GetField(), field.GetDescription()})
			}
		case *errdetails.RetryInfo:
			made.RetryAfter = part.GetRetryDelay().AsDuration()
		}
	}
	return made
}
