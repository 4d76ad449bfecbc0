package drover_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

func nothing(context.Context, *drover.Task) (any, error) { return nil, nil }

// settle answers what is left, and ends the agent.
func settle(server *script, agent *running) {
	working{agent: agent, end: make(chan any, 1)}.finish(server)
}

func TestAnAgentPollsWithItsNameSessionQueuesAndTasksAndADeadlineBeyondItsWait(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.WithNamespace("travel"), drover.WithVersion("1.2"),
			drover.WithQueue("planes", 3), drover.WithSlots(7), drover.Handle("book-flight", nothing),
			drover.Handle("cancel-flight", nothing), drover.WithPollWait(20*time.Second))
		poll := server.poll.next()
		request := poll.request
		equal(t, "namespace", request.GetNamespace(), "travel")
		equal(t, "id", request.GetAgent().GetId(), "an-agent")
		equal(t, "version", request.GetAgent().GetVersion(), "1.2")
		equal(t, "session", len(request.GetAgent().GetSession()), 16)
		equal(t, "number", request.GetPollSeq(), 1)
		equal(t, "queue", request.GetQueues()[0].GetName(), "planes")
		equal(t, "weight", request.GetQueues()[0].GetWeight(), 3)
		equal(t, "tasks", request.GetTasks(), []string{"book-flight", "cancel-flight"})
		equal(t, "most", request.GetMaxTasks(), 7)
		host, _ := os.Hostname()
		equal(t, "host", request.GetProcess().GetHost(), host)
		equal(t, "process", request.GetProcess().GetPid(), int32(os.Getpid()))
		equal(t, "capacity", request.GetProcess().GetCapacity(), 7)
		equal(t, "age", request.GetProcess().GetRunningFor() != nil, true)
		equal(t, "clock", request.GetProcess().GetClockTime().AsTime(), time.Now().UTC())
		wait := request.GetWait().AsDuration()
		if wait < 16*time.Second || wait > 20*time.Second {
			t.Fatalf("it waits for %s", wait)
		}
		deadline, _ := poll.ctx.Deadline()
		equal(t, "deadline", time.Until(deadline), wait+10*time.Second)
		settle(server, agent)
	})
}

func TestALostPollIsNamedUntilHalfAMinuteAfterTheEndOfItsWait(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.Handle("book-flight", nothing), drover.WithPollWait(20*time.Second))
		first := server.poll.next()
		sent := time.Now()
		wait := first.request.GetWait().AsDuration()
		first.fail(codes.Unavailable, "")
		second := server.poll.next()
		equal(t, "number", second.request.GetPollSeq(), 2)
		equal(t, "lost", second.request.GetLostPolls(), []uint64{1})
		time.Sleep(time.Until(sent.Add(wait + 30*time.Second - 2*time.Millisecond)))
		third := server.poll.next()
		equal(t, "lost", slices.Contains(third.request.GetLostPolls(), 1), true)
		time.Sleep(time.Second)
		third.answer(tasksOf())
		equal(t, "lost", slices.Contains(server.poll.next().request.GetLostPolls(), 1), false)
		settle(server, agent)
	})
}

func TestALostPollIsNamedInHeartbeatsToo(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		end := make(chan struct{})
		agent := server.start(drover.WithSlots(1), drover.Handle("book-flight",
			func(context.Context, *drover.Task) (any, error) { <-end; return nil, nil }))
		server.poll.next().fail(codes.Unavailable, "")
		server.poll.next().answer(tasksOf(aTask("t1")))
		equal(t, "lost", server.heartbeat.next().request.GetLostPolls(), []uint64{1})
		close(end)
		settle(server, agent)
	})
}

func TestAHeartbeatListsAllThatThePollsBeforeTheOneUnderWayHaveBrought(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		end := make(chan struct{})
		agent := server.start(drover.WithSlots(2), drover.Handle("book-flight",
			func(context.Context, *drover.Task) (any, error) { <-end; return nil, nil }))
		server.poll.next().answer(tasksOf(aTask("t1")))
		second := server.poll.next()
		heartbeat := server.heartbeat.next()
		equal(t, "lists all to", heartbeat.request.GetListsAllTo(), 1)
		equal(t, "reports", len(heartbeat.request.GetReports()), 1)
		heartbeat.answer(heartbeatAnswer(carryOn()))
		second.answer(tasksOf(aTask("t2")))
		heartbeat = server.heartbeat.next()
		equal(t, "lists all to", heartbeat.request.GetListsAllTo(), 2)
		equal(t, "first", heartbeat.request.GetReports()[0].GetTaskToken(), "t1")
		equal(t, "second", heartbeat.request.GetReports()[1].GetTaskToken(), "t2")
		close(end)
		settle(server, agent)
	})
}

