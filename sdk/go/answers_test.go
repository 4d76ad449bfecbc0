package drover_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// filled sets each field of a message: a text to the name of the field, a number to its number, a
// time to so many seconds, an enum to its last value, a list to one element.
func filled[M proto.Message](message M) M {
	fill(message.ProtoReflect())
	return message
}

func fill(message protoreflect.Message) {
	fields := message.Descriptor().Fields()
	for at := range fields.Len() {
		field := fields.Get(at)
		switch {
		case field.ContainingOneof() != nil:
			// Those of a oneof exclude each other: a test sets the one that it means.
		case field.IsMap():
			key := protoreflect.ValueOfString("key").MapKey()
			message.Mutable(field).Map().Set(key, protoreflect.ValueOfString("value"))
		case field.IsList() && field.Message() != nil:
			fillMessage(message.Mutable(field).List().AppendMutable().Message(), field)
		case field.IsList():
			message.Mutable(field).List().Append(scalarOf(field))
		case field.Message() != nil:
			fillMessage(message.Mutable(field).Message(), field)
		default:
			message.Set(field, scalarOf(field))
		}
	}
}

func fillMessage(message protoreflect.Message, field protoreflect.FieldDescriptor) {
	switch of := message.Interface().(type) {
	case *droverpb.Payload:
		of.Body = &droverpb.Payload_Json{Json: `"payload"`}
	case *droverpb.Progress:
		of.Kind = &droverpb.Progress_Counter{Counter: 7}
	case *timestamppb.Timestamp:
		of.Seconds = int64(field.Number())
	case *droverpb.WorkflowDefinition:
	default:
		fill(message)
	}
}

func scalarOf(field protoreflect.FieldDescriptor) protoreflect.Value {
	number := field.Number()
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(string(field.Name()))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(field.Name()))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		values := field.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(values.Len() - 1).Number())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(number))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(number))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(number))
	}
	panic(fmt.Sprintf("no value for %s", field.FullName()))
}

// same also looks behind pointers.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	texts := make([]string, 2)
	for at, value := range []any{got, want} {
		text, err := json.MarshalIndent(value, "", " ")
		equal(t, "error", err, nil)
		texts[at] = string(text)
	}
	if texts[0] != texts[1] {
		t.Fatalf("%s: got %s, want %s", what, texts[0], texts[1])
	}
}

func second(number int64) time.Time { return time.Unix(number, 0).UTC() }

var (
	aPayload = &drover.Payload{JSON: `"payload"`}
	aFailure = &drover.Failure{Code: "code", Message: "message", Class: drover.FailureClassUnknown}

	filledRun = drover.Run{
		RunID:           "run_id",
		Namespace:       "namespace",
		Key:             "key",
		Workflow:        "workflow",
		WorkflowVersion: 5,
		State:           drover.RunStateFinishing,
		Reason:          drover.RunReasonCancelledByNewer,
		Labels:          map[string]string{"key": "value"},
		Priority:        9,
		Input:           aPayload,
		CreatedTime:     second(11),
		EndedTime:       second(12),
		DeadlineTime:    second(13),
		Version:         14,
		CancelReason:    "cancel_reason",
		Warnings:        16,
		Summary:         "summary",
		Substates:       []drover.RunSubstateCount{{Substate: drover.RunSubstateHeld, Steps: 2}},
		Parent:          &drover.ParentRun{RunID: "run_id", StepID: "step_id"},
		StartTime:       second(17),
		Concurrency:     &drover.Concurrency{Key: "key", Limit: 2, Policy: drover.PolicyQueueOne},
	}
	filledStep = drover.Step{
		ID:          "id",
		Kind:        drover.StepKindMap,
		State:       drover.StepStateCancelled,
		UndoState:   drover.UndoStateFailed,
		WaitingOn:   drover.WaitingOnItems,
		Task:        "task",
		Queue:       "queue",
		SignalName:  "signal_name",
		Strategy:    14,
		Attempt:     6,
		Verifies:    16,
		Approvals:   17,
		Fence:       7,
		AgentID:     "agent_id",
		SuspectTime: second(24),
		NextTime:    second(9),
		Output:      aPayload,
		Error:       aFailure,
		Needs:       []string{"needs"},
		ChildRunID:  "child_run_id",
		Items: &drover.ItemCounts{
			Total: 1, Started: 2, Open: 3, Succeeded: 4, Failed: 5, Skipped: 6,
		},
	}
	filledAttempt = drover.Attempt{
		StepID:      "step_id",
		Kind:        drover.TaskCompensate,
		Fence:       3,
		Attempt:     4,
		AgentID:     "agent_id",
		StartedTime: second(7),
		EndedTime:   second(8),
		Outcome:     drover.OutcomeSuperseded,
		Failure:     aFailure,
		Output:      aPayload,
		Late:        true,
		Source:      drover.AttemptSourceAnswer,
		N:           14,
	}
	filledEscalation = drover.Escalation{
		ID:           "id",
		RunID:        "run_id",
		Workflow:     "workflow",
		StepID:       "step_id",
		Reason:       "reason",
		Code:         "code",
		Message:      "message",
		ClaimedBy:    "claimed_by",
		ClaimedTime:  second(13),
		DeadlineTime: second(15),
		OpenedTime:   second(5),
		ClosedTime:   second(6),
		ClosedBy:     "closed_by",
		Answers:      []drover.EscalationAnswer{"answers"},
		Answer:       &drover.ReceivedAnswer{Answer: "answer", By: "by", ByVerified: true, Why: "why"},
	}
)

