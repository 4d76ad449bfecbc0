package drover_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// working is one task in the hands of a handler that waits for its end or for its context.
type working struct {
	agent *running
	task  *drover.Task
	ctx   context.Context
	end   chan any
}

func aRunningTask(server *script, waited time.Duration, change ...func(*droverpb.Task)) working {
	started := make(chan working, 1)
	end := make(chan any, 1)
	agent := server.start(drover.WithSlots(1), drover.Handle("book-flight",
		func(ctx context.Context, task *drover.Task) (any, error) {
			started <- working{task: task, ctx: ctx}
			select {
			case result := <-end:
				return result, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
	poll := server.poll.next()
	time.Sleep(waited)
	answer := tasksOf(aTask("t1", change...))
	answer.Waited = durationpb.New(waited)
	poll.answer(answer)
	made := <-started
	made.agent, made.end = agent, end
	return made
}

// finish ends the handler if it still runs, and the agent.
func (w working) finish(server *script) {
	server.t.Helper()
	server.complete.always(func(call *completeCall) {
		accepted(call)
	})
	select {
	case w.end <- nil:
	default:
	}
	w.agent.stop()
	equal(server.t, "what Run returns", <-w.agent.ended, nil)
}

func stopKind(ctx context.Context) drover.StopKind {
	var stopped *drover.Stopped
	if errors.As(context.Cause(ctx), &stopped) {
		return stopped.Kind
	}
	return ""
}

func TestHeartbeatsGoOutByThemselvesAndNeverMoveProgress(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		started := time.Now()
		work := aRunningTask(server, 0)
		for count := 1; count <= 5; count++ {
			heartbeat := server.heartbeat.next()
			equal(t, "time", time.Since(started), time.Duration(count)*3*time.Second)
			equal(t, "reports", len(heartbeat.request.GetReports()), 1)
			report := heartbeat.request.GetReports()[0]
			if report.GetTaskToken() != "t1" || report.Progress != nil || report.Details != nil {
				t.Fatalf("the heartbeat has %v", report)
			}
			heartbeat.answer(heartbeatAnswer(carryOn()))
		}
		time.Sleep(time.Second)
		equal(t, "what is left", work.task.Left(), 8*time.Second)
		equal(t, "the context's error", work.ctx.Err(), nil)
		work.finish(server)
	})
}

func TestProgressAndDetailsGoOutOnceWithTheNextHeartbeat(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		// The first note is sent at once; those of the next second are sent together.
		work.task.Progress(drover.Fraction(0.1))
		server.heartbeat.next().answer(heartbeatAnswer(carryOn()))
		work.task.Progress(drover.Fraction(0.25))
		work.task.Progress(drover.Fraction(0.5))
		equal(t, "details", work.task.Details(map[string]int{"page": 7}), nil)
		report := server.heartbeat.next()
		equal(t, "progress", report.request.GetReports()[0].GetProgress().GetFraction(), 0.5)
		equal(t, "details", report.request.GetReports()[0].GetDetails().GetJson(), `{"page":7}`)
		report.answer(heartbeatAnswer(carryOn()))
		next := server.heartbeat.next().request.GetReports()[0]
		if next.Progress != nil || next.Details != nil {
			t.Fatalf("the second heartbeat has %v", next)
		}
		work.finish(server)
	})
}

func TestDetailsGoOutBeforeTheReportOfWhatEndedWithoutSuccess(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		// The first note is sent at once, the next one within a second.
		work.task.Progress(drover.Counter(1))
		server.heartbeat.next().answer(heartbeatAnswer(carryOn()))
		equal(t, "details", work.task.Details(map[string]int{"page": 7}), nil)
		work.end <- drover.Again(time.Second)
		heartbeat := server.heartbeat.next()
		equal(t, "details", heartbeat.request.GetReports()[0].GetDetails().GetJson(), `{"page":7}`)
		equal(t, "reports before that", len(server.complete.calls), 0)
		heartbeat.answer(heartbeatAnswer(carryOn()))
		report := server.complete.next()
		equal(t, "after", report.request.GetResults()[0].GetOutcome().GetAgain().GetAfter().AsDuration(),
			time.Second)
		accepted(report)
		work.finish(server)
	})
}

func TestDetailsThatCannotBeSentDoNotDelayTheReport(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		equal(t, "details", work.task.Details("a"), nil)
		work.end <- drover.Again(time.Second)
		report := server.complete.next()
		if report.request.GetResults()[0].GetOutcome().GetAgain() == nil {
			t.Fatalf("the report has %v", report.request)
		}
		accepted(report)
		work.finish(server)
	})
}

func TestProgressOfAHeartbeatThatWasNotAnsweredIsSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		work.task.Progress(drover.Counter(3))
		server.heartbeat.next().fail(codes.Unavailable, "STORE_UNAVAILABLE")
		again := server.heartbeat.next()
		equal(t, "counter", again.request.GetReports()[0].GetProgress().GetCounter(), 3)
		work.finish(server)
	})
}

