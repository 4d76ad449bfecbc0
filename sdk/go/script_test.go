package drover_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// script is a server without an engine, behind a connection of its own: every answer is given by the
// test. A test takes a call with next and answers it, or sets once with always the answer to
// each. A call without an answer stays parked until its caller gives it up.
//
// Tests that use it run in a bubble of synctest, whose clock moves when all goroutines wait.
type script struct {
	t         *testing.T
	poll      *inbox[*droverpb.PollTaskRequest, *droverpb.PollTaskResponse]
	heartbeat *inbox[*droverpb.HeartbeatRequest, *droverpb.HeartbeatResponse]
	complete  *inbox[*droverpb.CompleteRequest, *droverpb.CompleteResponse]
	logs      *inbox[*droverpb.AppendLogsRequest, *droverpb.AppendLogsResponse]
	other     map[string]func(request proto.Message) (proto.Message, error)
}

type inbox[I, O proto.Message] struct {
	t     *testing.T
	calls chan *incoming[I, O]

	mu    sync.Mutex
	reply func(*incoming[I, O])
}

type incoming[I, O proto.Message] struct {
	request I
	ctx     context.Context
	reply   chan error
	answerd O
}

func newScript(t *testing.T) *script {
	return &script{
		t:         t,
		poll:      newInbox[*droverpb.PollTaskRequest, *droverpb.PollTaskResponse](t),
		heartbeat: newInbox[*droverpb.HeartbeatRequest, *droverpb.HeartbeatResponse](t),
		complete:  newInbox[*droverpb.CompleteRequest, *droverpb.CompleteResponse](t),
		logs:      newInbox[*droverpb.AppendLogsRequest, *droverpb.AppendLogsResponse](t),
		other:     map[string]func(proto.Message) (proto.Message, error){},
	}
}

func newInbox[I, O proto.Message](t *testing.T) *inbox[I, O] {
	return &inbox[I, O]{t: t, calls: make(chan *incoming[I, O], 1_000)}
}

// next waits for at most ten minutes of the bubble's clock.
func (i *inbox[I, O]) next() *incoming[I, O] {
	i.t.Helper()
	select {
	case call := <-i.calls:
		return call
	case <-time.After(10 * time.Minute):
		i.t.Fatalf("no call came")
		return nil
	}
}

func (c *incoming[I, O]) answer(answer O) {
	c.answerd = answer
	c.reply <- nil
}

func (c *incoming[I, O]) fail(code codes.Code, reason string, retryAfter ...time.Duration) {
	c.reply <- status.FromProto(statusOf(code, reason, retryAfter...)).Err()
}

// statusOf is a status as the server makes it; without a reason, one that gRPC made.
func statusOf(code codes.Code, reason string, retryAfter ...time.Duration) *statuspb.Status {
	made := status.New(code, reason+" by the script")
	if reason == "" {
		return made.Proto()
	}
	made, _ = made.WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: "drover"})
	for _, wait := range retryAfter {
		made, _ = made.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	}
	return made.Proto()
}

// refusedField is the error of a call that names what is wrong with it.
func refusedField(code codes.Code, reason, path string) error {
	violation := &errdetails.BadRequest_FieldViolation{Field: path, Description: "is refused"}
	bad := &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{violation}}
	made, _ := status.FromProto(statusOf(code, reason)).WithDetails(bad)
	return made.Err()
}

// always answers each call from now on.
func (i *inbox[I, O]) always(reply func(*incoming[I, O])) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reply = reply
}

