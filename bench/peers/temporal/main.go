// Temporal: workflows of three activities that do nothing, begun in the process that performs them.
//
//	temporal ADDRESS
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	steps     = 3
	calls     = 16
	queue     = "chain"
	namespace = "peer"
	patience  = time.Minute
	look      = 200 * time.Millisecond
)

type input struct {
	Order int    `json:"order"`
	To    string `json:"to"`
	Seats int    `json:"seats"`
}

var counts = &tally{times: map[[2]int]int{}}

func nothing(_ context.Context, run, step int, _ input) error {
	counts.count(run, step)
	return nil
}

func chain(ctx workflow.Context, run int, given input) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for step := range steps {
		if err := workflow.ExecuteActivity(ctx, nothing, run, step, given).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func probe(workflow.Context) error { return nil }

func main() {
	level := &slog.HandlerOptions{Level: slog.LevelError}
	options := client.Options{
		HostPort:  os.Args[1],
		Namespace: namespace,
		Logger:    log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, level))),
	}
	eventually(func(ctx context.Context) error { return makeNamespace(ctx, options) })
	c, err := client.Dial(options)
	if err != nil {
		panic(err)
	}
	pollers := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{})
	w := worker.New(c, queue, worker.Options{
		WorkflowTaskPollerBehavior: pollers,
		ActivityTaskPollerBehavior: pollers,
	})
	w.RegisterWorkflow(chain)
	w.RegisterWorkflow(probe)
	w.RegisterActivity(nothing)
	if err := w.Start(); err != nil {
		panic(err)
	}
	// The namespace is known to all parts of the server some seconds after it was made.
	eventually(func(ctx context.Context) error {
		run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: queue}, probe)
		if err != nil {
			return err
		}
		return run.Get(ctx, nil)
	})
	load := &loading{}
	load.start(calls, func(run int) error {
		options := client.StartWorkflowOptions{
			ID: fmt.Sprint("run-", run), TaskQueue: queue, EnableEagerStart: true,
		}
		given := input{Order: 4711, To: "Lisbon", Seats: 2}
		_, err := c.ExecuteWorkflow(context.Background(), options, chain, run, given)
		return err
	})
	serve(counts, load, func(runs int) string { return judged(c, runs) })
}

func makeNamespace(ctx context.Context, options client.Options) error {
	names, err := client.NewNamespaceClient(options)
	if err != nil {
		return err
	}
	defer names.Close()
	err = names.Register(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        namespace,
		WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	var exists *serviceerror.NamespaceAlreadyExists
	if errors.As(err, &exists) {
		return nil
	}
	return err
}

// Its index is written a little later than its runs end.
func judged(c client.Client, runs int) string {
	if wrong := counts.fault(runs); wrong != "" {
		return "wrong: " + wrong
	}
	request := &workflowservice.CountWorkflowExecutionsRequest{
		Query: "WorkflowType = 'chain' AND ExecutionStatus = 'Completed'",
	}
	var completed int64
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(look) {
		answer, err := c.CountWorkflow(context.Background(), request)
		if completed = answer.GetCount(); err == nil && completed == int64(runs) {
			return "right"
		}
	}
	return fmt.Sprintf("wrong: %d workflows completed, not %d", completed, runs)
}

func eventually(try func(context.Context) error) {
	for until := time.Now().Add(patience); ; time.Sleep(look) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := try(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(until) {
			panic(err)
		}
	}
}
