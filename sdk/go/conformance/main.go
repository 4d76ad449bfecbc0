// The Go SDK as a program under test; test/conformance/PROTOCOL.md describes what it does.
package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/examples/aesgcm"
)

func main() {
	// Logs go to stderr: stdout has the events alone.
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("the agent has ended", "error", err)
		os.Exit(1)
	}
}

func run(log *slog.Logger) error {
	options := []drover.AgentOption{
		drover.WithNamespace(os.Getenv("DROVER_NAMESPACE")),
		drover.WithQueue(os.Getenv("DROVER_QUEUE"), 1),
		drover.WithSlots(number("DROVER_SLOTS")),
		drover.WithPollWait(milliseconds("DROVER_POLL_WAIT_MS")),
		drover.WithGrace(milliseconds("DROVER_GRACE_MS")),
		drover.WithStopGrace(milliseconds("DROVER_CANCEL_GRACE_MS")),
		drover.Handle("work", perform),
		drover.Handle("check", perform),
		drover.Handle("undo", perform),
		drover.WithSignals(),
		drover.WithLog(log),
	}
	if key := os.Getenv("DROVER_CODEC_KEY"); key != "" {
		bytes, err := hex.DecodeString(key)
		if err != nil {
			return fmt.Errorf("DROVER_CODEC_KEY: %w", err)
		}
		codec, err := aesgcm.New(bytes)
		if err != nil {
			return err
		}
		options = append(options, drover.WithCodec(codec))
	}
	agent, err := drover.NewAgent(os.Getenv("DROVER_ADDRESS"), os.Getenv("DROVER_AGENT"), options...)
	if err != nil {
		return err
	}
	printLine(map[string]any{"event": "ready"})
	return agent.Run(context.Background())
}

// number is 0, which the settings refuse, where the variable is none.
func number(variable string) int {
	value, _ := strconv.Atoi(os.Getenv(variable))
	return value
}

func milliseconds(variable string) time.Duration {
	return time.Duration(number(variable)) * time.Millisecond
}