func TestAPollThatTheServerItselfRefusedIsNotNamedAsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.Handle("book-flight", nothing))
		server.poll.next().fail(codes.NotFound, "NAMESPACE_NOT_FOUND")
		equal(t, "lost", len(server.poll.next().request.GetLostPolls()), 0)
		settle(server, agent)
	})
}

func TestABusyServerIsAskedAgainAfterTheTimeThatItNames(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.Handle("book-flight", nothing))
		server.poll.next().fail(codes.ResourceExhausted, "OVERLOADED", 4*time.Second)
		refused := time.Now()
		equal(t, "lost", len(server.poll.next().request.GetLostPolls()), 0)
		equal(t, "wait", time.Since(refused), 4*time.Second)
		settle(server, agent)
	})
}

func TestABusyAgentTakesItsNextTaskWithTheReportOfTheLast(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.WithSlots(1), drover.Handle("book-flight", nothing))
		server.poll.next().answer(tasksOf(aTask("t1")))
		for _, token := range []string{"t2", "t3"} {
			report := server.complete.next()
			equal(t, "asks for", report.request.GetNext().GetMaxTasks(), 1)
			accepted(report, aTask(token))
		}
		last := server.complete.next()
		equal(t, "number", last.request.GetNext().GetPollSeq(), 4)
		equal(t, "polls of its own", len(server.poll.calls), 0)
		accepted(last)
		equal(t, "number", server.poll.next().request.GetPollSeq(), 5)
		settle(server, agent)
	})
}

func TestAReportIsRepeatedWithTheVerySameOutcomeUntilItIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.WithSlots(1), drover.Handle("book-flight",
			func(context.Context, *drover.Task) (any, error) {
				return map[string]string{"seat": "12A"}, nil
			}))
		server.poll.next().answer(tasksOf(aTask("t1")))
		first := server.complete.next()
		equal(t, "carried poll", first.request.GetNext().GetPollSeq(), 2)
		first.fail(codes.Unavailable, "STORE_UNAVAILABLE")
		// The poll that it carried is lost, and the slot is polled for at once.
		poll := server.poll.next()
		equal(t, "lost", slices.Contains(poll.request.GetLostPolls(), 2), true)
		second := server.complete.next()
		equal(t, "results", fmt.Sprint(second.request.GetResults()), fmt.Sprint(first.request.GetResults()))
		accepted(second)
		settle(server, agent)
	})
}

func TestAnOutputThatTheServerRefusesIsReportedAsASuccessWhoseOutputIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.WithSlots(1), drover.Handle("book-flight",
			func(context.Context, *drover.Task) (any, error) { return "far too long", nil }))
		server.poll.next().answer(tasksOf(aTask("t1")))
		refusal := statusOf(codes.InvalidArgument, "PAYLOAD_TOO_LARGE")
		server.complete.next().answer(&droverpb.CompleteResponse{
			Answers: []*droverpb.CompleteAnswer{{Status: refusal}},
		})
		second := server.complete.next()
		success := second.request.GetResults()[0].GetOutcome().GetSuccess()
		equal(t, "problem", success.GetOutputProblem(),
			"The output was refused: PAYLOAD_TOO_LARGE by the script")
		accepted(second)
		settle(server, agent)
	})
}

func TestAReportThatComesTooLateOrIsOverIsDropped(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.WithSlots(2), drover.Handle("book-flight", nothing))
		server.complete.always(func(call *completeCall) {
			answer := &droverpb.CompleteResponse{}
			for range call.request.GetResults() {
				late := statusOf(codes.FailedPrecondition, "LEASE_LOST")
				answer.Answers = append(answer.Answers, &droverpb.CompleteAnswer{Status: late})
			}
			call.answer(answer)
		})
		server.poll.next().answer(tasksOf(aTask("t1"), aTask("t2")))
		for most := int32(0); most < 2; {
			poll := server.poll.next()
			most = poll.request.GetMaxTasks()
			poll.answer(tasksOf())
		}
		settle(server, agent)
	})
}

