package drover_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

func (s *script) client(options ...drover.ClientOption) *drover.Client {
	s.t.Helper()
	all := append([]drover.ClientOption{drover.WithConn(s)}, options...)
	client, err := drover.NewClient("127.0.0.1:1", all...)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// on sets the answer to a method.
func on[I, O proto.Message](s *script, method string, answer func(request I) (O, error)) {
	s.other[method] = func(request proto.Message) (proto.Message, error) {
		return answer(request.(I))
	}
}

func failure(code codes.Code, reason string, retryAfter ...time.Duration) error {
	return status.FromProto(statusOf(code, reason, retryAfter...)).Err()
}

func TestARunIsScheduledUnderAKeyOfItsOwnAndARepeatIsTheSameRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		var seen []*droverpb.ScheduleRequest
		on(server, droverpb.SchedulerService_Schedule_FullMethodName,
			func(request *droverpb.ScheduleRequest) (*droverpb.ScheduleResponse, error) {
				seen = append(seen, request)
				if len(seen) < 3 {
					return nil, failure(codes.Unavailable, "")
				}
				return &droverpb.ScheduleResponse{RunId: "r1", Created: true}, nil
			})
		client := server.client(drover.WithNamespace("travel"))
		made, err := client.Schedule(t.Context(), drover.Start{Workflow: "trip", Input: []int{1}})
		equal(t, "error", err, nil)
		equal(t, "run", made.RunID, "r1")
		equal(t, "key", made.Key, seen[0].GetKey())
		equal(t, "length of the key", len(made.Key), 26)
		equal(t, "namespace", seen[0].GetNamespace(), "travel")
		equal(t, "input", seen[0].GetInput().GetJson(), "[1]")
		equal(t, "repeat", proto.Equal(seen[0], seen[2]), true)
	})
}

func TestALonelyScheduleGoesOutAtOnceAndWhatComesMeanwhileGoesWithTheNextCall(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		started := time.Now()
		var mu sync.Mutex
		var batches []int
		answered := make(chan struct{})
		on(server, droverpb.SchedulerService_Schedule_FullMethodName,
			func(request *droverpb.ScheduleRequest) (*droverpb.ScheduleResponse, error) {
				equal(t, "time of the single one", time.Since(started), 0)
				<-answered
				return &droverpb.ScheduleResponse{RunId: "r-" + request.GetKey()}, nil
			})
		on(server, droverpb.SchedulerService_ScheduleBatch_FullMethodName,
			func(request *droverpb.ScheduleBatchRequest) (*droverpb.ScheduleBatchResponse, error) {
				mu.Lock()
				batches = append(batches, len(request.GetRuns()))
				mu.Unlock()
				answer := &droverpb.ScheduleBatchResponse{}
				for _, run := range request.GetRuns() {
					result := &droverpb.ScheduleResult{RunId: "r-" + run.GetKey()}
					if run.GetKey() == "k-7" {
						result = &droverpb.ScheduleResult{Status: statusOf(codes.AlreadyExists, "KEY_REUSED")}
					}
					answer.Results = append(answer.Results, result)
				}
				return answer, nil
			})
		client := server.client()
		start := func(key string) error {
			made, err := client.Schedule(t.Context(), drover.Start{Workflow: "trip", Key: key})
			if err == nil && made.RunID != drover.RunID("r-"+key) {
				return fmt.Errorf("%s became %s", key, made.RunID)
			}
			return err
		}
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if err := start("k"); err != nil {
				t.Errorf("k: %v", err)
			}
		})
		synctest.Wait()
		for number := range 250 {
			waiting.Go(func() {
				err := start(fmt.Sprintf("k-%d", number))
				if reused := errors.Is(err, drover.Reason("KEY_REUSED")); reused != (number == 7) {
					t.Errorf("k-%d: %v", number, err)
				}
			})
		}
		// Full calls wait for no other.
		synctest.Wait()
		close(answered)
		waiting.Wait()
		equal(t, "batches", batches, []int{100, 100, 50})
		equal(t, "time", time.Since(started), 0)
	})
}

