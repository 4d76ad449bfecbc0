package drover_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
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

func ended(t *testing.T, client *drover.Client, run drover.RunID,
	want drover.RunState) drover.RunDetails {
	t.Helper()
	if _, err := client.WaitRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	details, err := client.GetRun(t.Context(), run, drover.Include{
		Attempts: true, Interventions: true, Escalations: true, Signals: true, Decisions: true,
		Settings: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "state", details.Run.State, want)
	return details
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
	details := ended(t, client, run, drover.RunStateCompensated)
	booked, err := drover.Output[struct{ Booking string }](details.Steps[0])
	equal(t, "error", err, nil)
	equal(t, "output", booked.Booking, "to Lisbon")
	equal(t, "undone", details.Steps[0].UndoState, drover.UndoStateDone)
	first, last := details.Attempts[0], details.Attempts[len(details.Attempts)-1]
	equal(t, "first outcome", first.Outcome, drover.OutcomeFailure)
	equal(t, "first failure", *first.Failure, drover.Failure{
		Code: "busy", Message: "All lines are busy.", Class: drover.FailureClassTransient,
	})
	equal(t, "code", details.Steps[1].Error.Code, "no-room")
	equal(t, "kind", last.Kind, drover.TaskCompensate)
	equal(t, "undone", last.Output.JSON, `"true to Lisbon true"`)
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
	var waiting []drover.Approval
	for approval, err := range client.ListApprovals(t.Context(), drover.ApprovalFilter{Run: run}) {
		equal(t, "error", err, nil)
		waiting = append(waiting, approval)
	}
	equal(t, "approvals", len(waiting), 1)
	equal(t, "approvers", waiting[0].Approvers, []string{"finance"})
	decision := drover.Decision{Approver: "ada", Roles: []string{"finance"}, Comment: "paid"}
	decided, err := client.Decide(t.Context(), waiting[0].RunID, waiting[0].StepID, decision)
	equal(t, "error", err, nil)
	equal(t, "state", decided.Run.State, drover.RunStateRunning)
	_, err = client.CompleteDeferred(t.Context(), <-tokens, map[string]string{"parcel": "p-7"})
	equal(t, "deferred", err, nil)
	_, err = client.Signal(t.Context(), run, "delivered", "s-1", "the neighbour")
	equal(t, "signal", err, nil)
	repeated, err := client.Signal(t.Context(), run, "delivered", "s-1", "the neighbour")
	equal(t, "repeated", fmt.Sprint(repeated, err), "true <nil>")
	details := ended(t, client, run, drover.RunStateCompleted)
	equal(t, "comment", details.Decisions[0].Comment, "paid")
	equal(t, "signal", details.Signals[0].TakenBy, "delivered")
	equal(t, "parcel", details.Steps[2].Output.JSON, `{"parcel":"p-7"}`)
	equal(t, "delivered", details.Steps[3].Output.JSON, `"the neighbour"`)
}

func TestAPersonAnswersAnEscalation(t *testing.T) {
	client := realClient(t)
	realAgent(t, drover.Handle("transfer", func(context.Context, *drover.Task) (any, error) {
		return nil, drover.Unknown("no-answer", "The bank did not answer.")
	}))
	send := stepOf(t, "send", "transfer")
	send.Effects = workflow.Once
	run := started(t, client, nil, send)
	for snapshot, err := range client.WatchRun(t.Context(), run) {
		equal(t, "error", err, nil)
		if snapshot.Run.State == drover.RunStateEscalated {
			break
		}
	}
	explained, err := client.ExplainRun(t.Context(), run)
	equal(t, "error", err, nil)
	equal(t, "waits for", explained.Wait.WaitingFor, drover.WaitKindPerson)

	var open []drover.Escalation
	for escalation, err := range client.ListEscalations(t.Context(), drover.EscalationFilter{}) {
		equal(t, "error", err, nil)
		if escalation.RunID == run {
			open = append(open, escalation)
		}
	}
	equal(t, "escalations", len(open), 1)
	equal(t, "reason", open[0].Reason, "unknown")
	equal(t, "named", explained.Wait.Escalation.ID, open[0].ID)

	claimed, err := client.ClaimEscalation(t.Context(), run, open[0].ID, drover.Claim{By: "ada"})
	equal(t, "error", err, nil)
	equal(t, "claimed by", claimed.ClaimedBy, "ada")
	_, err = client.ReleaseEscalation(t.Context(), run, open[0].ID, drover.Claim{By: "bob"})
	equal(t, "claimed by another", errors.Is(err, drover.ReasonEscalationClaimed), true)

	details, err := client.GetEscalation(t.Context(), run, open[0].ID)
	equal(t, "error", err, nil)
	equal(t, "accepts", slices.Contains(details.Escalation.Answers, drover.AnswerSucceed), true)
	equal(t, "step", details.Step.State, drover.StepStateEscalated)
	equal(t, "outcome", details.Attempts[0].Outcome, drover.OutcomeUnknown)

	answer := drover.Resolution{
		Answer: drover.AnswerSucceed, By: "ada", Why: "The money is there.",
		Payload: map[string]string{"transfer": "t-9"},
	}
	resolved, err := client.ResolveEscalation(t.Context(), run, open[0].ID, answer)
	equal(t, "error", err, nil)
	equal(t, "why", resolved.Escalation.Answer.Why, "The money is there.")
	repeated, err := client.ResolveEscalation(t.Context(), run, open[0].ID, answer)
	equal(t, "repeated", fmt.Sprint(repeated.Repeated, err), "true <nil>")
	answer.Answer, answer.Payload = drover.AnswerSkip, nil
	_, err = client.ResolveEscalation(t.Context(), run, open[0].ID, answer)
	equal(t, "closed", errors.Is(err, drover.ReasonEscalationClosed), true)

	ending := ended(t, client, run, drover.RunStateCompleted)
	equal(t, "output", ending.Steps[0].Output.JSON, `{"transfer":"t-9"}`)
	equal(t, "source", ending.Attempts[len(ending.Attempts)-1].Source, drover.AttemptSourceAnswer)
	equal(t, "answered by", ending.Escalations[0].Answer.By, "ada")
}

func TestItemsOfAMapAreSteps(t *testing.T) {
	client := realClient(t)
	realAgent(t, drover.Handle("double", func(_ context.Context, task *drover.Task) (any, error) {
		var number int
		if err := task.Input(&number); err != nil {
			return nil, err
		}
		if number > 2 {
			return nil, drover.Permanent("too-large", "It is larger than two.")
		}
		return 2 * number, nil
	}))
	amount := workflow.Count(1)
	doubles := workflow.Map{Over: "${input}", Task: "double", Queue: queueOf(t), Tolerate: &amount}
	run := started(t, client, []int{1, 2, 3}, workflow.Step{ID: "all", Do: doubles})
	details := ended(t, client, run, drover.RunStateCompleted)
	equal(t, "counts", *details.Steps[0].Items,
		drover.ItemCounts{Total: 3, Started: 3, Succeeded: 2, Failed: 1})
	equal(t, "warning", details.Warnings[0].Code, "drover.items")
	var outputs []int
	for item, err := range client.ListItems(t.Context(), run, "all", drover.StepStateSucceeded) {
		equal(t, "error", err, nil)
		output, err := drover.Output[int](item)
		equal(t, "error", err, nil)
		outputs = append(outputs, output)
	}
	equal(t, "outputs", outputs, []int{2, 4})
}

func TestManyRunsAreCancelledAndRepeated(t *testing.T) {
	client := realClient(t)
	definition, err := workflow.Workflow{Name: queueOf(t), Steps: []workflow.Step{
		{ID: "a", Do: workflow.Wait{For: time.Hour}},
	}}.Definition()
	equal(t, "error", err, nil)
	label := rand.Text()
	var runs []drover.RunID
	for range 2 {
		start := drover.Start{Definition: definition, Labels: map[string]string{"test": label}}
		made, err := client.Schedule(t.Context(), start)
		equal(t, "error", err, nil)
		runs = append(runs, made.RunID)
	}
	paused, err := client.PauseRun(t.Context(), runs[0], "for lunch")
	equal(t, "error", err, nil)
	equal(t, "paused", paused.State, drover.RunStatePaused)
	resumed, err := client.ResumeRun(t.Context(), runs[0], "")
	equal(t, "error", err, nil)
	equal(t, "resumed", resumed.State, drover.RunStateRunning)

	action := drover.BulkAction{
		Kind: drover.BulkCancel, Undo: drover.UndoLeave, Reason: "enough",
		Filter: drover.RunFilter{Query: "state:open label.test=" + label},
	}
	count, err := client.CountForBulk(t.Context(), action)
	equal(t, "error", err, nil)
	equal(t, "count", count, 2)
	wrong := 1
	action.ExpectedCount = &wrong
	for _, err := range client.Bulk(t.Context(), action) {
		equal(t, "mismatch", errors.Is(err, drover.ReasonCountMismatch), true)
	}
	action.ExpectedCount = &count
	for result, err := range client.Bulk(t.Context(), action) {
		equal(t, "error", err, nil)
		equal(t, "refused", result.Err, nil)
		run, err := client.WaitRun(t.Context(), result.RunID)
		equal(t, "error", err, nil)
		equal(t, "state", run.State, drover.RunStateCancelled)
	}
	made, err := client.RerunFrom(t.Context(), runs[0], "", drover.Rerun{Input: 7})
	equal(t, "error", err, nil)
	equal(t, "created", made.Created, true)
	_, err = client.CancelRun(t.Context(), made.RunID, drover.UndoCompensate, "")
	equal(t, "error", err, nil)
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
	details := ended(t, client, run, drover.RunStateCompleted)
	equal(t, "input", details.Run.Input.JSON, `"a secret"`)
	equal(t, "output", details.Steps[0].Output.JSON, `"a secret!"`)
	// Without the codec it is what the server has.
	seen, err := realClient(t).GetRun(t.Context(), run, drover.Include{})
	equal(t, "error", err, nil)
	for _, payload := range []*drover.Payload{seen.Run.Input, seen.Steps[0].Output} {
		equal(t, "content type", payload.ContentType, aesgcm.ContentType)
		equal(t, "clear", bytes.Contains(payload.Data, []byte("secret")), false)
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
	var states []drover.RunState
	for snapshot, err := range client.WatchRun(t.Context(), run) {
		if err != nil {
			t.Fatal(err)
		}
		if len(states) == 0 {
			close(proceed)
		}
		states = append(states, snapshot.Run.State)
	}
	equal(t, "last", states[len(states)-1], drover.RunStateCompleted)
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
	// The server may have runs of an earlier test.
	labels := map[string]string{"test": rand.Text()}
	var waiting sync.WaitGroup
	for number := range 60 {
		waiting.Go(func() {
			start := drover.Start{Workflow: queueOf(t), Input: number, Labels: labels}
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
	filter := drover.RunFilter{
		Labels: labels, States: []drover.RunState{drover.RunStateCompleted},
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
	run, err := client.CancelRun(t.Context(), drover.RunKey(key), drover.UndoLeave, "enough")
	equal(t, "error", err, nil)
	equal(t, "reason", run.CancelReason, "enough")
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
	ended(t, client, run, drover.RunStateCompleted)
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
