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

// Order is the input of a run, which each step gets.
type Order struct {
	Card string `json:"card"`
}

// Seat is the output of reserve-seat.
type Seat struct {
	Seat string `json:"seat"`
}

// Charge is the output of charge-card.
type Charge struct {
	Charge string `json:"charge"`
}

var (
	reserve = drover.NewTask[Order, Seat]("reserve-seat")
	release = drover.NewTask[Order, struct{}]("release-seat")
	charge  = drover.NewTask[Order, Charge]("charge-card")
)

func main() {
	address := cmp.Or(os.Getenv("DROVER_ADDRESS"), "127.0.0.1:7420")
	agent, err := drover.NewAgent(address, "seats-1",
		reserve.Handle(reserveSeat),
		release.Handle(releaseSeat),
		charge.Handle(chargeCard),
		drover.WithSignals())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("agent seats-1 waits for tasks")
	if err := agent.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func reserveSeat(ctx context.Context, task *drover.Task, order Order) (Seat, error) {
	return Seat{"12A"}, nil
}

func releaseSeat(ctx context.Context, task *drover.Task, order Order) (struct{}, error) {
	fmt.Println("the seat is free again")
	return struct{}{}, nil
}

func chargeCard(ctx context.Context, task *drover.Task, order Order) (Charge, error) {
	if order.Card == "none" {
		return Charge{}, drover.Permanent("no-card", "There is no card to charge.")
	}
	// The same for every try of this task: a payment service charges once for each key.
	return Charge{task.IdempotencyKey}, nil
}
