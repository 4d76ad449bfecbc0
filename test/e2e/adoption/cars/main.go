// The agent for cars, in Go.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	drover "github.com/drover-dev/drover/sdk/go"
)

func call(ctx context.Context, method, key string) (any, error) {
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv("SERVICES")+"/car", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("idempotency-key", key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var booking any
	return booking, json.NewDecoder(answer.Body).Decode(&booking)
}

func main() {
	agent, err := drover.NewAgent(os.Getenv("DROVER_ADDRESS"), "cars",
		drover.Handle("book-car", func(ctx context.Context, task *drover.Task) (any, error) {
			return call(ctx, http.MethodPost, task.IdempotencyKey)
		}),
		drover.Handle("cancel-car", func(ctx context.Context, task *drover.Task) (any, error) {
			return call(ctx, http.MethodDelete, task.EffectKey)
		}),
		drover.WithQueue("travel", 1),
		drover.WithSignals())
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