func TestARunIsReadWithItsStepsAndItsHistory(t *testing.T) {
	server := newScript(t)
	on(server, droverpb.SchedulerService_GetRun_FullMethodName,
		func(request *droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
			equal(t, "attempts", request.GetIncludeAttempts(), true)
			equal(t, "settings", request.GetIncludeSettings(), false)
			return filled(&droverpb.GetRunResponse{}), nil
		})
	include := drover.Include{Attempts: true}
	details, err := server.client().GetRun(t.Context(), drover.RunID("r"), include)
	equal(t, "error", err, nil)
	same(t, "details", details, drover.RunDetails{
		Run:      filledRun,
		Steps:    []drover.Step{filledStep},
		Warnings: []drover.RunWarning{{StepID: "step_id", Code: "code", Message: "message"}},
		Attempts: []drover.Attempt{filledAttempt},
		Interventions: []drover.Intervention{{
			StepID: "step_id", Rule: "rule", Saw: "saw", Did: "did", DueTime: second(6),
			ActedTime: second(7), Supervisor: "supervisor", Partition: 9, Epoch: 10, Fence: 11,
			Attempt: 12,
		}},
		Escalations: []drover.Escalation{filledEscalation},
		Signals: []drover.ReceivedSignal{{
			Seq: 1, ID: "signal_id", Name: "name", Payload: aPayload, ReceivedTime: second(5),
			TakenBy: "taken_by",
		}},
		Decisions: []drover.ReceivedDecision{{
			StepID: "step_id", Approver: "approver", ApproverVerified: true, Approved: true,
			Comment: "comment", Form: aPayload, DecidedTime: second(7),
		}},
		Settings: []drover.Setting{{
			StepID: "step_id", Field: "field", Value: "value", Source: drover.SettingSourceServer,
		}},
	})
	step, found := details.Step("id")
	same(t, "step", []any{step.ID, found}, []any{"id", true})
	_, found = details.Step("another")
	equal(t, "another", found, false)
}

func TestWhatIsLeftOutIsZero(t *testing.T) {
	server := newScript(t)
	on(server, droverpb.SchedulerService_GetRun_FullMethodName,
		func(*droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
			return &droverpb.GetRunResponse{Run: &droverpb.Run{}, Steps: []*droverpb.Step{{}}}, nil
		})
	details, err := server.client().GetRun(t.Context(), drover.RunID("r"), drover.Include{})
	equal(t, "error", err, nil)
	same(t, "details", details, drover.RunDetails{Steps: []drover.Step{{}}})
	equal(t, "time", details.Run.EndedTime.IsZero(), true)
}

