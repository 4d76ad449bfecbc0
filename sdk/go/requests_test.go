package drover_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// asked answers a method, and keeps the last request of it.
func asked[I, O proto.Message](s *script, method string, answer O) *I {
	last := new(I)
	on(s, method, func(request I) (O, error) {
		*last = request
		return answer, nil
	})
	return last
}

func sameMessage(t *testing.T, got, want proto.Message) {
	t.Helper()
	if !proto.Equal(got, want) {
		t.Fatalf("got %s, want %s", protojson.Format(got), protojson.Format(want))
	}
}

func refOf(id string) *droverpb.RunRef {
	return &droverpb.RunRef{Ref: &droverpb.RunRef_RunId{RunId: id}}
}

func jsonOf(text string) *droverpb.Payload {
	return &droverpb.Payload{Body: &droverpb.Payload_Json{Json: text}}
}

// lastError is the last error of a list.
func lastError[T any](t *testing.T, list func(func(T, error) bool)) (failed error) {
	t.Helper()
	for _, err := range list {
		failed = err
	}
	return failed
}

func TestAFilterSelectsByAllOfItsConditions(t *testing.T) {
	server := newScript(t)
	request := asked[*droverpb.ListRunsRequest](server,
		droverpb.SchedulerService_ListRuns_FullMethodName, &droverpb.ListRunsResponse{})
	filter := drover.RunFilter{
		States:        []drover.RunState{drover.RunStateFailed, drover.RunStateEscalated},
		Substates:     []drover.RunSubstate{drover.RunSubstateWaitingForSignal},
		Workflow:      "trip",
		ParentRunID:   "parent",
		Labels:        map[string]string{"tenant": "acme"},
		CreatedAfter:  time.Unix(7, 0),
		CreatedBefore: time.Unix(8, 0),
		Query:         "error:sold-out",
	}
	equal(t, "error", lastError(t, server.client().ListRuns(t.Context(), filter)), nil)
	sameMessage(t, *request, &droverpb.ListRunsRequest{
		Filter: &droverpb.RunFilter{
			States: []droverpb.RunState{
				droverpb.RunState_RUN_STATE_FAILED, droverpb.RunState_RUN_STATE_ESCALATED,
			},
			Substates: []droverpb.RunSubstate{
				droverpb.RunSubstate_RUN_SUBSTATE_WAITING_FOR_SIGNAL,
			},
			Workflow:      "trip",
			ParentRunId:   "parent",
			Labels:        map[string]string{"tenant": "acme"},
			CreatedAfter:  &timestamppb.Timestamp{Seconds: 7},
			CreatedBefore: &timestamppb.Timestamp{Seconds: 8},
			Query:         "error:sold-out",
		},
	})
}

func TestANameThatIsNoneIsRefusedBeforeTheCall(t *testing.T) {
	client := newScript(t).client()
	filter := drover.RunFilter{States: []drover.RunState{"failed"}}
	err := lastError(t, client.ListRuns(t.Context(), filter))
	equal(t, "state", err.Error(), `drover: there is no RunState "failed"; use one of PENDING, `+
		"RUNNING, PAUSED, STOPPING, COMPENSATING, ESCALATED, COMPLETED, FAILED, COMPENSATED, "+
		"CANCELLED, FINISHING")

	err = lastError(t, client.ListItems(t.Context(), drover.RunID("r"), "map", "DONE"))
	equal(t, "step", strings.HasPrefix(err.Error(), `drover: there is no StepState "DONE"`), true)

	_, err = client.CancelRun(t.Context(), drover.RunID("r"), "all", "")
	equal(t, "undo", err.Error(),
		`drover: there is no Undo "all"; use one of compensate, leave`)

	_, err = client.CountForBulk(t.Context(), drover.BulkAction{})
	equal(t, "kind", err.Error(), `drover: there is no BulkKind ""; use one of cancel, pause, `+
		"resume, retry, signal, rerun, erase")

	policy := &drover.Concurrency{Key: "k", Policy: "queue-two"}
	_, err = client.Schedule(t.Context(), drover.Start{Workflow: "trip", Concurrency: policy})
	equal(t, "policy", err.Error(), `drover: there is no ConcurrencyPolicy "queue-two"; use one of `+
		"queue, refuse, cancel-oldest, queue-one")
}

