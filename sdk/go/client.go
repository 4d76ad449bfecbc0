package drover

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Client is for services that start work and want to know how it ended.
type Client struct {
	calls     *calls
	scheduler droverpb.SchedulerServiceClient
	operator  droverpb.OperatorServiceClient
	starts    *starts
	done      func()
}

// NewClient makes a client of the server at host:port, or of several with commas between the addresses.
// It connects when it is first used.
func NewClient(address string, options ...ClientOption) (*Client, error) {
	settings := &clientSettings{
		shared:   sharedOf(address),
		patience: 30 * time.Second,
	}
	for _, option := range options {
		option.forClient(settings)
	}
	conn, done, err := settings.dial()
	if err != nil {
		return nil, err
	}
	calls := &calls{conn, settings.namespace, settings.patience, settings.codec, settings.log}
	scheduler := droverpb.NewSchedulerServiceClient(calls)
	return &Client{
		calls:     calls,
		scheduler: scheduler,
		operator:  droverpb.NewOperatorServiceClient(calls),
		starts:    newStarts(scheduler),
		done:      done,
	}, nil
}

// Close closes the connection; it may be called twice.
func (c *Client) Close() { c.done() }

// Conn is for the calls that have no method here, such as those of schedules, hooks, triggers and
// queues: a connection for the generated clients of package droverpb, with the namespace, the
// repeats, the decoding of answers and the errors of this client. Payloads in requests are sent as
// they are.
//
//	operator := droverpb.NewOperatorServiceClient(client.Conn())
//	overview, err := operator.GetOverview(ctx, &droverpb.GetOverviewRequest{})
func (c *Client) Conn() grpc.ClientConnInterface { return c.calls }

// RegisteredWorkflow is a version of a workflow.
type RegisteredWorkflow struct {
	Name    string
	Version int
	// Created false: this content was registered before.
	Created bool
}

// RegisterWorkflow registers a definition, as package workflow builds it; the new version becomes
// the default.
func (c *Client) RegisterWorkflow(ctx context.Context, definition *Definition) (
	RegisteredWorkflow, error) {
	source := &droverpb.RegisterWorkflowRequest_Definition{Definition: definition.message}
	return c.register(ctx, &droverpb.RegisterWorkflowRequest{Source: source})
}

// RegisterWorkflowText registers a definition in YAML or JSON.
func (c *Client) RegisterWorkflowText(ctx context.Context, text string) (
	RegisteredWorkflow, error) {
	source := &droverpb.RegisterWorkflowRequest_Text{Text: text}
	return c.register(ctx, &droverpb.RegisterWorkflowRequest{Source: source})
}

func (c *Client) register(ctx context.Context, request *droverpb.RegisterWorkflowRequest) (
	RegisteredWorkflow, error) {
	answer, err := c.scheduler.RegisterWorkflow(ctx, request)
	return RegisteredWorkflow{
		Name: answer.GetName(), Version: int(answer.GetVersion()), Created: answer.GetCreated(),
	}, err
}

// RunName names a run: a [RunID] or a [RunKey].
type RunName interface{ ref() *droverpb.RunRef }

// RunID is the id of a run, which the server made.
type RunID string

func (id RunID) ref() *droverpb.RunRef {
	return &droverpb.RunRef{Ref: &droverpb.RunRef_RunId{RunId: string(id)}}
}

// RunKey is the caller's own name for a run.
type RunKey string

func (key RunKey) ref() *droverpb.RunRef {
	return &droverpb.RunRef{Ref: &droverpb.RunRef_Key{Key: string(key)}}
}
