package drover

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Start describes a run to start.
type Start struct {
	// Workflow is the name of a registered workflow. Definition, instead of it, is a definition for
	// this run only.
	Workflow   string
	Definition *Definition
	// Version of the registered workflow. Default: the default version.
	Version int
	// Input has a JSON form, or is a payload. Default: none.
	Input any
	// Key is the caller's own name for the run: one key starts one run only. Default: random.
	Key string
	// Priority is 1 (first) to 9 (last). Default 5.
	Priority int
	Labels   map[string]string
	// StartTime is when the run starts; a time in the past means now. Default: at once.
	StartTime time.Time
	// Concurrency limits how many runs of one key are in progress. Default: no limit.
	Concurrency *Concurrency
	// NotifyHook is the hook that is notified of the end of the run, at NotifyURL if that is given.
	// Default: none.
	NotifyHook string
	NotifyURL  string
}

// Concurrency limits how many runs of one key are in progress.
type Concurrency struct {
	// Key within the namespace of the run, such as "customer-17".
	Key string
	// Limit: the run starts only while fewer runs of the key are in progress. 0 means 1; at most
	// 1,000.
	Limit int
	// Policy is what happens while there is no free permit. Default: PolicyQueue.
	Policy ConcurrencyPolicy
}

// ConcurrencyPolicy is what happens to a run for which there is no free permit.
type ConcurrencyPolicy string

// What happens to a run for which there is no free permit.
const (
	// PolicyQueue: the run waits.
	PolicyQueue ConcurrencyPolicy = "queue"
	// PolicyRefuse: the run is refused with [ReasonConcurrencyLimit].
	PolicyRefuse ConcurrencyPolicy = "refuse"
	// PolicyCancelOldest: the oldest run of the key is cancelled and undone.
	PolicyCancelOldest ConcurrencyPolicy = "cancel-oldest"
	// PolicyQueueOne: the run waits unless another one already does.
	PolicyQueueOne ConcurrencyPolicy = "queue-one"
)

func (c *Concurrency) message() (*droverpb.Concurrency, error) {
	if c == nil {
		return nil, nil
	}
	policy, err := valueOfWord[droverpb.ConcurrencyPolicy](cmp.Or(c.Policy, PolicyQueue))
	return &droverpb.Concurrency{Key: c.Key, Limit: int32(c.Limit), Policy: policy}, err
}

func concurrencyOf(message *droverpb.Concurrency) *Concurrency {
	if message == nil {
		return nil
	}
	return &Concurrency{
		Key:    message.GetKey(),
		Limit:  int(message.GetLimit()),
		Policy: wordOf[ConcurrencyPolicy](message.GetPolicy()),
	}
}

// Started is a run that was started.
type Started struct {
	RunID RunID
	Key   string
	// Created false: an earlier call with this key created the run.
	Created bool
	// Err is set in a batch if this run was refused and the others were not. A run with the code
	// Unavailable may have started: start it again under its key.
	Err error
}

// Schedule starts a run. Concurrent calls share a request, up to 100 runs each, so many goroutines
// may call it; a single call is sent at once.
func (c *Client) Schedule(ctx context.Context, start Start) (Started, error) {
	request, err := c.toSchedule(ctx, start)
	if err != nil {
		return Started{}, err
	}
	made := c.starts.start(ctx, request)
	return made, made.Err
}

// ScheduleBatch starts up to 500 runs in one call, with a result for each, in the same order.
func (c *Client) ScheduleBatch(ctx context.Context, starts []Start) ([]Started, error) {
	requests := make([]*droverpb.ScheduleRequest, len(starts))
	for at, start := range starts {
		request, err := c.toSchedule(ctx, start)
		if err != nil {
			return nil, fmt.Errorf("drover: run %d: %w", at, err)
		}
		requests[at] = request
	}
	request := &droverpb.ScheduleBatchRequest{Runs: requests}
	answer, err := c.scheduler.ScheduleBatch(ctx, request)
	if err != nil {
		return nil, err
	}
	made := make([]Started, len(starts))
	for at, request := range requests {
		made[at] = startedOf(request, answer, at)
	}
	return made, nil
}

