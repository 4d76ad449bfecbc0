package drover_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

func stored(task *droverpb.Task) { task.StoreLogs = true }

// aTaskThatLogs is performed by an agent, and its report is accepted.
func aTaskThatLogs(server *script, write func(*slog.Logger),
	options ...drover.AgentOption) *running {
	options = append(options, drover.WithSlots(1), drover.Handle("book-flight",
		func(_ context.Context, task *drover.Task) (any, error) {
			write(task.Log())
			return nil, nil
		}))
	agent := server.start(options...)
	server.poll.next().answer(tasksOf(aTask("t1", stored)))
	accepted(server.complete.next())
	return agent
}

// taken answers that all lines of the call are stored.
func taken(call *logsCall) {
	answer := &droverpb.AppendLogsResponse{}
	for range call.request.GetLogs() {
		answer.Answers = append(answer.Answers, &droverpb.AppendLogsAnswer{})
	}
	call.answer(answer)
}

func messagesOf(call *logsCall) (messages []string) {
	for _, log := range call.request.GetLogs() {
		for _, line := range log.GetLines() {
			messages = append(messages, line.GetMessage())
		}
	}
	return messages
}

func TestLinesAreSentAfterASecondWithLevelAndFieldsAndTheReportDoesNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		started := time.Now()
		agent := aTaskThatLogs(server, func(log *slog.Logger) {
			log.Info("asked the bank", "card", 42)
			log.With("bank", "b").WithGroup("answer").Warn("it is slow", "err", errors.New("busy"))
			log.Error("refused", slog.Group("card", "number", 7, slog.Group("of", "owner", "ada")))
		}, drover.WithNamespace("travel"))
		equal(t, "waited for the report", time.Since(started), 0)
		call := server.logs.next()
		equal(t, "waited for the lines", time.Since(started), time.Second)
		equal(t, "namespace", call.request.GetNamespace(), "travel")
		equal(t, "agent", call.request.GetAgent().GetId(), "an-agent")
		equal(t, "tasks", len(call.request.GetLogs()), 1)
		log := call.request.GetLogs()[0]
		equal(t, "token", log.GetTaskToken(), "t1")
		equal(t, "first line", log.GetFirstLine(), 1)
		var lines []string
		for _, line := range log.GetLines() {
			equal(t, "time", line.GetTime().AsTime().Equal(started), true)
			lines = append(lines, fmt.Sprint(line.GetLevel(), " ", line.GetMessage(), " ",
				line.GetFields()))
		}
		equal(t, "lines", strings.Join(lines, "\n"), strings.Join([]string{
			"LOG_LEVEL_INFO asked the bank map[card:42]",
			"LOG_LEVEL_WARN it is slow map[answer.err:busy bank:b]",
			"LOG_LEVEL_ERROR refused map[card.number:7 card.of.owner:ada]",
		}, "\n"))
		taken(call)
		settle(server, agent)
		equal(t, "further calls", len(server.logs.calls), 0)
	})
}

func TestLinesOfEveryLevelAreSentAndTheProcessLogsThoseOfItsOwnLevel(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		var written strings.Builder
		agent := aTaskThatLogs(server, func(log *slog.Logger) {
			log.Debug("in detail")
			log.Info("in short")
		}, drover.WithLog(slog.New(slog.NewTextHandler(&written, nil))))
		call := server.logs.next()
		equal(t, "level", call.request.GetLogs()[0].GetLines()[0].GetLevel(),
			droverpb.LogLevel_LOG_LEVEL_DEBUG)
		equal(t, "lines", messagesOf(call), []string{"in detail", "in short"})
		taken(call)
		settle(server, agent)
		equal(t, "in short", strings.Contains(written.String(),
			`msg="in short" run=run-1 step=t1 attempt=1`), true)
		equal(t, "in detail", strings.Contains(written.String(), "in detail"), false)
	})
}

func TestAnErrorThatAHandlerDidNotNameIsALineOfItsTask(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.Handle("book-flight",
			func(context.Context, *drover.Task) (any, error) { return nil, errors.New("closed") }))
		server.poll.next().answer(tasksOf(aTask("t1", stored)))
		accepted(server.complete.next())
		call := server.logs.next()
		line := call.request.GetLogs()[0].GetLines()[0]
		equal(t, "message", line.GetMessage(), "handler returned an error that it did not name")
		equal(t, "fields", line.GetFields(), map[string]string{"task": "book-flight", "error": "closed"})
		taken(call)
		settle(server, agent)
	})
}

func TestNothingIsSentOfATaskThatSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := server.start(drover.WithSlots(2), drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				task.Log().Info("of " + task.StepID)
				return nil, nil
			}))
		server.poll.next().answer(tasksOf(aTask("quiet"), aTask("loud", stored)))
		server.complete.always(func(call *completeCall) { accepted(call) })
		call := server.logs.next()
		equal(t, "lines", messagesOf(call), []string{"of loud"})
		taken(call)
		settle(server, agent)
		equal(t, "further calls", len(server.logs.calls), 0)
	})
}