func TestAnExplanationIsReadWithTheDetailOfEachWait(t *testing.T) {
	given := filled(&droverpb.ExplainRunResponse{})
	given.Steps = nil
	for _, detail := range []*droverpb.Wait{
		{Detail: &droverpb.Wait_Lane{Lane: filled(&droverpb.LaneWait{})}},
		{Detail: &droverpb.Wait_Agent{Agent: filled(&droverpb.AgentWait{})}},
		{Detail: &droverpb.Wait_SignalName{SignalName: "paid"}},
		{Detail: &droverpb.Wait_Approval{Approval: filled(&droverpb.ApprovalWait{})}},
		{Detail: &droverpb.Wait_Child{Child: filled(&droverpb.ChildWait{})}},
		{Detail: &droverpb.Wait_Escalation{Escalation: filled(&droverpb.EscalationWait{})}},
	} {
		given.Steps = append(given.Steps, detail)
	}
	server := newScript(t)
	on(server, droverpb.SchedulerService_ExplainRun_FullMethodName,
		func(*droverpb.ExplainRunRequest) (*droverpb.ExplainRunResponse, error) { return given, nil })
	explanation, err := server.client().ExplainRun(t.Context(), drover.RunID("r"))
	equal(t, "error", err, nil)
	same(t, "explanation", explanation, drover.RunExplanation{
		Run: filledRun,
		Wait: drover.RunWait{
			StepID:     "step_id",
			Undo:       true,
			WaitingFor: drover.WaitKindCircuitToClose,
			Sentence:   "sentence",
			SinceTime:  second(5),
			Next:       drover.NextKindTryOne,
			NextTime:   second(7),
			Tried: &drover.Tried{
				Attempts: 1, Lost: 2, HandedOut: 3, Verifies: 4, Strategy: 5, Strategies: 6,
				LastOutcome: drover.OutcomeSuperseded, LastFailure: aFailure,
				LastAgentID: "last_agent_id", LastEndedTime: second(10),
			},
			Actions: []drover.PersonAction{{
				Kind: drover.ActionKindStartSupervisor, StepID: "step_id", EscalationID: "escalation_id",
				Choices: []string{"choices"}, SignalName: "signal_name", Queue: "queue", Task: "task",
				Workflow: "workflow", AgentVersion: "agent_version", Region: "region",
				Approvers: []string{"approvers"},
			}},
			WaitsOn:  []string{"waits_on"},
			TaskKind: drover.TaskCompensate,
		},
		Steps: []drover.RunWait{
			{Lane: &drover.LaneWait{
				Queue: "queue", Task: "task", Polled: true, LastPollTime: second(4), Alarms: 5,
				Cordoned: 6, AgentVersion: "agent_version",
			}},
			{Agent: &drover.AgentWait{
				AgentID: "agent_id", LastHeartbeatTime: second(2), Progress: uint64(7),
				ProgressTime: second(4), AttemptEndTime: second(5), StopCause: drover.StopCauseStalled,
				StopDelivered: true, SuspectTime: second(8),
			}},
			{SignalName: "paid"},
			{Approval: &drover.ApprovalWait{Approvers: []string{"approvers"}, Approvals: 2, Need: 3}},
			{Child: &drover.ChildWait{RunID: "run_id", Stopping: true}},
			{Escalation: &drover.EscalationWait{ID: "id", Reason: "reason", Message: "message"}},
		},
		Now: second(4),
		UntakenSignals: []drover.UntakenSignal{{
			Name: "name", ID: "signal_id", ReceivedTime: second(3), Sentence: "sentence",
		}},
	})
}

func TestTheProgressOfAnAgentHasTheTypeOfItsMark(t *testing.T) {
	for want, given := range map[any]*droverpb.Progress{
		0.5:       {Kind: &droverpb.Progress_Fraction{Fraction: 0.5}},
		uint64(7): {Kind: &droverpb.Progress_Counter{Counter: 7}},
		"row 7":   {Kind: &droverpb.Progress_Cursor{Cursor: "row 7"}},
		nil:       nil,
	} {
		server := newScript(t)
		on(server, droverpb.SchedulerService_ExplainRun_FullMethodName,
			func(*droverpb.ExplainRunRequest) (*droverpb.ExplainRunResponse, error) {
				detail := &droverpb.Wait_Agent{Agent: &droverpb.AgentWait{Progress: given}}
				return &droverpb.ExplainRunResponse{Wait: &droverpb.Wait{Detail: detail}}, nil
			})
		explanation, err := server.client().ExplainRun(t.Context(), drover.RunID("r"))
		equal(t, "error", err, nil)
		if explanation.Wait.Agent.Progress != want {
			t.Errorf("got %T %v, want %T %v", explanation.Wait.Agent.Progress,
				explanation.Wait.Agent.Progress, want, want)
		}
	}
}