func TestARunIsCancelledWithOrWithoutUndoing(t *testing.T) {
	server := newScript(t)
	request := asked[*droverpb.CancelRunRequest](server,
		droverpb.SchedulerService_CancelRun_FullMethodName,
		&droverpb.CancelRunResponse{Run: &droverpb.Run{State: droverpb.RunState_RUN_STATE_STOPPING}})
	client := server.client()
	for undo, want := range map[drover.Undo]droverpb.Undo{
		"":                    droverpb.Undo_UNDO_UNSPECIFIED,
		drover.UndoCompensate: droverpb.Undo_UNDO_COMPENSATE,
		drover.UndoLeave:      droverpb.Undo_UNDO_LEAVE,
	} {
		run, err := client.CancelRun(t.Context(), drover.RunID("r"), undo, "enough")
		equal(t, "error", err, nil)
		equal(t, "state", run.State, drover.RunStateStopping)
		sameMessage(t, *request, &droverpb.CancelRunRequest{
			Run: refOf("r"), Undo: want, Reason: "enough",
		})
	}
}

func TestARunIsRepeatedAsANewRun(t *testing.T) {
	server := newScript(t)
	retry := asked[*droverpb.RetryRunRequest](server,
		droverpb.SchedulerService_RetryRun_FullMethodName, &droverpb.RetryRunResponse{RunId: "n1"})
	rerun := asked[*droverpb.RerunFromRequest](server,
		droverpb.SchedulerService_RerunFrom_FullMethodName,
		&droverpb.RerunFromResponse{RunId: "n2", Created: true})
	client := server.client()
	made, err := client.RetryRun(t.Context(), drover.RunID("r"), drover.Rerun{RequestID: "again"})
	equal(t, "error", err, nil)
	equal(t, "made", made, drover.Started{RunID: "n1"})
	sameMessage(t, *retry, &droverpb.RetryRunRequest{
		Run: refOf("r"), RequestId: "again", Version: droverpb.RerunVersion_RERUN_VERSION_SAME,
	})

	how := drover.Rerun{Newest: true, Input: 7, RequestID: "once more"}
	made, err = client.RerunFrom(t.Context(), drover.RunID("r"), "hotel", how)
	equal(t, "error", err, nil)
	equal(t, "made", made, drover.Started{RunID: "n2", Created: true})
	sameMessage(t, *rerun, &droverpb.RerunFromRequest{
		Run: refOf("r"), StepId: "hotel", RequestId: "once more",
		Version: droverpb.RerunVersion_RERUN_VERSION_NEWEST, Input: jsonOf("7"),
	})
}

func TestABulkActionHasAResultForEachRun(t *testing.T) {
	server := newScript(t)
	request := asked[*droverpb.BulkActionRequest](server,
		droverpb.SchedulerService_BulkAction_FullMethodName,
		&droverpb.BulkActionResponse{Count: 2, Results: []*droverpb.BulkResult{
			{RunId: "r1", NewRunId: "n1"},
			{RunId: "r2", Status: statusOf(codes.FailedPrecondition, "RUN_STATE")},
		}})
	client := server.client()
	count := 2
	action := drover.BulkAction{
		Kind: drover.BulkRerun, Filter: drover.RunFilter{Workflow: "trip"}, Undo: drover.UndoLeave,
		Newest: true, SignalName: "paid", Payload: 1, StepID: "hotel", Input: 2, Reason: "mended",
		ExpectedCount: &count, RequestID: "all of them",
	}
	want := &droverpb.BulkActionRequest{
		Kind: droverpb.BulkKind_BULK_KIND_RERUN, Filter: &droverpb.RunFilter{Workflow: "trip"},
		Undo: droverpb.Undo_UNDO_LEAVE, Version: droverpb.RerunVersion_RERUN_VERSION_NEWEST,
		SignalName: "paid", Payload: jsonOf("1"), StepId: "hotel", Input: jsonOf("2"),
		Reason: "mended", ExpectedCount: proto.Int32(2), RequestId: "all of them",
	}
	var results []drover.BulkResult
	for result, err := range client.Bulk(t.Context(), action) {
		equal(t, "error", err, nil)
		results = append(results, result)
	}
	sameMessage(t, *request, want)
	equal(t, "first", results[0], drover.BulkResult{RunID: "r1", NewRunID: "n1"})
	equal(t, "second", errors.Is(results[1].Err, drover.ReasonRunState), true)

	found, err := client.CountForBulk(t.Context(), action)
	equal(t, "error", err, nil)
	equal(t, "count", found, 2)
	want.DryRun = true
	sameMessage(t, *request, want)
}

