// An agent that greets people. It serves the task "greet" of the queue "default".
package main

import (
	"context"
	"log"
	"os"

	drover "github.com/drover-dev/drover/sdk/go"
)

func main() {
	agent, err := drover.NewAgent(os.Getenv("DROVER_ADDRESS"), "hello-agent",
		drover.Handle("greet", greet), drover.WithSignals())
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func greet(ctx context.Context, task *drover.Task) (any, error) {
	var input struct{ Name string }
	err := task.Input(&input)
	return map[string]string{"greeting": "Hello, " + input.Name + "!"}, err
}
