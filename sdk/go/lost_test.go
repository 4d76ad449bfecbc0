package drover_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// stuckBeside is an agent with a handler of t1, which ignores its cancel, and one of t2, which does
// not end by itself; both end when their channels are closed. t1 was cancelled just now.
func stuckBeside(server *script) (agent *running, stuck, other chan struct{}) {
	stuck, other = make(chan struct{}), make(chan struct{})
	agent = server.start(drover.WithSlots(3), drover.Handle("book-flight",
		func(_ context.Context, task *drover.Task) (any, error) {
			if task.StepID == "t1" {
				<-stuck
			} else {
				<-other
			}
			return "done", nil
		}))
	server.poll.next().answer(tasksOf(aTask("t1"), aTask("t2")))
	cancelFirst := func(call *heartbeatCall) {
		answer := &droverpb.HeartbeatResponse{}
		for _, report := range call.request.GetReports() {
			if report.GetTaskToken() == "t1" {
				answer.Answers = append(answer.Answers, cancelWithin(20*time.Second))
			} else {
				answer.Answers = append(answer.Answers, carryOn())
			}
		}
		call.answer(answer)
	}
	cancelFirst(server.heartbeat.next())
	server.heartbeat.always(cancelFirst)
	synctest.Wait()
	return agent, stuck, other
}

func TestAHandlerThatIgnoresItsCancelEndsTheAgentAndIsReportedOnceNoOtherRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent, stuck, other := stuckBeside(server)
		cancelled := time.Now()
		poll := server.poll.next()
		<-poll.ctx.Done()
		equal(t, "it drains after", time.Since(cancelled), 10*time.Second)
		time.Sleep(time.Second)
		equal(t, "reports while another runs", len(server.complete.calls), 0)
		close(other)
		last := server.complete.next()
		equal(t, "the other", tokensOf(last.request.GetResults())[0], "t2")
		results := last.request.GetResults()
		accepted(last)
		if len(results) == 1 {
			call := server.complete.next()
			results = append(results, call.request.GetResults()...)
			accepted(call)
		}
		equal(t, "tasks", len(results), 2)
		equal(t, "code", results[1].GetOutcome().GetUnknown().GetCode(), "handler-lost")
		if err := <-agent.ended; !errors.Is(err, drover.ErrHandlerLost) {
			t.Fatalf("Run returned %v", err)
		}
		equal(t, "time", time.Since(cancelled), 11*time.Second)
		close(stuck)
	})
}

func TestALostHandlerThatEndsBeforeTheAgentIsReportedAsItEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent, stuck, other := stuckBeside(server)
		<-server.poll.next().ctx.Done()
		close(stuck)
		report := server.complete.next()
		equal(t, "tasks", tokensOf(report.request.GetResults()), []string{"t1"})
		if report.request.GetResults()[0].GetOutcome().GetSuccess() == nil {
			t.Fatalf("the report has %v", report.request)
		}
		accepted(report)
		close(other)
		accepted(server.complete.next())
		if err := <-agent.ended; !errors.Is(err, drover.ErrHandlerLost) {
			t.Fatalf("Run returned %v", err)
		}
	})
}

func TestAHandlerThatIgnoresTheEndOfItsAgentIsLostToo(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		ignore := make(chan struct{})
		agent := server.start(drover.WithGrace(3*time.Second), drover.Handle("book-flight",
			func(context.Context, *drover.Task) (any, error) {
				<-ignore
				return nil, nil
			}))
		server.poll.next().answer(tasksOf(aTask("t1")))
		server.heartbeat.always(func(call *heartbeatCall) { call.answer(heartbeatAnswer(carryOn())) })
		synctest.Wait()
		cancelled := time.Now()
		agent.stop()
		report := server.complete.next()
		equal(t, "time", time.Since(cancelled).Truncate(time.Second), 13*time.Second)
		equal(t, "code", report.request.GetResults()[0].GetOutcome().GetUnknown().GetCode(), "handler-lost")
		accepted(report)
		if err := <-agent.ended; !errors.Is(err, drover.ErrHandlerLost) {
			t.Fatalf("Run returned %v", err)
		}
		close(ignore)
	})
}
