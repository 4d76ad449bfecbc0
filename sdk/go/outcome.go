package drover

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Answer is what a handler returns when the task is not simply done with an output: as its result, or
// as its error where the type of the result is another, see [TypedHandler].
type Answer struct {
	kind    answerKind
	after   time.Duration
	output  any
	message string
}

type answerKind int

const (
	answerAgain answerKind = iota + 1
	answerDeferred
	answerHappened
	answerDidNotHappen
	answerCannotTell
)

// Error makes an Answer an error, for handlers whose results have a type.
func (a Answer) Error() string { return "drover: a handler ended with an answer, which is no failure" }

// shortestAgain: the server takes no shorter wait.
const shortestAgain = time.Millisecond

// Again reports that the remote service has not finished: the task is handed out again after this
// time. No agent holds it meanwhile, and no attempt is counted; the step's total time limits it.
func Again(after time.Duration) Answer {
	return Answer{kind: answerAgain, after: max(after, shortestAgain)}
}

// Deferred reports that the remote service has accepted the work, and that the outcome comes by
// [Client.CompleteDeferred] with the task's CallbackToken, within the step's callback time; after
// that it is unknown. That call may come before this answer.
func Deferred() Answer { return Answer{kind: answerDeferred} }

// Happened is an answer to a verify task: the attempt took effect, and this is the output of the
// step.
func Happened(output any) Answer { return Answer{kind: answerHappened, output: output} }

// DidNotHappen is an answer to a verify task: nothing exists at the remote service, neither from
// the lost attempt nor from an earlier one, so the step may be retried.
func DidNotHappen() Answer { return Answer{kind: answerDidNotHappen} }

// CannotTell is an answer to a verify task: the server verifies again, and after the last try it
// asks a person, who may read the message.
func CannotTell(message string) Answer { return Answer{kind: answerCannotTell, message: message} }

// outcomeOfResult reports an Answer as it is; all else is the output of a success, nil one without.
//
// A verify has to answer: a lookup that found nothing and returns must not pass for "it happened".
func outcomeOfResult(codec Codec, result any, kind droverpb.TaskKind) *droverpb.Outcome {
	answer, ok := result.(Answer)
	switch {
	case ok && answer.kind != 0:
		return outcomeOfAnswer(codec, answer)
	case kind == droverpb.TaskKind_TASK_KIND_VERIFY:
		return unknownOutcome("no-answer",
			"A handler that verifies returns Happened(output), DidNotHappen() or CannotTell(message).")
	default:
		return successOutcome(codec, result)
	}
}

func outcomeOfAnswer(codec Codec, answer Answer) *droverpb.Outcome {
	switch answer.kind {
	case answerAgain:
		again := &droverpb.Outcome_Again{After: durationpb.New(answer.after)}
		return &droverpb.Outcome{Kind: &droverpb.Outcome_Again_{Again: again}}
	case answerDeferred:
		deferred := &droverpb.Outcome_Deferred_{Deferred: &droverpb.Outcome_Deferred{}}
		return &droverpb.Outcome{Kind: deferred}
	case answerHappened:
		return successOutcome(codec, answer.output)
	case answerDidNotHappen:
		return failedOutcome(&TaskError{
			Kind: KindTransient, Code: "did-not-happen", Message: "It did not happen.", NoEffect: true,
		})
	default:
		return unknownOutcome("cannot-tell", answer.message)
	}
}

// outcomeOfError takes why the task has to stop, nil if it does not.
func outcomeOfError(err error, stopped *Stopped) *droverpb.Outcome {
	var known *TaskError
	if errors.As(err, &known) {
		switch known.Kind {
		case KindTransient, KindPermanent:
			return failedOutcome(known)
		case KindCancelled:
			return cancelledOutcome(known.NoEffect)
		default:
			return unknownOutcome(known.Code, known.Message)
		}
	}
	if stopped != nil && isCancel(err) {
		if stopped.Kind == StopCancelled {
			return cancelledOutcome(false)
		}
		return unknownOutcome(string(stopped.Kind), stopped.Error())
	}
	return unknownOutcome("unexpected-error", err.Error())
}

// isUnexpected: the handler did not name it, and it is not how the stop ended it.
func isUnexpected(err error, stopped *Stopped) bool {
	var known *TaskError
	return !errors.As(err, &known) && (stopped == nil || !isCancel(err))
}

// isCancel also knows the status by which gRPC reports that a context was cancelled.
func isCancel(err error) bool {
	return errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled
}

