// The agent of this project: it polls for the tasks that it has handlers for, and performs them.
// Drover decides what happens next; a handler only reports how its task ended.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	drover "github.com/drover-dev/drover/sdk/go"
)

func main() {
	address := cmp.Or(os.Getenv("DROVER_ADDRESS"), "127.0.0.1:7420")
	agent, err := drover.NewAgent(address, "seats-1",
		drover.Handle("reserve-seat", reserveSeat),
		drover.Handle("release-seat", releaseSeat),
		drover.Handle("charge-card", chargeCard),
		drover.WithSignals())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("agent seats-1 waits for tasks")
	if err := agent.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func reserveSeat(ctx context.Context, task *drover.Task) (any, error) {
	return map[string]string{"seat": "12A"}, nil
}

func releaseSeat(ctx context.Context, task *drover.Task) (any, error) {
	fmt.Println("the seat is free again")
	return nil, nil
}

func chargeCard(ctx context.Context, task *drover.Task) (any, error) {
	var order struct{ Card string }
	if err := task.Input(&order); err != nil {
		return nil, err
	}
	if order.Card == "none" {
		return nil, drover.Permanent("no-card", "There is no card to charge.")
	}
	// The same for every try of this task: a payment service charges once for each key.
	return map[string]string{"charge": task.IdempotencyKey}, nil
}