func TestAValueOfANewerServerIsItsNumber(t *testing.T) {
	const newer = 77
	server := newScript(t)
	on(server, droverpb.SchedulerService_GetRun_FullMethodName,
		func(*droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
			return &droverpb.GetRunResponse{
				Run: &droverpb.Run{
					State: newer, Concurrency: &droverpb.Concurrency{Policy: newer},
				},
				Steps:    []*droverpb.Step{{State: newer, Error: &droverpb.Failure{FailureClass: newer}}},
				Attempts: []*droverpb.Attempt{{Kind: newer, Outcome: newer}},
			}, nil
		})
	details, err := server.client().GetRun(t.Context(), drover.RunID("r"), drover.Include{})
	equal(t, "error", err, nil)
	equal(t, "state", details.Run.State, "UNKNOWN_77")
	equal(t, "ended", details.Run.State.Ended(), false)
	equal(t, "policy", details.Run.Concurrency.Policy, "unknown-77")
	equal(t, "step", details.Steps[0].State, "UNKNOWN_77")
	equal(t, "class", details.Steps[0].Error.Class, "UNKNOWN_77")
	equal(t, "kind", details.Attempts[0].Kind, "unknown-77")
	equal(t, "outcome", details.Attempts[0].Outcome, "UNKNOWN_77")
}

func TestARunHasEndedInItsFinalStates(t *testing.T) {
	var final []string
	for _, state := range constantsOf(t)["RunState"] {
		if drover.RunState(state).Ended() {
			final = append(final, state)
		}
	}
	equal(t, "final", final, []string{"CANCELLED", "COMPENSATED", "COMPLETED", "FAILED"})
}

func TestAnOutputIsReadAsItsType(t *testing.T) {
	step := func(payload *drover.Payload) drover.Step {
		return drover.Step{ID: "flight", State: drover.StepStateSucceeded, Output: payload}
	}
	booked, err := drover.Output[booking](step(&drover.Payload{JSON: `{"booking":"b-7"}`}))
	equal(t, "error", err, nil)
	equal(t, "output", booked, booking{"b-7"})

	data, err := drover.Output[[]byte](step(&drover.Payload{Data: []byte{1, 2}}))
	equal(t, "error", err, nil)
	equal(t, "bytes", data, []byte{1, 2})

	_, err = drover.Output[booking](step(&drover.Payload{JSON: `7`}))
	equal(t, "error", err.Error(), `drover: the output of the step "flight" `+
		"is not as expected: got a JSON number, want drover_test.booking")

	_, err = drover.Output[booking](drover.Step{ID: "flight", State: drover.StepStateSkipped})
	equal(t, "is", errors.Is(err, drover.ErrNoOutput), true)
	equal(t, "error", err.Error(), `drover: the step "flight", in the state SKIPPED, has no output`)
}

func TestEveryValueOfAnEnumIsAConstant(t *testing.T) {
	constants := constantsOf(t)
	capitals := []protoreflect.Enum{
		droverpb.RunState(0), droverpb.RunReason(0), droverpb.RunSubstate(0), droverpb.StepKind(0),
		droverpb.StepState(0), droverpb.UndoState(0), droverpb.WaitingOn(0), droverpb.FailureClass(0),
		droverpb.OutcomeKind(0), droverpb.AttemptSource(0), droverpb.SettingSource(0),
		droverpb.WaitKind(0), droverpb.NextKind(0), droverpb.ActionKind(0), droverpb.StopCause(0),
		droverpb.ApprovalExpiry(0),
	}
	words := []protoreflect.Enum{
		droverpb.TaskKind(0), droverpb.ConcurrencyPolicy(0), droverpb.Undo(0), droverpb.BulkKind(0),
	}
	for at, enum := range append(capitals, words...) {
		values := enum.Descriptor().Values()
		prefix := strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED")
		var names []string
		for number := 1; number < values.Len(); number++ {
			name := strings.TrimPrefix(string(values.Get(number).Name()), prefix)
			if at >= len(capitals) {
				name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
			}
			names = append(names, name)
		}
		slices.Sort(names)
		equal(t, string(enum.Descriptor().Name()), constants[string(enum.Descriptor().Name())], names)
	}
}

// constantsOf has the values of the constants of each type of the package, in order.
func constantsOf(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	equal(t, "error", err, nil)
	constants := map[string][]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		equal(t, "error", err, nil)
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 {
				return true
			}
			name, typed := spec.Type.(*ast.Ident)
			value, literal := spec.Values[0].(*ast.BasicLit)
			if typed && literal && value.Kind == token.STRING {
				text, err := strconv.Unquote(value.Value)
				equal(t, "error", err, nil)
				constants[name.Name] = append(constants[name.Name], text)
			}
			return true
		})
	}
	for _, values := range constants {
		slices.Sort(values)
	}
	return constants
}