func TestALonelyReportGoesOutAtOnceAndWhatEndsMeanwhileGoesWithTheNextCall(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		end := make(chan struct{})
		agent := server.start(drover.WithSlots(100), drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				if task.StepID != "t0" {
					<-end
				}
				return nil, nil
			}))
		var tasks []*droverpb.Task
		for number := range 40 {
			tasks = append(tasks, aTask(fmt.Sprintf("t%d", number)))
		}
		server.poll.next().answer(tasksOf(tasks...))
		started := time.Now()
		alone := server.complete.next()
		equal(t, "tokens", tokensOf(alone.request.GetResults()), []string{"t0"})
		equal(t, "after", time.Since(started), 0)
		close(end)
		synctest.Wait()
		accepted(alone)
		gathered := server.complete.next()
		equal(t, "results", len(gathered.request.GetResults()), 39)
		equal(t, "after", time.Since(started), 0)
		accepted(gathered)
		settle(server, agent)
	})
}

func TestACallThatIsNotAnsweredForAQuarterOfASecondHoldsUpNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		end := make(chan struct{})
		agent := server.start(drover.WithSlots(2), drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				if task.StepID != "t0" {
					<-end
				}
				return nil, nil
			}))
		server.poll.next().answer(tasksOf(aTask("t0"), aTask("t1")))
		started := time.Now()
		slow := server.complete.next()
		close(end)
		next := server.complete.next()
		equal(t, "tokens", tokensOf(next.request.GetResults()), []string{"t1"})
		equal(t, "after", time.Since(started), 250*time.Millisecond)
		accepted(next)
		accepted(slow)
		settle(server, agent)
	})
}

func TestAnIdleAgentHasOnePollAndABusyOneAnotherThatRidesWithItsReports(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		end := make(chan struct{})
		agent := server.start(drover.WithSlots(10), drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				if task.StepID != "t1" {
					<-end
				}
				return nil, nil
			}))
		idle := server.poll.next()
		equal(t, "idle", idle.request.GetMaxTasks(), 10)
		synctest.Wait()
		equal(t, "other polls", len(server.poll.calls), 0)
		idle.answer(tasksOf(aTask("t1"), aTask("t2")))
		own, report := server.poll.next(), server.complete.next()
		equal(t, "slots", own.request.GetMaxTasks()+report.request.GetNext().GetMaxTasks(), 9)
		equal(t, "carried poll", report.request.GetNext().GetMaxTasks() > 0, true)
		// The one is answered, and the other waits.
		accepted(report, aTask("t3"))
		own.answer(tasksOf(aTask("t4")))
		equal(t, "next", server.poll.next().request.GetMaxTasks(), 7)
		close(end)
		settle(server, agent)
	})
}

func TestTheLongPollHasOneOfSeveralSlotsThatReportsMakeFree(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		end := make(chan struct{})
		agent := server.start(drover.WithSlots(4), drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				if task.StepID != "t0" {
					<-end
				}
				return nil, nil
			}))
		tasks := []*droverpb.Task{aTask("t0"), aTask("t1"), aTask("t2"), aTask("t3")}
		server.poll.next().answer(tasksOf(tasks...))
		// The slot of the first report is for the poll that its call carries.
		first := server.complete.next()
		equal(t, "carried poll", first.request.GetNext().GetMaxTasks(), 1)
		close(end)
		own := server.poll.next()
		synctest.Wait()
		accepted(first)
		report := server.complete.next()
		equal(t, "results", len(report.request.GetResults()), 3)
		asked := own.request.GetMaxTasks() + report.request.GetNext().GetMaxTasks()
		equal(t, "slots", asked, 4)
		accepted(report)
		settle(server, agent)
	})
}

func TestPollsUnderWayNeverAskForMoreTasksTogetherThanThereAreFreeSlots(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		const slots = 4
		var mu sync.Mutex
		asked, taken, most, given := 0, 0, 0, 0
		// Tasks for a poll, some time after it came.
		tasksFor := func(wanted int) (tasks []*droverpb.Task) {
			mu.Lock()
			asked += wanted
			most = max(most, asked+taken)
			pause := given % 3
			mu.Unlock()
			time.Sleep(time.Duration(pause) * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			asked -= wanted
			for range min(wanted, 1+given%3) {
				taken++
				given++
				tasks = append(tasks, aTask(strings.Repeat("t", 1+given%5)))
			}
			return tasks
		}
		// Set before the agent starts: its first poll comes at once.
		server.heartbeat.always(func(call *heartbeatCall) { call.answer(heartbeatAnswer()) })
		server.poll.always(func(call *pollCall) {
			call.answer(tasksOf(tasksFor(int(call.request.GetMaxTasks()))...))
		})
		server.complete.always(func(call *completeCall) {
			accepted(call, tasksFor(int(call.request.GetNext().GetMaxTasks()))...)
		})
		agent := server.start(drover.WithSlots(slots), drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				time.Sleep(time.Duration(len(task.StepID)) * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				taken--
				return nil, nil
			}))
		time.Sleep(2 * time.Second)
		agent.stop()
		equal(t, "what Run returns", <-agent.ended, nil)
		mu.Lock()
		defer mu.Unlock()
		equal(t, "many tasks", given > 300, true)
		equal(t, "most", most, slots)
	})
}