func TestStartsThatAreNotAnsweredKeepBackNoOtherForLongerThanASecond(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		answered := make(chan struct{})
		on(server, droverpb.SchedulerService_Schedule_FullMethodName,
			func(request *droverpb.ScheduleRequest) (*droverpb.ScheduleResponse, error) {
				if request.GetKey() != "fifth" {
					<-answered
				}
				return &droverpb.ScheduleResponse{RunId: "r"}, nil
			})
		client := server.client()
		var waiting sync.WaitGroup
		for number := range 4 {
			waiting.Go(func() {
				_, err := client.Schedule(t.Context(), drover.Start{Workflow: "trip", Key: fmt.Sprint(number)})
				equal(t, "error", err, nil)
			})
			// The next call waits no longer for a slow one.
			time.Sleep(250 * time.Millisecond)
		}
		_, err := client.Schedule(t.Context(), drover.Start{Workflow: "trip", Key: "fifth"})
		equal(t, "error", err, nil)
		close(answered)
		waiting.Wait()
	})
}

func TestADefiniteRefusalIsReturnedAtOnceWithReasonFieldsAndMetadata(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		calls := 0
		on(server, droverpb.SchedulerService_GetRun_FullMethodName,
			func(*droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
				calls++
				return nil, failure(codes.NotFound, "RUN_NOT_FOUND")
			})
		_, err := server.client().GetRun(t.Context(), drover.RunKey("k"), drover.Include{})
		var refused *drover.CallError
		if !errors.As(err, &refused) || refused.Code != codes.NotFound {
			t.Fatalf("got %v", err)
		}
		equal(t, "reason", errors.Is(err, drover.Reason("RUN_NOT_FOUND")), true)
		equal(t, "status", status.Code(err), codes.NotFound)
		equal(t, "calls", calls, 1)
	})
}

func TestAServerThatStaysAwayIsGivenUpWhenPatienceEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		on(server, droverpb.SchedulerService_GetRun_FullMethodName,
			func(*droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
				return nil, failure(codes.Unavailable, "")
			})
		started := time.Now()
		_, err := server.client(drover.WithPatience(3*time.Second)).GetRun(t.Context(), drover.RunID("r"), drover.Include{})
		equal(t, "code", status.Code(err), codes.Unavailable)
		if took := time.Since(started); took > 3*time.Second || took < time.Second {
			t.Fatalf("it took %s", took)
		}
	})
}

func TestACallThatFailsAfterALongWaitIsRepeatedAllTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		tries := 0
		on(server, droverpb.SchedulerService_GetRun_FullMethodName,
			func(*droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
				if tries++; tries > 1 {
					return &droverpb.GetRunResponse{Run: &droverpb.Run{RunId: "r"}}, nil
				}
				time.Sleep(4 * time.Second)
				return nil, failure(codes.Unavailable, "")
			})
		_, err := server.client(drover.WithPatience(3*time.Second)).GetRun(t.Context(), drover.RunID("r"), drover.Include{})
		equal(t, "error", err, nil)
		equal(t, "tries", tries, 2)
	})
}

func TestACallThatIsGivenUpHasTheCauseOfItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		on(server, droverpb.SchedulerService_GetRun_FullMethodName,
			func(*droverpb.GetRunRequest) (*droverpb.GetRunResponse, error) {
				return nil, failure(codes.Unavailable, "")
			})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := server.client().GetRun(ctx, drover.RunID("r"), drover.Include{})
		equal(t, "cause", errors.Is(err, context.DeadlineExceeded), true)
	})
}

func TestWaitRunAsksAgainUntilTheRunHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		calls := 0
		on(server, droverpb.SchedulerService_WaitRun_FullMethodName,
			func(request *droverpb.WaitRunRequest) (*droverpb.WaitRunResponse, error) {
				calls++
				equal(t, "wait", request.GetWait().AsDuration(), 30*time.Second)
				switch calls {
				case 1:
					return nil, failure(codes.Unavailable, "DRAINING", time.Second)
				case 2:
					return &droverpb.WaitRunResponse{}, nil
				}
				return &droverpb.WaitRunResponse{Ended: true, Run: &droverpb.Run{RunId: "r"}}, nil
			})
		run, err := server.client().WaitRun(t.Context(), drover.RunID("r"))
		equal(t, "error", err, nil)
		equal(t, "run", run.RunID, "r")
		equal(t, "calls", calls, 3)
	})
}

