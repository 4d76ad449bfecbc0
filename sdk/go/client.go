package drover

import (
	"context"
	"time"

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

// Scheduler returns the generated client of SchedulerService, with the namespace, the repeats, the
// codec and the errors of this client: for example for schedules and lists of workflows.
func (c *Client) Scheduler() droverpb.SchedulerServiceClient { return c.scheduler }

// Operator returns the generated client of OperatorService, in the same way: escalations, hooks,
// triggers, queues, agents, and what needs a person.
func (c *Client) Operator() droverpb.OperatorServiceClient { return c.operator }

// Payload makes a payload of a value, with the client's codec; nil means no payload.
func (c *Client) Payload(value any) (*droverpb.Payload, error) { return encode(c.calls.codec, value) }

// RegisterWorkflow registers a definition, as package workflow builds it; the new version becomes
// the default. If created is false, this content was registered before.
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

// RunName names a run: a [RunID] or a [RunKey].
type RunName interface{ Ref() *droverpb.RunRef }

// RunID is the id of a run, which the server made.
type RunID string

// Ref returns the name for a request of package droverpb.
func (id RunID) Ref() *droverpb.RunRef {
	return &droverpb.RunRef{Ref: &droverpb.RunRef_RunId{RunId: string(id)}}
}

// RunKey is the caller's own name for a run.
type RunKey string

// Ref returns the name for a request of package droverpb.
func (key RunKey) Ref() *droverpb.RunRef {
	return &droverpb.RunRef{Ref: &droverpb.RunRef_Key{Key: string(key)}}
}