func TestOneReportThatSpoilsAWholeCallIsFoundBySendingEachAlone(t *testing.T) {
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
		both.reply <- refusedField(codes.InvalidArgument, "INVALID_REQUEST", "results[1].outcome")
		alone := server.complete.next()
		equal(t, "results", len(alone.request.GetResults()), 1)
		accepted(alone)
		settle(server, agent)
	})
}

func TestAStopCancelsThePollNamesItAsLostAndEndsTheAgent(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.Handle("book-flight", nothing))
		poll := server.poll.next()
		agent.stop()
		farewell := server.heartbeat.next()
		equal(t, "lost", farewell.request.GetLostPolls(), []uint64{1})
		if poll.ctx.Err() == nil {
			t.Fatal("the poll was not cancelled")
		}
		farewell.answer(heartbeatAnswer())
		farewell = server.heartbeat.next()
		farewell.answer(heartbeatAnswer())
		equal(t, "what Run returns", <-agent.ended, nil)
	})
}

func TestAStopLetsTheRunningTaskFinishAndReleasesOneThatArrivesMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		end := make(chan struct{})
		agent := server.start(drover.WithSlots(2), drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				if task.StepID == "t2" {
					<-end
				}
				return "finished", nil
			}))
		server.heartbeat.always(func(call *heartbeatCall) {
			answer := heartbeatAnswer()
			for range call.request.GetReports() {
				answer.Answers = append(answer.Answers, carryOn())
			}
			call.answer(answer)
		})
		server.poll.next().answer(tasksOf(aTask("t1"), aTask("t2")))
		// The report of t1 is under way, with a poll on it, when the agent is stopped.
		report := server.complete.next()
		equal(t, "carried poll", report.request.GetNext().GetMaxTasks(), 1)
		agent.stop()
		time.Sleep(time.Second)
		accepted(report, aTask("t3"))
		released := server.complete.next()
		equal(t, "tokens", tokensOf(released.request.GetResults()), []string{"t3"})
		if released.request.GetResults()[0].GetOutcome().GetReleased() == nil {
			t.Fatalf("t3 is reported as %v", released.request)
		}
		equal(t, "carried poll", released.request.GetNext() == nil, true)
		accepted(released)
		close(end)
		last := server.complete.next()
		equal(t, "output", last.request.GetResults()[0].GetOutcome().GetSuccess().GetOutput().GetJson(),
			`"finished"`)
		accepted(last)
		equal(t, "what Run returns", <-agent.ended, nil)
	})
}

func TestAHandlerThatDoesNotFinishWithinTheGraceIsStoppedAndReportedUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		server.heartbeat.always(func(call *heartbeatCall) {
			call.answer(heartbeatAnswer(carryOn()))
		})
		work := aRunningTask(server, 0)
		work.agent.stop()
		stopped := time.Now()
		report := server.complete.next()
		equal(t, "time", time.Since(stopped), 15*time.Second)
		equal(t, "kind", stopKind(work.ctx), drover.StopAgent)
		outcome := report.request.GetResults()[0].GetOutcome()
		equal(t, "code", outcome.GetUnknown().GetCode(), "agent-stopped")
		accepted(report)
		equal(t, "what Run returns", <-work.agent.ended, nil)
	})
}

func TestATaskOfAKindThatThisAgentDoesNotKnowIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.Handle("book-flight", nothing))
		server.poll.next().answer(tasksOf(aTask("t1", func(task *droverpb.Task) { task.Kind = 99 })))
		report := server.complete.next()
		if report.request.GetResults()[0].GetOutcome().GetReleased() == nil {
			t.Fatalf("it is reported as %v", report.request)
		}
		accepted(report)
		settle(server, agent)
	})
}

