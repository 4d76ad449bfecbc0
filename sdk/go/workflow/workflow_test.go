package workflow_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/drover-dev/drover/sdk/go/droverpb"
	"github.com/drover-dev/drover/sdk/go/internal/defined"
	"github.com/drover-dev/drover/sdk/go/workflow"
)

// The messages in testdata are those that the server reads from the texts, in protobuf's JSON; a test
// of the repository checks that (test/e2e/go-sdk.test.ts).
func TestAWorkflowInGoIsTheMessageOfItsText(t *testing.T) {
	for name, made := range map[string]workflow.Workflow{
		"everything": everything, "holiday": holiday, "order": order,
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			want := &droverpb.WorkflowDefinition{}
			if err := protojson.Unmarshal(text, want); err != nil {
				t.Fatal(err)
			}
			definition, err := made.Definition()
			if err != nil {
				t.Fatal(err)
			}
			got := defined.Message(definition)
			if !proto.Equal(got, want) {
				t.Fatalf("got %s\nwant %s", protojson.Format(got), protojson.Format(want))
			}
		})
	}
}

func TestWhatIsWrongNamesTheStep(t *testing.T) {
	_, err := workflow.Workflow{Name: "w", Steps: []workflow.Step{
		{ID: "a"},
		{ID: "b", Do: workflow.Task{Name: "t"}, Input: func() {}},
		{ID: "c", Do: workflow.Task{Name: "t"}, Effects: "twice"},
	}}.Definition()
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, text := range []string{`step "a": it does nothing`, `step "b"`, `step "c": "twice"`} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in %v", text, err)
		}
	}
}

func share(of float64) *float64                { return &of }
func most(of workflow.Amount) *workflow.Amount { return &of }

var everything = workflow.Workflow{
	Name:        "everything",
	Timeout:     24 * time.Hour,
	InputSchema: map[string]string{"type": "object"},
	Steps: []workflow.Step{
		{
			ID:    "pay",
			Do:    workflow.Task{Name: "charge", Queue: "money"},
			Input: map[string]string{"amount": "${input.amount}"},
			Retry: []workflow.Retry{{
				On: []string{"busy"}, Attempts: 3, Initial: time.Second, Factor: 3,
				Max: 10 * time.Second, Jitter: share(0),
			}},
			Timeouts: &workflow.Timeouts{
				Pickup: time.Minute, Attempt: time.Minute, Heartbeat: 9 * time.Second,
				Stall: 5 * time.Second, Total: time.Hour, Cancel: new(time.Duration),
				Settle: new(time.Duration), Callback: 2 * time.Hour,
			},
			Effects: workflow.Verifiable,
			Logs:    workflow.LogsOff,
			Verify: &workflow.Beside{
				Task: "find-charge", Queue: "lookups", Retry: []workflow.Retry{{Attempts: 9}},
				Timeouts: &workflow.Timeouts{Attempt: 3 * time.Second},
			},
			Compensate: &workflow.Compensate{
				Beside: workflow.Beside{
					Task: "refund", Timeouts: &workflow.Timeouts{Attempt: 2 * time.Minute},
				},
				Attempted: true,
			},
			Fallback: []workflow.Fallback{
				{Input: map[string]string{"card": "second"}},
				{Queue: "money-eu", Task: "charge-eu"},
			},
			OnPickup:     workflow.PickupFallback,
			OnFailure:    workflow.FailureEscalate,
			Escalation:   &workflow.Escalation{Remind: 2 * time.Hour, Deadline: 24 * time.Hour, Then: "fail"},
			OutputSchema: map[string]string{"type": "object"},
		},
		{ID: "cool", Do: workflow.Wait{For: 30 * time.Minute}, Needs: []string{"pay"}},
		{ID: "open", Do: workflow.Wait{Until: "2026-03-01T08:00:00Z"}, When: "input.waits"},
		{
			ID: "paid", Do: workflow.Signal{Name: "paid"}, Needs: []string{"cool", "open"},
			RunIf: workflow.AnyOK,
		},
		{
			ID:    "sent",
			Do:    workflow.Signal{Name: "sent", Within: 48 * time.Hour, OnExpiry: "skip"},
			Pivot: true,
		},
		{ID: "release", Do: workflow.Approval{
			Approvers: []string{"finance"}, Need: 2, NotRequester: true, Form: true,
			Within: 24 * time.Hour, OnExpiry: "reject",
		}},
		{
			ID: "bill", Do: workflow.Run{Workflow: "billing"},
			Fallback: []workflow.Fallback{{Run: &workflow.Run{Workflow: "billing-eu", Version: 2}}},
		},
		{ID: "deploy", Do: workflow.Map{
			Over: "input.hosts", Task: "deploy", Queue: "deploy-${item}", Concurrency: 5,
			Tolerate: most(workflow.Percent(5)),
			Waves: &workflow.Waves{
				Size: workflow.Percent(25), Pause: 10 * time.Minute,
				Gate: &workflow.Gate{
					Beside: workflow.Beside{Task: "check", Timeouts: &workflow.Timeouts{Attempt: time.Minute}},
					Input:  map[string]bool{"deep": true},
				},
			},
		}},
		{
			ID: "few",
			Do: workflow.Map{
				Over: "3", Task: "count", Tolerate: most(workflow.Count(0)),
				Waves: &workflow.Waves{Size: workflow.Count(2)},
			},
			Effects: workflow.Once,
		},
		{
			ID: "notify", Do: workflow.Task{Name: "send-mail"}, Always: true,
			OnFailure: workflow.FailureContinue,
			Retry:     []workflow.Retry{{Attempts: 2}, {Factor: 1.5}},
		},
	},
}

