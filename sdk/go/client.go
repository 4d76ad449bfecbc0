package drover

import (
	"context"
	"time"

	"go.drover.dev/drover/droverpb"
)

// Client is for services that start work and want to know how it went.
type Client struct {
	calls     *calls
	scheduler droverpb.SchedulerServiceClient
	operator  droverpb.OperatorServiceClient
	starts    *starts
	done      func()
}

// NewClient connects, when it is needed, to the server at host:port.
func NewClient(address string, options ...ClientOption) (*Client, error) {
	settings := &clientSettings{
		shared:   shared{dialing: dialingTo(address), codec: plain{}},
		patience: 30 * time.Second,
	}
	for _, option := range options {
		option.forClient(settings)
	}
	conn, done, err := settings.dial()
	if err != nil {
		return nil, err
	}
	calls := &calls{conn, settings.namespace, settings.patience, settings.codec}
	scheduler := droverpb.NewSchedulerServiceClient(calls)
	return &Client{
		calls:     calls,
		scheduler: scheduler,
		operator:  droverpb.NewOperatorServiceClient(calls),
		starts:    newStarts(scheduler),
		done:      done,
	}, nil
}

// Close ends the connection; it may be called twice.
func (c *Client) Close() { c.done() }

// Scheduler is every call of the service for programs, with the namespace, the repeats, the codec and
// the errors of this client: schedules, for example, and lists of workflows.
func (c *Client) Scheduler() droverpb.SchedulerServiceClient { return c.scheduler }

// Operator is every call of the service for people and their tools, in the same way: escalations,
// hooks, triggers, queues, agents, and what needs a person.
func (c *Client) Operator() droverpb.OperatorServiceClient { return c.operator }

// Payload makes a payload of a value, by the client's codec; nil is none.
func (c *Client) Payload(value any) (*droverpb.Payload, error) { return encode(c.calls.codec, value) }

// RegisterWorkflow registers a definition, as package workflow builds it; the newest version becomes
// the default. Created false: this content was registered before.
func (c *Client) RegisterWorkflow(ctx context.Context, definition *droverpb.WorkflowDefinition) (
	*droverpb.RegisterWorkflowResponse, error) {
	source := &droverpb.RegisterWorkflowRequest_Definition{Definition: definition}
	return c.scheduler.RegisterWorkflow(ctx, &droverpb.RegisterWorkflowRequest{Source: source})
}

// RegisterWorkflowText registers a definition in YAML or JSON.
func (c *Client) RegisterWorkflowText(ctx context.Context, text string) (
	*droverpb.RegisterWorkflowResponse, error) {
	source := &droverpb.RegisterWorkflowRequest_Text{Text: text}
	return c.scheduler.RegisterWorkflow(ctx, &droverpb.RegisterWorkflowRequest{Source: source})
}

// RunName is how a caller names a run: a [RunID] or a [RunKey].
type RunName interface{ Ref() *droverpb.RunRef }

// RunID is the id that the server has given to a run.
type RunID string

// Ref is the name in a request of package droverpb.
func (id RunID) Ref() *droverpb.RunRef {
	return &droverpb.RunRef{Ref: &droverpb.RunRef_RunId{RunId: string(id)}}
}

// RunKey is the caller's own name for a run.
type RunKey string

// Ref is the name in a request of package droverpb.
func (key RunKey) Ref() *droverpb.RunRef {
	return &droverpb.RunRef{Ref: &droverpb.RunRef_Key{Key: string(key)}}
}