// outcomeOfRefusal replaces a report that the server refused for what is in it. The work of a
// success was done, and doing it again would give the same output again.
func outcomeOfRefusal(refused *droverpb.Outcome, refusal *CallError) *droverpb.Outcome {
	if refused.GetSuccess() == nil {
		return unknownOutcome("report-refused", "The agent's report was refused: "+refusal.Error())
	}
	why := refusal.Message
	if len(refusal.Fields) > 0 {
		why = "it " + refusal.Fields[0].Message
	}
	return outputLost("The output was refused: " + why)
}

// outputLost: it was done, and its output cannot be sent: the permanent failure drover.output.
func outputLost(problem string) *droverpb.Outcome {
	success := &droverpb.Outcome_Success{OutputProblem: tidyMessage(problem)}
	return &droverpb.Outcome{Kind: &droverpb.Outcome_Success_{Success: success}}
}

func releasedOutcome() *droverpb.Outcome {
	released := &droverpb.Outcome_Released_{Released: &droverpb.Outcome_Released{}}
	return &droverpb.Outcome{Kind: released}
}

// payloadBytesMax is of the body of a payload, by the contract; a namespace may allow less.
const payloadBytesMax = 2 * 1024 * 1024

// successOutcome: what cannot be sent was done all the same.
func successOutcome(codec Codec, output any) *droverpb.Outcome {
	payload, err := encode(codec, output)
	if err != nil {
		return outputLost(fmt.Sprintf("The handler's result cannot be sent: %v", err))
	}
	if size := payloadSize(payload); size > payloadBytesMax {
		return outputLost(fmt.Sprintf("The output has %d bytes, and none may have more than %d: "+
			"keep it in object storage and return its address", size, payloadBytesMax))
	}
	success := &droverpb.Outcome_Success{Output: payload}
	return &droverpb.Outcome{Kind: &droverpb.Outcome_Success_{Success: success}}
}

func failedOutcome(known *TaskError) *droverpb.Outcome {
	return &droverpb.Outcome{Kind: &droverpb.Outcome_Failed_{Failed: toFailed(known)}}
}

func toFailed(known *TaskError) *droverpb.Outcome_Failed {
	failed := &droverpb.Outcome_Failed{
		Code:         tidyCode(known.Code),
		Message:      tidyMessage(known.Message),
		FailureClass: droverpb.FailureClass_FAILURE_CLASS_PERMANENT,
		NoEffect:     known.NoEffect,
	}
	if known.Kind == KindTransient {
		failed.FailureClass = droverpb.FailureClass_FAILURE_CLASS_TRANSIENT
		if known.RetryAfter > 0 {
			failed.RetryAfter = durationpb.New(known.RetryAfter)
		}
	}
	return failed
}

func unknownOutcome(code, message string) *droverpb.Outcome {
	unknown := &droverpb.Outcome_Unknown{Code: tidyCode(code), Message: tidyMessage(message)}
	return &droverpb.Outcome{Kind: &droverpb.Outcome_Unknown_{Unknown: unknown}}
}

func cancelledOutcome(noEffect bool) *droverpb.Outcome {
	cancelled := &droverpb.Outcome_Cancelled{NoEffect: noEffect}
	return &droverpb.Outcome{Kind: &droverpb.Outcome_Cancelled_{Cancelled: cancelled}}
}

// outcomeSize is about how many bytes it takes in a message.
func outcomeSize(outcome *droverpb.Outcome) int {
	const fixed = 1_024
	texts := len(outcome.GetFailed().GetMessage()) + len(outcome.GetUnknown().GetMessage())
	return fixed + texts + payloadSize(outcome.GetSuccess().GetOutput())
}

const (
	codeLengthMax    = 128
	messageLengthMax = 4_096
)

var notInCodes = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// tidyCode: a code made from an error of a remote service must not cost the report.
func tidyCode(code string) string {
	tidy := notInCodes.ReplaceAllString(code, "-")
	if name, ok := strings.CutPrefix(tidy, "drover."); ok {
		tidy = "drover-" + name
	}
	if tidy == "" {
		return "error"
	}
	return tidy[:min(len(tidy), codeLengthMax)]
}

func tidyMessage(message string) string { return tidyText(message, messageLengthMax) }

// tidyText is such that the server takes it: UTF-8 without NUL, of at most so many characters.
func tidyText(text string, lengthMax int) string {
	tidy := strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", " "), "\uFFFD")
	if utf8.RuneCountInString(tidy) <= lengthMax {
		return tidy
	}
	return string([]rune(tidy)[:lengthMax])
}
