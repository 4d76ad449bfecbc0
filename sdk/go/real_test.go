package drover_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
	"github.com/drover-dev/drover/sdk/go/examples/aesgcm"
	"github.com/drover-dev/drover/sdk/go/workflow"
)

// Against a real server, whose address is in DROVER_TEST_ADDRESS: `drover dev` will do.
func realServer(t *testing.T) string {
	t.Helper()
	address := os.Getenv("DROVER_TEST_ADDRESS")
	if address == "" {
		t.Skip("DROVER_TEST_ADDRESS names no server: start `drover dev`, or run npm test")
	}
	return address
}

func realClient(t *testing.T, options ...drover.ClientOption) *drover.Client {
	t.Helper()
	client, err := drover.NewClient(realServer(t), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// realAgent serves the queue of the test's name until the test ends.
func realAgent(t *testing.T, options ...drover.AgentOption) {
	t.Helper()
	options = append(options, drover.WithQueue(queueOf(t), 1), drover.WithPollWait(5*time.Second),
		drover.WithLog(slog.New(slog.NewTextHandler(t.Output(), nil))))
	agent, err := drover.NewAgent(realServer(t), "go-agent", options...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func queueOf(t *testing.T) string { return strings.ReplaceAll(t.Name(), "/", "-") }

// started is a run of a workflow of its own.
func started(t *testing.T, client *drover.Client, input any, steps ...workflow.Step) drover.RunID {
	t.Helper()
	definition, err := workflow.Workflow{Name: queueOf(t), Steps: steps}.Definition()
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.Schedule(t.Context(), drover.Start{Definition: definition, Input: input})
	if err != nil {
		t.Fatal(err)
	}
	return made.RunID
}

func ended(t *testing.T, client *drover.Client, run drover.RunID, want droverpb.RunState) *droverpb.GetRunResponse {
	t.Helper()
	if _, err := client.WaitRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	answer, err := client.GetRun(t.Context(), run, drover.Everything)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "state", answer.GetRun().GetState(), want)
	return answer
}

func stepOf(t *testing.T, id, task string) workflow.Step {
	t.Helper()
	soon := []workflow.Retry{{Initial: 10 * time.Millisecond}}
	return workflow.Step{ID: id, Do: workflow.Task{Name: task, Queue: queueOf(t)}, Retry: soon}
}

func TestARunIsPerformedRetriedAndUndone(t *testing.T) {
	client := realClient(t)
	realAgent(t,
		drover.Handle("book", func(_ context.Context, task *drover.Task) (any, error) {
			var input struct{ To string }
			if err := task.Input(&input); err != nil {
				return nil, err
			}
			if task.Attempt < 2 {
				return nil, drover.Transient("busy", "All lines are busy.")
			}
			return map[string]string{"booking": "to " + input.To}, nil
		}),
		drover.Handle("cancel", func(_ context.Context, task *drover.Task) (any, error) {
			var booked struct{ Booking string }
			found, err := task.Output(&booked)
			return fmt.Sprint(found, " ", booked.Booking, " ", task.EffectKey != ""), err
		}),
		drover.Handle("fail", func(context.Context, *drover.Task) (any, error) {
			return nil, drover.Permanent("no-room", "Full.")
		}))
	flight := stepOf(t, "flight", "book")
	flight.Compensate = &workflow.Compensate{Beside: workflow.Beside{Task: "cancel"}}
	hotel := stepOf(t, "hotel", "fail")
	hotel.Needs = []string{"flight"}
	run := started(t, client, map[string]string{"to": "Lisbon"}, flight, hotel)
	answer := ended(t, client, run, droverpb.RunState_RUN_STATE_COMPENSATED)
	equal(t, "output", answer.GetSteps()[0].GetOutput().GetJson(), `{"booking":"to Lisbon"}`)
	equal(t, "first outcome", answer.GetAttempts()[0].GetFailure().GetCode(), "busy")
	equal(t, "code", answer.GetSteps()[1].GetError().GetCode(), "no-room")
	last := answer.GetAttempts()[len(answer.GetAttempts())-1]
	equal(t, "undone", last.GetOutput().GetJson(), `"true to Lisbon true"`)
}

func TestWorkThatOthersFinish(t *testing.T) {
	client := realClient(t)
	tokens := make(chan string, 1)
	polls := 0
	realAgent(t, drover.WithSlots(1),
		drover.Handle("pack", func(context.Context, *drover.Task) (any, error) {
			polls++
			if polls < 3 {
				return drover.Again(20 * time.Millisecond), nil
			}
			return "packed", nil
		}),
		drover.Handle("ship", func(_ context.Context, task *drover.Task) (any, error) {
			tokens <- task.CallbackToken
			return drover.Deferred(), nil
		}))
	ship := stepOf(t, "ship", "ship")
	ship.Needs = []string{"pack"}
	run := started(t, client, nil,
		workflow.Step{ID: "release", Do: workflow.Approval{Approvers: []string{"finance"}}},
		stepOf(t, "pack", "pack"), ship,
		workflow.Step{ID: "delivered", Do: workflow.Signal{Name: "delivered"}, Needs: []string{"ship"}})
	_, err := client.Decide(t.Context(), run, "release",
		drover.Decision{Approver: "ada", Roles: []string{"finance"}})
	equal(t, "decision", err, nil)
	_, err = client.CompleteDeferred(t.Context(), <-tokens, map[string]string{"parcel": "p-7"})
	equal(t, "deferred", err, nil)
	_, err = client.Signal(t.Context(), run, "delivered", "s-1", "the neighbour")
	equal(t, "signal", err, nil)
	repeated, err := client.Signal(t.Context(), run, "delivered", "s-1", "the neighbour")
	equal(t, "repeated", fmt.Sprint(repeated, err), "true <nil>")
	answer := ended(t, client, run, droverpb.RunState_RUN_STATE_COMPLETED)
	equal(t, "parcel", answer.GetSteps()[2].GetOutput().GetJson(), `{"parcel":"p-7"}`)
	equal(t, "delivered", answer.GetSteps()[3].GetOutput().GetJson(), `"the neighbour"`)
}

func TestTheServerNeverSeesTheClearText(t *testing.T) {
	codec, err := aesgcm.New(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	client := realClient(t, drover.WithCodec(codec))
	realAgent(t, drover.WithCodec(codec), drover.Handle("whisper",
		func(_ context.Context, task *drover.Task) (any, error) {
			var secret string
			err := task.Input(&secret)
			return secret + "!", err
		}))
	run := started(t, client, "a secret", stepOf(t, "whisper", "whisper"))
	answer := ended(t, client, run, droverpb.RunState_RUN_STATE_COMPLETED)
	equal(t, "input", answer.GetRun().GetInput().GetJson(), `"a secret"`)
	equal(t, "output", answer.GetSteps()[0].GetOutput().GetJson(), `"a secret!"`)
	// Without the codec it is what the server has.
	seen, err := realClient(t).GetRun(t.Context(), run)
	equal(t, "error", err, nil)
	for _, payload := range []*droverpb.Payload{
		seen.GetRun().GetInput(), seen.GetSteps()[0].GetOutput(),
	} {
		equal(t, "content type", payload.GetContentType(), aesgcm.ContentType)
		equal(t, "clear", bytes.Contains(payload.GetData(), []byte("secret")), false)
	}
}

func TestAWatchedRunEndsWithItsEnd(t *testing.T) {
	client := realClient(t)
	proceed := make(chan struct{})
	realAgent(t, drover.Handle("wait", func(context.Context, *drover.Task) (any, error) {
		<-proceed
		return nil, nil
	}))
	run := started(t, client, nil, stepOf(t, "a", "wait"))
	var states []droverpb.RunState
	for snapshot, err := range client.WatchRun(t.Context(), run) {
		if err != nil {
			t.Fatal(err)
		}
		if len(states) == 0 {
			close(proceed)
		}
		states = append(states, snapshot.GetRun().GetState())
	}
	equal(t, "last", states[len(states)-1], droverpb.RunState_RUN_STATE_COMPLETED)
}

func TestManyRunsAtOnce(t *testing.T) {
	client := realClient(t)
	realAgent(t, drover.WithSlots(50), drover.Handle("work",
		func(_ context.Context, task *drover.Task) (any, error) {
			var number int
			return number, task.Input(&number)
		}))
	definition, err := workflow.Workflow{
		Name: queueOf(t), Steps: []workflow.Step{stepOf(t, "a", "work")},
	}.Definition()
	equal(t, "error", err, nil)
	_, err = client.RegisterWorkflow(t.Context(), definition)
	equal(t, "error", err, nil)
	var waiting sync.WaitGroup
	for number := range 60 {
		waiting.Go(func() {
			start := drover.Start{Workflow: queueOf(t), Input: number}
			made, err := client.Schedule(t.Context(), start)
			if err == nil {
				_, err = client.WaitRun(t.Context(), made.RunID)
			}
			if err != nil {
				t.Errorf("run %d: %v", number, err)
			}
		})
	}
	waiting.Wait()
	runs := 0
	filter := &droverpb.RunFilter{
		Workflow: queueOf(t), States: []droverpb.RunState{droverpb.RunState_RUN_STATE_COMPLETED},
	}
	for _, err := range client.ListRuns(t.Context(), filter) {
		equal(t, "error", err, nil)
		runs++
	}
	equal(t, "runs", runs, 60)
}

func TestAKeyStartsOneRunAndARefusalNamesTheReason(t *testing.T) {
	client := realClient(t)
	definition, err := workflow.Workflow{Name: queueOf(t), Steps: []workflow.Step{
		{ID: "a", Do: workflow.Wait{For: time.Hour}},
	}}.Definition()
	equal(t, "error", err, nil)
	key := queueOf(t) + fmt.Sprint(time.Now().UnixNano())
	start := drover.Start{Definition: definition, Key: key}
	first, err := client.Schedule(t.Context(), start)
	equal(t, "error", err, nil)
	second, err := client.Schedule(t.Context(), start)
	equal(t, "error", err, nil)
	equal(t, "run", second.RunID, first.RunID)
	equal(t, "created", fmt.Sprint(first.Created, second.Created), "true false")
	start.Input = "another"
	_, err = client.Schedule(t.Context(), start)
	equal(t, "reused", errors.Is(err, drover.Reason("KEY_REUSED")), true)
	run, err := client.CancelRun(t.Context(), drover.RunKey(key), droverpb.Undo_UNDO_LEAVE, "enough")
	equal(t, "error", err, nil)
	equal(t, "reason", run.GetCancelReason(), "enough")
	overview, err := droverpb.NewOperatorServiceClient(client.Conn()).GetOverview(t.Context(), &droverpb.GetOverviewRequest{})
	equal(t, "error", err, nil)
	equal(t, "paused", overview.GetNamespacePause() == nil, true)
}

func TestLinesOfAHandlerAreStoredWithTheirAttemptUnlessTheStepHasLogsOff(t *testing.T) {
	client := realClient(t)
	realAgent(t, drover.Handle("charge", func(_ context.Context, task *drover.Task) (any, error) {
		if task.Attempt < 2 {
			task.Log().Warn("the card was declined", "card", 42)
			return nil, drover.Transient("declined", "The card was declined.")
		}
		task.Log().Debug("charged")
		return nil, nil
	}))
	quiet := stepOf(t, "quiet", "charge")
	quiet.Logs = workflow.LogsOff
	pay := stepOf(t, "pay", "charge")
	pay.Needs = []string{"quiet"}
	run := started(t, client, nil, quiet, pay)
	ended(t, client, run, droverpb.RunState_RUN_STATE_COMPLETED)
	// They come at most a second after the end of their task.
	request := &droverpb.ListLogsRequest{Run: &droverpb.RunRef{Ref: &droverpb.RunRef_RunId{RunId: string(run)}}}
	var lines []string
	for deadline := time.Now().Add(10 * time.Second); len(lines) < 2 && time.Now().Before(deadline); {
		answer, err := droverpb.NewSchedulerServiceClient(client.Conn()).ListLogs(t.Context(), request)
		equal(t, "error", err, nil)
		lines = nil
		for _, line := range answer.GetLines() {
			lines = append(lines, fmt.Sprint(line.GetStepId(), " ", line.GetAttemptNumber(), " ",
				line.GetLevel(), " ", line.GetMessage(), " ", line.GetFields()))
		}
		time.Sleep(20 * time.Millisecond)
	}
	equal(t, "lines", lines, []string{
		"pay 1 LOG_LEVEL_WARN the card was declined map[card:42]",
		"pay 2 LOG_LEVEL_DEBUG charged map[]",
	})
}