var travelRetry = []workflow.Retry{
	{On: []string{"busy"}, Attempts: 10, Initial: 500 * time.Millisecond, Max: 5 * time.Second},
	{
		Attempts: 6, Initial: 200 * time.Millisecond, Factor: 2, Max: 2 * time.Second,
		Jitter: share(0.2),
	},
}

func travelBeside(task string) workflow.Beside {
	return workflow.Beside{
		Task: task,
		Retry: []workflow.Retry{
			{Attempts: 10, Initial: 200 * time.Millisecond, Max: 2 * time.Second},
		},
		Timeouts: &workflow.Timeouts{Attempt: 10 * time.Second, Heartbeat: 2 * time.Second},
	}
}

func booking(thing string, change func(*workflow.Step)) workflow.Step {
	step := workflow.Step{
		ID:    thing,
		Do:    workflow.Task{Name: "book-" + thing, Queue: "travel"},
		Needs: []string{"flight"},
		Retry: travelRetry,
		Timeouts: &workflow.Timeouts{
			Pickup: 20 * time.Second, Attempt: 10 * time.Second, Heartbeat: 2 * time.Second,
			Total: time.Minute,
		},
		Compensate: &workflow.Compensate{Beside: travelBeside("cancel-" + thing)},
	}
	change(&step)
	return step
}

var holiday = workflow.Workflow{
	Name:    "book-holiday",
	Timeout: 5 * time.Minute,
	Steps: []workflow.Step{
		booking("flight", func(step *workflow.Step) {
			verify := travelBeside("find-flight")
			step.Needs, step.Effects, step.Verify = nil, workflow.Verifiable, &verify
		}),
		booking("hotel", func(step *workflow.Step) {
			settle := 2 * time.Second
			step.Timeouts.Settle = &settle
			second := map[string]string{"hotel": "${input.second_hotel}"}
			step.Fallback = []workflow.Fallback{{Input: second}}
		}),
		booking("car", func(*workflow.Step) {}),
	},
}

func orderStep(id, task string, needs ...string) workflow.Step {
	return workflow.Step{
		ID:    id,
		Do:    workflow.Task{Name: task, Queue: "orders"},
		Needs: needs,
		Retry: []workflow.Retry{
			{On: []string{"rate-limited"}, Attempts: 10, Initial: 100 * time.Millisecond, Max: 2 * time.Second},
			{Attempts: 5, Initial: 50 * time.Millisecond},
		},
		Timeouts: &workflow.Timeouts{Heartbeat: 2 * time.Second, Attempt: 10 * time.Second},
	}
}

func undone(step workflow.Step, task string) workflow.Step {
	step.Compensate = workflow.Undo(task)
	step.Compensate.Retry = []workflow.Retry{{Initial: 50 * time.Millisecond}}
	return step
}

var order = workflow.Workflow{
	Name:    "fulfil-order",
	Timeout: 5 * time.Minute,
	Steps: []workflow.Step{
		undone(orderStep("reserve", "reserve-stock"), "put-back-stock"),
		{
			ID: "approve", Needs: []string{"reserve"}, When: "${input.euros > 500}",
			Do: workflow.Approval{
				Approvers: []string{"sales"}, Within: 3 * time.Second, OnExpiry: "reject",
			},
		},
		undone(orderStep("charge", "charge-customer", "reserve", "approve"), "refund-customer"),
		orderStep("ship", "ship-parcel", "charge"),
		{
			ID: "tell", Always: true, Do: workflow.Task{Name: "tell-customer", Queue: "orders"},
			Input: struct {
				Ref     string `json:"ref"`
				Shipped string `json:"shipped"`
			}{"${input.ref}", "${steps.ship.status == 'SUCCEEDED'}"},
			Retry:    []workflow.Retry{{Attempts: 10, Initial: 50 * time.Millisecond}},
			Timeouts: &workflow.Timeouts{Heartbeat: 2 * time.Second, Attempt: 10 * time.Second},
		},
	},
}
