// The agent in Go: it asks the effects service for each task, which answers how it ends.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	drover "github.com/drover-dev/drover/sdk/go"
)

type instruction struct {
	End      string `json:"end"`
	Code     string `json:"code"`
	NoEffect bool   `json:"noEffect"`
	Output   any    `json:"output"`
}

const died = 77

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	options := []drover.AgentOption{
		drover.WithNamespace(os.Getenv("DROVER_NAMESPACE")),
		drover.WithSlots(12),
		drover.WithPollWait(3 * time.Second),
		drover.WithGrace(5 * time.Second),
		drover.WithSignals(),
		drover.WithLog(log),
	}
	for _, name := range strings.Split(os.Getenv("CHAOS_TASKS"), ",") {
		options = append(options, drover.Handle(name, handle))
	}
	agent, err := drover.NewAgent(os.Getenv("DROVER_ADDRESS"), os.Getenv("DROVER_AGENT"), options...)
	if err == nil {
		err = agent.Run(context.Background())
	}
	if err != nil {
		log.Error("the agent has ended", "error", err)
		os.Exit(1)
	}
}

func handle(ctx context.Context, task *drover.Task) (any, error) {
	answer, err := ask(ctx, task)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if task.Kind == drover.TaskVerify {
			return drover.CannotTell("the answer was lost"), nil
		}
		return nil, drover.Unknown("answer-lost", err.Error())
	}
	var options []drover.ErrorOption
	if answer.NoEffect {
		options = append(options, drover.NoEffect())
	}
	switch answer.End {
	case "success":
		return answer.Output, nil
	case "happened":
		return drover.Happened(answer.Output), nil
	case "did-not-happen":
		return drover.DidNotHappen(), nil
	case "transient":
		return nil, drover.Transient(answer.Code, "not now", options...)
	case "permanent":
		return nil, drover.Permanent(answer.Code, "never", options...)
	case "die":
		os.Exit(died)
	}
	return nil, fmt.Errorf("the service wants %q", answer.End)
}

func ask(ctx context.Context, task *drover.Task) (instruction, error) {
	var answer instruction
	body, err := json.Marshal(map[string]any{
		"agent": os.Getenv("DROVER_AGENT"), "namespace": os.Getenv("DROVER_NAMESPACE"),
		"task": task.Name, "kind": task.Kind, "run": task.RunID, "step": task.StepID,
		"fence": task.Fence, "attempt": task.Attempt,
		"idempotencyKey": task.IdempotencyKey, "effectKey": task.EffectKey,
	})
	if err != nil {
		return answer, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("CHAOS_SERVICE"), bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	// A request that Go itself would send again must not be: the service answers each one by chance.
	request.GetBody = nil
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}
