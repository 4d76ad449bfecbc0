package drover_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Finished work is retained: the refusal of a whole Complete proves nothing about the results in it.
func TestASuccessIsRepeatedAsItIsAfterACompleteThatWasRefusedAsACall(t *testing.T) {
	cases := []struct {
		code   codes.Code
		reason string
	}{
		{codes.Unauthenticated, "TOKEN_REQUIRED"},
		{codes.PermissionDenied, "NOT_ALLOWED"},
		{codes.PermissionDenied, ""},
		{codes.Unimplemented, ""},
		{codes.ResourceExhausted, ""},
		{codes.NotFound, "NAMESPACE_NOT_FOUND"},
		{codes.InvalidArgument, ""},
		{codes.InvalidArgument, "MALFORMED_MESSAGE"},
	}
	for _, one := range cases {
		inBubble(t, func(t *testing.T, server *script) {
			agent := server.start(drover.WithSlots(1), drover.Handle("book-flight",
				func(context.Context, *drover.Task) (any, error) { return "12A", nil }))
			server.poll.next().answer(tasksOf(aTask("t1")))
			first := server.complete.next()
			refused := first
			for range 3 {
				refused.fail(one.code, one.reason)
				refused = server.complete.next()
				equal(t, fmt.Sprint("results after ", one), fmt.Sprint(refused.request.GetResults()),
					fmt.Sprint(first.request.GetResults()))
			}
			accepted(refused)
			settle(server, agent)
		})
	}
}

func TestAReportOfARefusedCallIsGivenUpWhenTheLeaseOfItsTaskHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.WithSlots(1), drover.Handle("book-flight", nothing))
		server.poll.next().answer(tasksOf(aTask("t1")))
		granted := time.Now()
		for report := server.complete.next(); ; report = server.complete.next() {
			if tokensOf(report.request.GetResults())[0] == "t2" {
				accepted(report)
				break
			}
			late := time.Since(granted) >= 9*time.Second
			report.fail(codes.Unauthenticated, "TOKEN_REQUIRED")
			if late {
				server.poll.next().answer(tasksOf(aTask("t2")))
			}
		}
		settle(server, agent)
	})
}

func TestReportsOfARefusedCallAreRepeatedAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		end := make(chan struct{})
		agent := server.start(drover.WithSlots(3), drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				if task.StepID != "t0" {
					<-end
				}
				return nil, nil
			}))
		server.poll.next().answer(tasksOf(aTask("t0"), aTask("t1"), aTask("t2")))
		first := server.complete.next()
		close(end)
		synctest.Wait()
		accepted(first)
		both := server.complete.next()
		equal(t, "results", len(both.request.GetResults()), 2)
		started := time.Now()
		both.fail(codes.ResourceExhausted, "")
		alone, other := server.complete.next(), server.complete.next()
		if waited := time.Since(started); waited < 50*time.Millisecond {
			t.Fatalf("the repeat came after %s", waited)
		}
		equal(t, "results", len(alone.request.GetResults()), 1)
		equal(t, "results", len(other.request.GetResults()), 1)
		accepted(alone)
		accepted(other)
		settle(server, agent)
	})
}

func TestAnAgentThatStopsRetainsItsReportsAsLongAsTheirLeasesLast(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		server.heartbeat.always(func(call *heartbeatCall) {
			answer := &droverpb.HeartbeatResponse{}
			for range call.request.GetReports() {
				answer.Answers = append(answer.Answers, carryOn())
			}
			call.answer(answer)
		})
		agent := server.start(drover.WithSlots(1), drover.Handle("book-flight", nothing))
		server.poll.next().answer(tasksOf(aTask("t1")))
		report := server.complete.next()
		first := fmt.Sprint(report.request.GetResults())
		agent.stop()
		started := time.Now()
		// Longer than the lease was at first: heartbeats renew it.
		for time.Since(started) < 30*time.Second {
			report.fail(codes.Unimplemented, "")
			report = server.complete.next()
			equal(t, "results", fmt.Sprint(report.request.GetResults()), first)
		}
		accepted(report)
		equal(t, "what Run returns", <-agent.ended, nil)
	})
}

func TestAnAgentThatStopsGivesItsReportsUpWhenTheirLeasesHaveEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.WithSlots(1), drover.Handle("book-flight", nothing))
		server.poll.next().answer(tasksOf(aTask("t1", func(task *droverpb.Task) {
			task.LeaseFor = durationpb.New(time.Minute)
			task.HeartbeatInterval = durationpb.New(time.Minute)
		})))
		granted := time.Now()
		first := server.complete.next()
		server.complete.always(func(call *completeCall) { call.fail(codes.Unavailable, "") })
		first.fail(codes.Unavailable, "")
		agent.stop()
		equal(t, "what Run returns", <-agent.ended, nil)
		// The polls that its reports carried are named as lost before it goes.
		if took := time.Since(granted); took < time.Minute || took > 70*time.Second {
			t.Fatalf("it stopped after %s", took)
		}
	})
}

func TestAPollThatRodeOnAReportWhichFoundTheQueueFullIsNamedAsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.WithSlots(1), drover.Handle("book-flight", nothing))
		server.poll.next().answer(tasksOf(aTask("t1")))
		report := server.complete.next()
		equal(t, "carried poll", report.request.GetNext().GetPollSeq(), 2)
		report.fail(codes.ResourceExhausted, "OVERLOADED", time.Millisecond)
		equal(t, "lost", server.poll.next().request.GetLostPolls(), []uint64{2})
		settle(server, agent)
	})
}

func TestAPollWhoseAnswerTheClientsOwnLibraryRefusesIsNamedAsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.Handle("book-flight", nothing))
		// As gRPC reports an answer over its receive limit: without an error of the server.
		server.poll.next().fail(codes.ResourceExhausted, "")
		equal(t, "lost", server.poll.next().request.GetLostPolls(), []uint64{1})
		settle(server, agent)
	})
}