func TestAFailedCallIsRepeatedWithTheSameLinesFiveTimesAndWhatIsGivenUpIsCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		var written strings.Builder
		lines := make(chan string)
		agent := server.start(drover.WithSlots(1), drover.Handle("book-flight",
			func(_ context.Context, task *drover.Task) (any, error) {
				for text := range lines {
					task.Log().Info(text)
				}
				return nil, nil
			}), drover.WithLog(slog.New(slog.NewTextHandler(&written, nil))))
		server.heartbeat.always(func(call *heartbeatCall) { call.answer(heartbeatAnswer(carryOn())) })
		server.poll.next().answer(tasksOf(aTask("t1", stored)))
		lines <- "one"
		lines <- "two"
		for range 5 {
			call := server.logs.next()
			equal(t, "first line", call.request.GetLogs()[0].GetFirstLine(), 1)
			equal(t, "lines", messagesOf(call), []string{"one", "two"})
			call.fail(codes.Unavailable, "")
		}
		synctest.Wait()
		equal(t, "the log says so", strings.Contains(written.String(),
			`msg="log lines were not stored" lines=2 tasks=1`), true)
		lines <- "three"
		call := server.logs.next()
		equal(t, "first line", call.request.GetLogs()[0].GetFirstLine(), 3)
		equal(t, "lines", messagesOf(call), []string{"2 lines were not stored", "three"})
		taken(call)
		close(lines)
		accepted(server.complete.next())
		settle(server, agent)
	})
}

func TestSixteenKiBAreSentAtOnceAndBeyondTwoHundredAndFiftySixLinesAreCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		started := time.Now()
		agent := aTaskThatLogs(server, func(log *slog.Logger) {
			// With what a line takes beside its text, 256 of these are 256 KiB.
			for range 260 {
				log.Info(strings.Repeat("x", 1024-64))
			}
			// The first call is under way by then, with what had come before.
			synctest.Wait()
			log.Info("no room")
		})
		first := server.logs.next()
		equal(t, "waited", time.Since(started) < time.Second, true)
		// They leave the process when they are answered, and not before.
		taken(first)
		second := server.logs.next()
		all := append(messagesOf(first), messagesOf(second)...)
		equal(t, "lines", len(all), 257)
		equal(t, "last", all[256], "5 lines were not stored")
		equal(t, "numbers", second.request.GetLogs()[0].GetFirstLine(),
			uint32(1+len(messagesOf(first))))
		taken(second)
		settle(server, agent)
	})
}

func TestATaskWhoseLogIsFullOrRefusedSendsNoFurtherLine(t *testing.T) {
	for name, answer := range map[string]*droverpb.AppendLogsAnswer{
		"full":    {Full: true},
		"refused": {Status: statusOf(codes.FailedPrecondition, "TASK_OVER")},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *script) {
				proceed := make(chan struct{})
				agent := server.start(drover.WithSlots(1), drover.Handle("book-flight",
					func(_ context.Context, task *drover.Task) (any, error) {
						task.Log().Info("one")
						<-proceed
						task.Log().Info("two")
						return nil, nil
					}))
				server.poll.next().answer(tasksOf(aTask("t1", stored)))
				answers := []*droverpb.AppendLogsAnswer{answer}
				server.logs.next().answer(&droverpb.AppendLogsResponse{Answers: answers})
				synctest.Wait()
				close(proceed)
				accepted(server.complete.next())
				settle(server, agent)
				equal(t, "further calls", len(server.logs.calls), 0)
			})
		})
	}
}

func TestAnAgentThatStopsSendsTheLinesThatWaitForTwoSecondsAtMost(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		var written strings.Builder
		agent := aTaskThatLogs(server, func(log *slog.Logger) { log.Info("the last line") },
			drover.WithLog(slog.New(slog.NewTextHandler(&written, nil))))
		// It names the poll that it gives up.
		server.heartbeat.always(func(call *heartbeatCall) { call.answer(heartbeatAnswer()) })
		agent.stop()
		started := time.Now()
		equal(t, "lines", messagesOf(server.logs.next()), []string{"the last line"})
		equal(t, "error", <-agent.ended, nil)
		equal(t, "waited", time.Since(started), 2*time.Second)
		equal(t, "the log says so", strings.Contains(written.String(),
			`msg="agent stops with log lines that were not stored" lines=1`), true)
	})
}

func TestALineFitsIntoTheLimitsOfTheContract(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		agent := aTaskThatLogs(server, func(log *slog.Logger) {
			many := []any{}
			for number := range 20 {
				many = append(many, fmt.Sprint("n", number), number)
			}
			log.Info("a\x00b \xff", many...)
			log.Info("", "", "no key")
			log.Info(strings.Repeat("ä", 20_000), strings.Repeat("ä", 33), strings.Repeat("€", 100))
		})
		call := server.logs.next()
		lines := call.request.GetLogs()[0].GetLines()
		equal(t, "tidy", lines[0].GetMessage(), "a b \uFFFD")
		equal(t, "fields", len(lines[0].GetFields()), 16)
		equal(t, "no key", fmt.Sprint(lines[1].GetFields()), "map[-:no key]")
		equal(t, "long", lines[2].GetMessage(), strings.Repeat("ä", 16_384))
		equal(t, "long fields", len(lines[2].GetFields()), 1)
		for key, value := range lines[2].GetFields() {
			equal(t, "key", key, strings.Repeat("ä", 32))
			equal(t, "value", value, strings.Repeat("€", 85))
		}
		taken(call)
		settle(server, agent)
	})
}
