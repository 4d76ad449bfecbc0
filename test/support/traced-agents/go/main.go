// An agent in Go that traces itself: what it books has a span of its own, below its try.
package main

import (
	"context"
	"log"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"

	drover "github.com/drover-dev/drover/sdk/go"
)

func main() {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithSyncer(exporter)))
	agent, err := drover.NewAgent(os.Getenv("DROVER_ADDRESS"), "go-agent",
		drover.WithQueue("go", 1), drover.Handle("book", book), drover.WithSignals())
	if err != nil {
		log.Fatal(err)
	}
	if err := agent.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

func book(ctx context.Context, _ *drover.Task) (any, error) {
	_, span := otel.Tracer("test").Start(ctx, "ask the hotel")
	span.End()
	return nil, nil
}