func (i *inbox[I, O]) invoke(ctx context.Context, request, reply any) error {
	call := &incoming[I, O]{request: request.(I), ctx: ctx, reply: make(chan error, 1)}
	i.mu.Lock()
	always := i.reply
	i.mu.Unlock()
	if always != nil {
		go always(call)
	} else {
		i.calls <- call
	}
	select {
	case err := <-call.reply:
		if err == nil {
			proto.Merge(reply.(proto.Message), call.answerd)
		}
		return err
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// Invoke is that of grpc.ClientConnInterface.
func (s *script) Invoke(ctx context.Context, method string, request, reply any,
	_ ...grpc.CallOption) error {
	switch method {
	case droverpb.AgentService_PollTask_FullMethodName:
		return s.poll.invoke(ctx, request, reply)
	case droverpb.AgentService_Heartbeat_FullMethodName:
		return s.heartbeat.invoke(ctx, request, reply)
	case droverpb.AgentService_Complete_FullMethodName:
		return s.complete.invoke(ctx, request, reply)
	case droverpb.AgentService_AppendLogs_FullMethodName:
		return s.logs.invoke(ctx, request, reply)
	}
	answer, known := s.other[method]
	if !known {
		return status.Errorf(codes.Unimplemented, "the script has no %s", method)
	}
	message, err := answer(proto.Clone(request.(proto.Message)))
	if err == nil {
		proto.Merge(reply.(proto.Message), message)
	}
	return err
}

// NewStream is that of grpc.ClientConnInterface.
func (s *script) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (
	grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "the script has no streams")
}

// running is an agent that runs against a script.
type running struct {
	stop func()
	// ended has what Run returned.
	ended chan error
}

func (s *script) start(options ...drover.AgentOption) *running {
	s.t.Helper()
	quiet := drover.WithLog(slog.New(slog.DiscardHandler))
	all := append([]drover.AgentOption{drover.WithConn(s), quiet}, options...)
	agent, err := drover.NewAgent("127.0.0.1:1", "an-agent", all...)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.t.Context())
	made := &running{stop: stop, ended: make(chan error, 1)}
	go func() { made.ended <- agent.Run(ctx) }()
	return made
}

// inBubble runs a test on a clock of its own.
func inBubble(t *testing.T, test func(t *testing.T, server *script)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, newScript(t))
	})
}

type (
	pollCall      = incoming[*droverpb.PollTaskRequest, *droverpb.PollTaskResponse]
	heartbeatCall = incoming[*droverpb.HeartbeatRequest, *droverpb.HeartbeatResponse]
	completeCall  = incoming[*droverpb.CompleteRequest, *droverpb.CompleteResponse]
	logsCall      = incoming[*droverpb.AppendLogsRequest, *droverpb.AppendLogsResponse]
)

func aTask(token string, change ...func(*droverpb.Task)) *droverpb.Task {
	task := &droverpb.Task{
		TaskToken:         token,
		CallbackToken:     "callback-" + token,
		RunId:             "run-1",
		StepId:            token,
		Attempt:           1,
		Workflow:          "trip",
		Kind:              droverpb.TaskKind_TASK_KIND_PERFORM,
		Task:              "book-flight",
		Queue:             "default",
		IdempotencyKey:    "key-" + token,
		Fence:             1,
		LeaseFor:          durationpb.New(9 * time.Second),
		AttemptFor:        durationpb.New(15 * time.Minute),
		HeartbeatInterval: durationpb.New(3 * time.Second),
	}
	for _, one := range change {
		one(task)
	}
	return task
}

func tasksOf(tasks ...*droverpb.Task) *droverpb.PollTaskResponse {
	return &droverpb.PollTaskResponse{Tasks: tasks}
}

func carryOn() *droverpb.HeartbeatAnswer {
	leaseFor := durationpb.New(9 * time.Second)
	kind := &droverpb.HeartbeatAnswer_CarryOn{LeaseFor: leaseFor}
	return &droverpb.HeartbeatAnswer{Answer: &droverpb.HeartbeatAnswer_CarryOn_{CarryOn: kind}}
}

func cancelWithin(within time.Duration) *droverpb.HeartbeatAnswer {
	kind := &droverpb.HeartbeatAnswer_Cancel{Within: durationpb.New(within)}
	return &droverpb.HeartbeatAnswer{Answer: &droverpb.HeartbeatAnswer_Cancel_{Cancel: kind}}
}

func leaseLost() *droverpb.HeartbeatAnswer {
	kind := &droverpb.HeartbeatAnswer_LeaseLost_{LeaseLost: &droverpb.HeartbeatAnswer_LeaseLost{}}
	return &droverpb.HeartbeatAnswer{Answer: kind}
}

func heartbeatAnswer(answers ...*droverpb.HeartbeatAnswer) *droverpb.HeartbeatResponse {
	return &droverpb.HeartbeatResponse{Answers: answers}
}

// accepted answers each report of a call.
func accepted(call *completeCall, tasks ...*droverpb.Task) {
	answer := &droverpb.CompleteResponse{Tasks: tasks}
	for range call.request.GetResults() {
		answer.Answers = append(answer.Answers, &droverpb.CompleteAnswer{})
	}
	call.answer(answer)
}

func tokensOf(results []*droverpb.TaskResult) []string {
	var tokens []string
	for _, result := range results {
		tokens = append(tokens, result.GetTaskToken())
	}
	return tokens
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
