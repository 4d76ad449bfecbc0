package drover_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
	"github.com/drover-dev/drover/sdk/go/drovertest"
	"github.com/drover-dev/drover/sdk/go/internal/defined"
	"github.com/drover-dev/drover/sdk/go/workflow"
)

//go:embed reason.go
var reasonsFile string

type leg struct {
	To string `json:"to"`
}

type trip struct {
	Legs []leg `json:"legs"`
}

// Validate is asked by the SDK.
func (t *trip) Validate() error {
	if len(t.Legs) == 0 {
		return errors.New("legs: a trip has at least one")
	}
	return nil
}

type booking struct {
	Booking string `json:"booking"`
}

type booked struct {
	Flight booking `json:"flight"`
	Hotel  *booking
}

var (
	bookTrip = drover.NewTask[trip, booking]("book-trip")
	holiday  = drover.NewWorkflow[trip, booked]("holiday")
)

func book(ctx context.Context, task *drover.Task, input trip) (booking, error) {
	switch task.Attempt {
	case 2:
		return booking{}, drover.Deferred()
	case 3:
		return booking{}, drover.Permanent("full", "No seat is free.")
	}
	return booking{"flight-to-" + input.Legs[0].To}, nil
}

func tryBook(t *testing.T, task drovertest.Task) drovertest.Result {
	t.Helper()
	return drovertest.Run(t, drover.Typed(book), task)
}

func TestATypedHandlerGetsItsInputAndReturnsItsOutput(t *testing.T) {
	given := trip{Legs: []leg{{To: "Lisbon"}}}
	var output booking
	tryBook(t, drovertest.Task{Input: given}).Output(&output)
	equal(t, "output", output, booking{"flight-to-Lisbon"})
	second := tryBook(t, drovertest.Task{Input: given, Attempt: 2})
	equal(t, "deferred", second.Kind, drovertest.Deferred)
	equal(t, "failed", tryBook(t, drovertest.Task{Input: given, Attempt: 3}).Code, "full")
}

func TestAWrongInputIsAPermanentFailureThatSaysWhereAndWhy(t *testing.T) {
	for input, problem := range map[string]string{
		`{"legs":[{"to":7}]}`: "legs.to: got a JSON number, want string",
		`"Lisbon"`:            "got a JSON string, want drover_test.trip",
		`{"legs":[]}`:         "legs: a trip has at least one",
	} {
		result := tryBook(t, drovertest.Task{Input: json.RawMessage(input)})
		equal(t, "code", result.Code, "bad-input")
		equal(t, "transient", result.Transient, false)
		if !strings.HasSuffix(result.Message, problem) {
			t.Errorf("got %q, want it to end with %q", result.Message, problem)
		}
	}
}

func TestATaskWithoutOutputSendsNone(t *testing.T) {
	cancel := drover.Typed(func(context.Context, *drover.Task, trip) (struct{}, error) {
		return struct{}{}, nil
	})
	given := drovertest.Task{Input: trip{Legs: []leg{{To: "Rome"}}}}
	result := drovertest.Run(t, cancel, given)
	output := booking{"unchanged"}
	result.Output(&output)
	equal(t, "output", output, booking{"unchanged"})
}

func TestAnAgentServesATaskByItsType(t *testing.T) {
	_, err := drover.NewAgent("127.0.0.1:1", "a1", bookTrip.Handle(book), bookTrip.Handle(nil))
	equal(t, "error", err.Error(), "drover: the handler of \"book-trip\" is nil\n"+
		"drover: the task \"book-trip\" has two handlers")
}

func TestAStepPerformsATaskByItsType(t *testing.T) {
	made, err := workflow.Workflow{Name: holiday.Name(), Steps: []workflow.Step{
		{ID: "flight", Do: workflow.Perform(bookTrip)},
		{ID: "back", Do: workflow.PerformWith(bookTrip, trip{Legs: []leg{{To: "${input.from}"}}})},
	}}.Definition()
	equal(t, "error", err, nil)
	definition := defined.Message(made)
	equal(t, "task", definition.GetSteps()[0].GetTask().GetName(), "book-trip")
	equal(t, "input", definition.GetSteps()[0].GetInput() == nil, true)
	equal(t, "input", definition.GetSteps()[1].GetInput().GetJson(),
		`{"legs":[{"to":"${input.from}"}]}`)
}

