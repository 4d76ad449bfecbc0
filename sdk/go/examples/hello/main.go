// An agent that greets people. It serves the task "greet" of the queue "default".
package main

import (
	"context"
	"log"
	"os"

	drover "github.com/drover-dev/drover/sdk/go"
)

type person struct {
	Name string `json:"name"`
}

type greeting struct {
	Greeting string `json:"greeting"`
}

func main() {
	agent, err := drover.NewAgent(os.Getenv("DROVER_ADDRESS"), "hello-agent",
		drover.NewTask[person, greeting]("greet").Handle(greet), drover.WithSignals())
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func greet(_ context.Context, _ *drover.Task, input person) (greeting, error) {
	return greeting{"Hello, " + input.Name + "!"}, nil
}