func TestAListMayBeReadTwice(t *testing.T) {
	server := newScript(t)
	on(server, droverpb.SchedulerService_ListItems_FullMethodName,
		func(request *droverpb.ListItemsRequest) (*droverpb.ListItemsResponse, error) {
			equal(t, "state", request.GetStates()[0], droverpb.StepState_STEP_STATE_FAILED)
			if request.GetPageToken() == "" {
				items := []*droverpb.Step{{Id: "m[0]"}, {Id: "m[1]"}}
				return &droverpb.ListItemsResponse{Items: items, NextPageToken: "2"}, nil
			}
			return &droverpb.ListItemsResponse{Items: []*droverpb.Step{{Id: "m[2]"}}}, nil
		})
	items := server.client().ListItems(t.Context(), drover.RunID("r"), "m", drover.StepStateFailed)
	for item := range items {
		equal(t, "first", item.ID, "m[0]")
		break
	}
	for range 2 {
		var ids []string
		for item, err := range items {
			equal(t, "error", err, nil)
			ids = append(ids, item.ID)
		}
		equal(t, "ids", ids, []string{"m[0]", "m[1]", "m[2]"})
	}
}

func TestEscalationsAreListedReadAndAnswered(t *testing.T) {
	server := newScript(t)
	list := asked[*droverpb.ListEscalationsRequest](server,
		droverpb.OperatorService_ListEscalations_FullMethodName,
		&droverpb.ListEscalationsResponse{
			Escalations: []*droverpb.Escalation{filled(&droverpb.Escalation{})},
		})
	get := asked[*droverpb.GetEscalationRequest](server,
		droverpb.OperatorService_GetEscalation_FullMethodName,
		filled(&droverpb.GetEscalationResponse{}))
	resolve := asked[*droverpb.ResolveEscalationRequest](server,
		droverpb.OperatorService_ResolveEscalation_FullMethodName,
		filled(&droverpb.ResolveEscalationResponse{}))
	client := server.client(drover.WithNamespace("bank"))
	run := drover.RunID("r")

	var listed []drover.Escalation
	filter := drover.EscalationFilter{IncludeClosed: true}
	for escalation, err := range client.ListEscalations(t.Context(), filter) {
		equal(t, "error", err, nil)
		listed = append(listed, escalation)
	}
	same(t, "listed", listed, []drover.Escalation{filledEscalation})
	sameMessage(t, *list, &droverpb.ListEscalationsRequest{Namespace: "bank", IncludeClosed: true})

	details, err := client.GetEscalation(t.Context(), run, "1")
	equal(t, "error", err, nil)
	same(t, "details", details, drover.EscalationDetails{
		Escalation: filledEscalation, Run: filledRun, Step: &filledStep,
		Attempts: []drover.Attempt{filledAttempt}, EffectKey: "effect_key",
	})
	sameMessage(t, *get, &droverpb.GetEscalationRequest{
		Namespace: "bank", Run: refOf("r"), EscalationId: "1",
	})

	resolved, err := client.ResolveEscalation(t.Context(), run, "1", drover.Resolution{
		Answer: drover.AnswerSucceed, By: "ada", Why: "seen", Payload: booking{"b-7"},
	})
	equal(t, "error", err, nil)
	same(t, "resolved", resolved,
		drover.Resolved{Escalation: filledEscalation, Run: filledRun, Repeated: true})
	sameMessage(t, *resolve, &droverpb.ResolveEscalationRequest{
		Namespace: "bank", Run: refOf("r"), EscalationId: "1", Answer: "succeed", By: "ada",
		Why: "seen", Payload: jsonOf(`{"booking":"b-7"}`),
	})
}