func startedOf(request *droverpb.ScheduleRequest, answer *droverpb.ScheduleBatchResponse,
	at int) Started {
	made := Started{Key: request.GetKey()}
	if at >= len(answer.GetResults()) {
		made.Err = &CallError{Code: codes.Internal, Message: "The server left out a result."}
		return made
	}
	result := answer.GetResults()[at]
	if result.GetStatus().GetCode() != int32(codes.OK) {
		made.Err = callErrorOfProto(result.GetStatus())
		return made
	}
	made.RunID, made.Created = RunID(result.GetRunId()), result.GetCreated()
	return made
}

func (c *Client) toSchedule(ctx context.Context, start Start) (*droverpb.ScheduleRequest, error) {
	input, err := encode(c.calls.codec, start.Input)
	if err != nil {
		return nil, err
	}
	if (start.Workflow == "") == (start.Definition == nil) {
		return nil, errors.New("drover: a run needs either the name of a workflow or a definition")
	}
	concurrency, err := start.Concurrency.message()
	if err != nil {
		return nil, err
	}
	request := &droverpb.ScheduleRequest{
		Namespace:   c.calls.namespace,
		Input:       input,
		Key:         start.Key,
		Priority:    int32(start.Priority),
		Labels:      start.Labels,
		Concurrency: concurrency,
		StartTime:   timestampOf(start.StartTime),
	}
	inTraceOf(ctx, request)
	if request.Key == "" {
		request.Key = rand.Text()
	}
	if start.Definition != nil {
		request.Target = &droverpb.ScheduleRequest_Definition{Definition: start.Definition.message}
	} else {
		workflow := &droverpb.WorkflowRef{Name: start.Workflow, Version: int32(start.Version)}
		request.Target = &droverpb.ScheduleRequest_Workflow{Workflow: workflow}
	}
	if start.NotifyHook != "" || start.NotifyURL != "" {
		request.Notify = &droverpb.Notify{Hook: start.NotifyHook, Url: start.NotifyURL}
	}
	return request, nil
}

// starting is a run on its way.
type starting struct {
	ctx     context.Context
	request *droverpb.ScheduleRequest
	made    chan Started // holds one
}

type starts struct {
	gatherer[starting]
	scheduler droverpb.SchedulerServiceClient
}

// yieldsAfter: a start that is sent alone counts as a call under way no more. It may be repeated for long,
// as its shard does not answer, and would keep back the starts of others.
const yieldsAfter = time.Second

func newStarts(scheduler droverpb.SchedulerServiceClient) *starts {
	s := &starts{scheduler: scheduler}
	s.gatherer.itemsMax = 100
	s.gatherer.prepare = func(batch []starting) func() sent[starting] {
		return func() sent[starting] { return s.call(batch) }
	}
	s.gatherer.size = func(one starting) int { return proto.Size(one.request) }
	return s
}

// start waits no longer than its context; what was sent may take effect all the same.
func (s *starts) start(ctx context.Context, request *droverpb.ScheduleRequest) Started {
	made := make(chan Started, 1)
	s.add(starting{ctx, request, made})
	select {
	case started := <-made:
		return started
	case <-ctx.Done():
		err := fmt.Errorf("drover: the call was given up: %w", context.Cause(ctx))
		return Started{Key: request.GetKey(), Err: err}
	}
}

func (s *starts) call(batch []starting) sent[starting] {
	if len(batch) == 1 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.alone(batch[0])
		}()
		timer := time.NewTimer(yieldsAfter)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
		return sent[starting]{}
	}
	request := &droverpb.ScheduleBatchRequest{}
	for _, one := range batch {
		request.Runs = append(request.Runs, one.request)
	}
	// No caller's context ends the call of the others; the patience of the client does.
	answer, err := s.scheduler.ScheduleBatch(context.WithoutCancel(batch[0].ctx), request)
	if err != nil {
		if callErrorOf(err).outcome() == definite {
			return sent[starting]{again: batch, alone: true}
		}
		for _, one := range batch {
			one.made <- Started{Key: one.request.GetKey(), Err: err}
		}
		return sent[starting]{}
	}
	for at, one := range batch {
		made := startedOf(one.request, answer, at)
		if made.Err != nil && callErrorOf(made.Err).outcome() != definite {
			// What may pass is repeated as any call is.
			go s.alone(one)
			continue
		}
		one.made <- made
	}
	return sent[starting]{}
}

func (s *starts) alone(one starting) {
	made := Started{Key: one.request.GetKey()}
	answer, err := s.scheduler.Schedule(one.ctx, one.request)
	made.RunID, made.Created, made.Err = RunID(answer.GetRunId()), answer.GetCreated(), err
	one.made <- made
}