func TestListsGoThroughAllPages(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		on(server, droverpb.SchedulerService_ListRuns_FullMethodName,
			func(request *droverpb.ListRunsRequest) (*droverpb.ListRunsResponse, error) {
				if request.GetPageToken() == "" {
					runs := []*droverpb.Run{{RunId: "a"}, {RunId: "b"}}
					return &droverpb.ListRunsResponse{Runs: runs, NextPageToken: "2"}, nil
				}
				return &droverpb.ListRunsResponse{Runs: []*droverpb.Run{{RunId: "c"}}}, nil
			})
		var ids []string
		for run, err := range server.client().ListRuns(t.Context(), drover.RunFilter{}) {
			equal(t, "error", err, nil)
			ids = append(ids, string(run.RunID))
		}
		equal(t, "ids", ids, []string{"a", "b", "c"})
	})
}

func TestASignalGoesOutUnderAnIDOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		var ids []string
		on(server, droverpb.SchedulerService_Signal_FullMethodName,
			func(request *droverpb.SignalRequest) (*droverpb.SignalResponse, error) {
				ids = append(ids, request.GetSignalId())
				if len(ids) == 1 {
					return nil, failure(codes.Internal, "")
				}
				return &droverpb.SignalResponse{}, nil
			})
		_, err := server.client().Signal(t.Context(), drover.RunKey("k"), "paid", "", nil)
		equal(t, "error", err, nil)
		equal(t, "length", len(ids[0]), 26)
		equal(t, "repeat", ids[0], ids[1])
	})
}

func TestABulkActionGoesPageByPageUnderOneName(t *testing.T) {
	inBubble(t, func(t *testing.T, server *script) {
		names := map[string]bool{}
		on(server, droverpb.SchedulerService_BulkAction_FullMethodName,
			func(request *droverpb.BulkActionRequest) (*droverpb.BulkActionResponse, error) {
				if request.GetDryRun() {
					equal(t, "name of a question", request.GetRequestId(), "")
					return &droverpb.BulkActionResponse{Count: 2}, nil
				}
				names[request.GetRequestId()] = true
				equal(t, "expected", request.GetExpectedCount(), 2)
				answer := &droverpb.BulkActionResponse{Results: []*droverpb.BulkResult{{RunId: "r"}}}
				if request.GetPageToken() == "" {
					answer.NextPageToken = "2"
				}
				return answer, nil
			})
		client := server.client()
		action := drover.BulkAction{Kind: drover.BulkCancel}
		count, err := client.CountForBulk(t.Context(), action)
		equal(t, "error", err, nil)
		action.ExpectedCount = &count
		results := 0
		for _, err := range client.Bulk(t.Context(), action) {
			equal(t, "error", err, nil)
			results++
		}
		equal(t, "results", results, 2)
		equal(t, "names", len(names), 1)
	})
}

func TestADeferredFailureIsOneThatAHandlerCouldReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newScript(t)
		on(server, droverpb.SchedulerService_CompleteDeferred_FullMethodName,
			func(request *droverpb.CompleteDeferredRequest) (*droverpb.CompleteDeferredResponse, error) {
				equal(t, "code", request.GetFailed().GetCode(), "lost-parcel")
				return &droverpb.CompleteDeferredResponse{Repeated: true}, nil
			})
		client := server.client()
		repeated, err := client.FailDeferred(t.Context(), "token", drover.Permanent("lost-parcel", "Gone."))
		equal(t, "error", err, nil)
		equal(t, "repeated", repeated, true)
		if _, err := client.FailDeferred(t.Context(), "token", errors.New("gone")); err == nil {
			t.Fatal("any error is taken")
		}
	})
}