func TestAnEscalationIsClaimedAndReleased(t *testing.T) {
	server := newScript(t)
	escalation := &droverpb.Escalation{Id: "1", ClaimedBy: "ada"}
	claim := asked[*droverpb.ClaimEscalationRequest](server,
		droverpb.OperatorService_ClaimEscalation_FullMethodName,
		&droverpb.ClaimEscalationResponse{Escalation: escalation})
	release := asked[*droverpb.ReleaseEscalationRequest](server,
		droverpb.OperatorService_ReleaseEscalation_FullMethodName,
		&droverpb.ReleaseEscalationResponse{Escalation: &droverpb.Escalation{Id: "1"}})
	client := server.client()
	by := drover.Claim{By: "ada", Anyway: true}
	claimed, err := client.ClaimEscalation(t.Context(), drover.RunID("r"), "1", by)
	equal(t, "error", err, nil)
	equal(t, "claimed", claimed.ClaimedBy, "ada")
	sameMessage(t, *claim, &droverpb.ClaimEscalationRequest{
		Run: refOf("r"), EscalationId: "1", By: "ada", Anyway: true,
	})

	released, err := client.ReleaseEscalation(t.Context(), drover.RunID("r"), "1", by)
	equal(t, "error", err, nil)
	equal(t, "released", released.ClaimedBy, "")
	sameMessage(t, *release, &droverpb.ReleaseEscalationRequest{
		Run: refOf("r"), EscalationId: "1", By: "ada", Anyway: true,
	})
}

func TestApprovalsAreListedAndDecided(t *testing.T) {
	server := newScript(t)
	list := asked[*droverpb.ListApprovalsRequest](server,
		droverpb.OperatorService_ListApprovals_FullMethodName,
		&droverpb.ListApprovalsResponse{
			Approvals: []*droverpb.Approval{filled(&droverpb.Approval{})},
		})
	decide := asked[*droverpb.DecideRequest](server,
		droverpb.SchedulerService_Decide_FullMethodName, filled(&droverpb.DecideResponse{}))
	client := server.client()

	filter := drover.ApprovalFilter{
		Run: drover.RunID("r"), Approver: "ada", Roles: []string{"finance"},
	}
	var listed []drover.Approval
	for approval, err := range client.ListApprovals(t.Context(), filter) {
		equal(t, "error", err, nil)
		listed = append(listed, approval)
	}
	same(t, "listed", listed, []drover.Approval{{
		RunID: "run_id", Key: "run_key", Workflow: "workflow", WorkflowVersion: 4,
		Labels: map[string]string{"key": "value"}, StepID: "step_id",
		Approvers: []string{"approvers"}, NotRequester: true, Need: 9,
		ApprovedBy: []string{"approved_by"}, Form: aPayload, SinceTime: second(12),
		DeadlineTime: second(13), OnExpiry: drover.ApprovalExpiryApprove,
	}})
	sameMessage(t, *list, &droverpb.ListApprovalsRequest{
		Run: refOf("r"), Approver: "ada", Roles: []string{"finance"},
	})
	equal(t, "error", lastError(t, client.ListApprovals(t.Context(), drover.ApprovalFilter{})), nil)
	sameMessage(t, *list, &droverpb.ListApprovalsRequest{})

	decided, err := client.Decide(t.Context(), drover.RunID("r"), "release", drover.Decision{
		Reject: true, Approver: "ada", Roles: []string{"finance"}, Comment: "too much", Form: 7,
	})
	equal(t, "error", err, nil)
	same(t, "decided", decided, drover.Decided{Run: filledRun, Repeated: true})
	sameMessage(t, *decide, &droverpb.DecideRequest{
		Run: refOf("r"), StepId: "release", Approver: "ada", Roles: []string{"finance"},
		Decision: droverpb.DecisionKind_DECISION_KIND_REJECT, Comment: "too much", Form: jsonOf("7"),
	})
}

func TestACallWithoutAMethodGoesOverTheConnectionOfTheClient(t *testing.T) {
	server := newScript(t)
	request := asked[*droverpb.PauseQueueRequest](server,
		droverpb.OperatorService_PauseQueue_FullMethodName, &droverpb.PauseQueueResponse{})
	client := server.client(drover.WithNamespace("bank"))
	_, err := droverpb.NewOperatorServiceClient(client.Conn()).PauseQueue(t.Context(),
		&droverpb.PauseQueueRequest{Queue: "default"})
	equal(t, "error", err, nil)
	sameMessage(t, *request, &droverpb.PauseQueueRequest{Namespace: "bank", Queue: "default"})
}