func TestACallerReadsTheOutputsOfARunByItsType(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		run := &droverpb.Run{RunId: "r1", Workflow: "holiday", Summary: "No seat was free."}
		output := `{"booking":"flight-to-Rome"}`
		on(server, droverpb.SchedulerService_WaitRun_FullMethodName,
			func(*droverpb.WaitRunRequest) (*droverpb.WaitRunResponse, error) {
				return &droverpb.WaitRunResponse{Ended: true, Run: run}, nil
			})
		on(server, droverpb.SchedulerService_GetRun_FullMethodName,
			func(*droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
				body := &droverpb.Payload{Body: &droverpb.Payload_Json{Json: output}}
				steps := []*droverpb.Step{{Id: "flight", Output: body}, {Id: "hotel"}}
				return &droverpb.GetRunResponse{Run: run, Steps: steps}, nil
			})
		client := server.client()
		run.State = droverpb.RunState_RUN_STATE_COMPLETED
		outputs, err := holiday.Wait(t.Context(), client, drover.RunID("r1"))
		equal(t, "error", err, nil)
		equal(t, "outputs", outputs, booked{Flight: booking{"flight-to-Rome"}})

		output = `7`
		_, err = holiday.Wait(t.Context(), client, drover.RunID("r1"))
		equal(t, "error", err.Error(), "drover: the outputs of run r1 are not of the type of holiday: "+
			"flight: got a JSON number, want drover_test.booking")

		run.State = droverpb.RunState_RUN_STATE_COMPENSATED
		_, err = holiday.Wait(t.Context(), client, drover.RunID("r1"))
		var not *drover.RunNotCompletedError
		equal(t, "kind", errors.As(err, &not), true)
		equal(t, "state", not.State, drover.RunStateCompensated)
	})
}

func TestAStartHasTheInputOfItsWorkflow(t *testing.T) {
	input := trip{Legs: []leg{{To: "Rome"}}}
	start := holiday.Start(input)
	equal(t, "workflow", start.Workflow, "holiday")
	equal(t, "input", len(start.Input.(trip).Legs), 1)
}

func TestEveryReasonOfTheContractIsAConstant(t *testing.T) {
	var known []string
	for name := range droverpb.ErrorReason_value {
		reason := strings.TrimPrefix(name, "ERROR_REASON_")
		if reason != "UNSPECIFIED" {
			known = append(known, reason)
		}
	}
	var constants []string
	for _, line := range strings.Split(reasonsFile, "\n") {
		if _, value, some := strings.Cut(line, ` Reason = "`); some {
			constants = append(constants, strings.TrimSuffix(value, `"`))
		}
	}
	slices.Sort(known)
	slices.Sort(constants)
	equal(t, "reasons", strings.Join(constants, " "), strings.Join(known, " "))
}

func TestAnErrorOfACallIsComparedWithAReason(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		on(server, droverpb.SchedulerService_GetRun_FullMethodName,
			func(*droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
				return nil, failure(codes.NotFound, "RUN_NOT_FOUND")
			})
		_, err := server.client().GetRun(t.Context(), drover.RunID("r1"), drover.Include{})
		equal(t, "is", errors.Is(err, drover.ReasonRunNotFound), true)
		var refused *drover.CallError
		equal(t, "as", errors.As(err, &refused) && refused.Reason == drover.ReasonRunNotFound, true)
	})
}

func TestAClientLogsTheFirstFailureOfACallThatItRepeats(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		tries := 0
		on(server, droverpb.SchedulerService_GetRun_FullMethodName,
			func(*droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
				if tries++; tries < 4 {
					return nil, failure(codes.Unavailable, "")
				}
				return &droverpb.GetRunResponse{}, nil
			})
		var written bytes.Buffer
		log := drover.WithLog(slog.New(slog.NewTextHandler(&written, nil)))
		_, err := server.client(log).GetRun(t.Context(), drover.RunID("r1"), drover.Include{})
		equal(t, "error", err, nil)
		lines := strings.Count(written.String(), "\n")
		equal(t, "lines", lines, 1)
		for _, part := range []string{"level=WARN", "call failed, will repeat it", "GetRun", "Unavailable"} {
			if !strings.Contains(written.String(), part) {
				t.Errorf("%q is not in %s", part, written.String())
			}
		}
	})
}