func TestTheLogOfAHandlerHasRunStepAndAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		var written strings.Builder
		agent := server.start(drover.WithLog(slog.New(slog.NewTextHandler(&written, nil))),
			drover.Handle("book-flight", func(_ context.Context, task *drover.Task) (any, error) {
				task.Log().Info("booked")
				return nil, nil
			}))
		server.poll.next().answer(tasksOf(aTask("t1")))
		accepted(server.complete.next())
		settle(server, agent)
		if !strings.Contains(written.String(), "msg=booked run=run-1 step=t1 attempt=1") {
			t.Fatalf("the log has %s", written.String())
		}
	})
}

func TestWrongSettingsAreRefusedAtOnceWithTheValue(t *testing.T) {
	handle := drover.Handle("book-flight", nothing)
	cases := map[string][]drover.AgentOption{
		"number of handlers is 0":        {},
		`two handlers`:                   {handle, handle},
		`name of a handler is "a b"`:     {drover.Handle("a b", nothing)},
		"number of slots is 0":           {handle, drover.WithSlots(0)},
		"poll wait is 2m0s":              {handle, drover.WithPollWait(2 * time.Minute)},
		"weight of queue q is 0":         {handle, drover.WithQueue("q", 0)},
		`namespace is "über"`:            {handle, drover.WithNamespace("über")},
		"in plain text, for all to read": {handle, drover.WithToken("secret")},
	}
	for text, options := range cases {
		_, err := drover.NewAgent("drover.example.com:7420", "a", options...)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if _, err := drover.NewAgent("nowhere", "a", handle); err == nil {
		t.Error("an address without a port is taken")
	}
}

func TestWhatAHandlerReturnsDecidesHowItEnded(t *testing.T) {
	broken := errors.New("a pipe broke")
	cases := []struct {
		result any
		err    error
		want   string
	}{
		{nil, nil, "success:{}"},
		{map[string]int{"n": 1}, nil, `{"n":1}`},
		{"<ü>", nil, `<ü>`},
		{func() {}, nil, `output_problem:"The handler's result cannot be sent`},
		{strings.Repeat("x", 2*1024*1024), nil, `output_problem:"The output has 2097154 bytes`},
		{drover.Deferred(), nil, "deferred"},
		{drover.Again(0), nil, "nanos:1000000"},
		{nil, drover.Transient("busy", "b", drover.RetryAfter(3*time.Second)), "retry_after:{seconds:3}"},
		{nil, drover.Permanent("gone", "g", drover.NoEffect()), "no_effect:true"},
		{nil, fmt.Errorf("while booking: %w", drover.Permanent("gone", "g")), `code:"gone"`},
		{nil, drover.Unknown("broken", "b", drover.CausedBy(broken)), `unknown:{code:"broken"`},
		{nil, drover.Transient("drover.lost", "b"), `code:"drover-lost"`},
		{nil, broken, `code:"unexpected-error"`},
		{nil, drover.Cancelled(), "cancelled"},
	}
	for _, one := range cases {
		inBubble(t, func(t *testing.T, server *script) {
			agent := server.start(drover.Handle("book-flight",
				func(context.Context, *drover.Task) (any, error) { return one.result, one.err }))
			server.poll.next().answer(tasksOf(aTask("t1")))
			report := server.complete.next()
			got := fmt.Sprint(report.request.GetResults()[0].GetOutcome())
			// The text form of a message has one space or two, so that no program relies on it.
			if !strings.Contains(strings.ReplaceAll(unquoted(got), "  ", " "), one.want) {
				t.Errorf("got %s, want %s", got, one.want)
			}
			accepted(report)
			settle(server, agent)
		})
	}
	if !errors.Is(drover.Unknown("broken", "b", drover.CausedBy(broken)), broken) {
		t.Error("the cause is lost")
	}
}

func unquoted(text string) string { return strings.ReplaceAll(text, `\"`, `"`) }

func TestAPanicOfAHandlerCostsOneAttemptAndNotTheAgent(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		var written strings.Builder
		log := drover.WithLog(slog.New(slog.NewTextHandler(&written, nil)))
		agent := server.start(log, drover.WithSlots(1), drover.Handle("book-flight",
			func(context.Context, *drover.Task) (any, error) { panic("no plane") }))
		server.poll.next().answer(tasksOf(aTask("t1")))
		report := server.complete.next()
		outcome := report.request.GetResults()[0].GetOutcome().GetUnknown()
		equal(t, "code", outcome.GetCode(), "unexpected-error")
		equal(t, "message", outcome.GetMessage(), "panic: no plane")
		accepted(report)
		settle(server, agent)
		for _, part := range []string{"handler panicked", `error="panic: no plane"`, "calls_test.go"} {
			equal(t, part, strings.Count(written.String(), part) > 0, true)
		}
	})
}