func TestDetailsThatAreRefusedAreDropped(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		equal(t, "details", work.task.Details("much too much"), nil)
		refusal := &droverpb.HeartbeatAnswer_Error{
			Error: statusOf(codes.InvalidArgument, "PAYLOAD_TOO_LARGE"),
		}
		first := server.heartbeat.next()
		sent := time.Now()
		first.answer(heartbeatAnswer(&droverpb.HeartbeatAnswer{Answer: refusal}))
		second := server.heartbeat.next()
		if second.request.GetReports()[0].Details != nil {
			t.Fatalf("the second heartbeat has %v", second.request)
		}
		if wait := time.Since(sent); wait > 500*time.Millisecond {
			t.Fatalf("it came after %s", wait)
		}
		work.finish(server)
	})
}

func TestACancelReachesTheContextAndIsReported(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		server.heartbeat.next().answer(heartbeatAnswer(cancelWithin(2 * time.Second)))
		report := server.complete.next()
		equal(t, "kind", stopKind(work.ctx), drover.StopCancelled)
		if !errors.Is(context.Cause(work.ctx), context.Canceled) {
			t.Fatal("the cause is no context.Canceled")
		}
		if report.request.GetResults()[0].GetOutcome().GetCancelled() == nil {
			t.Fatalf("the report has %v", report.request)
		}
		accepted(report)
		work.finish(server)
	})
}

func TestALostLeaseStopsTheHandlerAndIsReportedAsEvidence(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		server.heartbeat.next().answer(heartbeatAnswer(leaseLost()))
		report := server.complete.next()
		equal(t, "kind", stopKind(work.ctx), drover.StopLeaseLost)
		equal(t, "code", report.request.GetResults()[0].GetOutcome().GetUnknown().GetCode(), "lease-lost")
		time.Sleep(5 * time.Second)
		equal(t, "heartbeats after that", len(server.heartbeat.calls), 0)
		accepted(report)
		work.finish(server)
	})
}

func TestALeaseThatNoHeartbeatRenewsEndsByTheAgentsOwnClock(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		started := time.Now()
		work := aRunningTask(server, 0)
		report := server.complete.next()
		equal(t, "time", time.Since(started), 9*time.Second)
		equal(t, "kind", stopKind(work.ctx), drover.StopLeaseEnded)
		equal(t, "code", report.request.GetResults()[0].GetOutcome().GetUnknown().GetCode(), "lease-ended")
		accepted(report)
		work.finish(server)
	})
}

func TestALeaseCountsFromTheSendingOfThePollPlusWhatTheServerWaited(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 20*time.Second)
		equal(t, "what is left", work.task.Left(), 9*time.Second)
		work.finish(server)
	})
}

func TestAServerThatClaimsToHaveWaitedLongerThanTheCallTookIsNotBelieved(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		left := make(chan time.Duration, 1)
		agent := server.start(drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				left <- task.Left()
				return nil, nil
			}))
		answer := tasksOf(aTask("t1"))
		answer.Waited = durationpb.New(time.Minute)
		server.poll.next().answer(answer)
		equal(t, "what is left", <-left, 9*time.Second)
		working{agent: agent, end: make(chan any, 1)}.finish(server)
	})
}

func TestARenewalCountsFromTheSendingOfTheHeartbeat(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		heartbeat := server.heartbeat.next()
		time.Sleep(2 * time.Second)
		heartbeat.answer(heartbeatAnswer(carryOn()))
		time.Sleep(time.Millisecond)
		equal(t, "what is left", work.task.Left(), 7*time.Second-time.Millisecond)
		work.finish(server)
	})
}

func TestAHeartbeatThatIsNotAnsweredDoesNotHoldUpTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		server.heartbeat.next()
		server.heartbeat.next().answer(heartbeatAnswer(carryOn()))
		time.Sleep(time.Millisecond)
		equal(t, "what is left", work.task.Left(), 9*time.Second-time.Millisecond)
		work.finish(server)
	})
}

func TestTheTimeOfTheAttemptEndsItWhateverTheAnswersToHeartbeatsAre(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		server.heartbeat.always(func(call *heartbeatCall) {
			call.answer(heartbeatAnswer(carryOn()))
		})
		work := aRunningTask(server, 0, func(task *droverpb.Task) {
			task.AttemptFor = durationpb.New(5 * time.Second)
		})
		report := server.complete.next()
		equal(t, "kind", stopKind(work.ctx), drover.StopAttemptOver)
		equal(t, "code", report.request.GetResults()[0].GetOutcome().GetUnknown().GetCode(), "attempt-over")
		accepted(report)
		work.finish(server)
	})
}

func TestATaskIsListedInHeartbeatsUntilItsReportIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		work := aRunningTask(server, 0)
		work.end <- "done"
		report := server.complete.next()
		heartbeat := server.heartbeat.next()
		equal(t, "listed", heartbeat.request.GetReports()[0].GetTaskToken(), "t1")
		heartbeat.answer(heartbeatAnswer(carryOn()))
		// t2 has come with the answer to t1, which is out of hand from then on.
		accepted(report, aTask("t2"))
		later := server.heartbeat.next()
		equal(t, "listed", len(later.request.GetReports()), 1)
		equal(t, "listed", later.request.GetReports()[0].GetTaskToken(), "t2")
		work.finish(server)
	})
}
