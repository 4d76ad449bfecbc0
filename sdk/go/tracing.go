package drover

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Traces use only the OpenTelemetry API: the program must register an OpenTelemetry SDK, and
// without one this file has no effect.

const tracerName = "github.com/drover-dev/drover/sdk/go"

// W3C Trace Context is what the contract has, whatever the program speaks elsewhere.
var traceContext propagation.TraceContext

// withinTask does the work of a task within a span below that of its attempt, if it is part of a
// trace.
func withinTask(
	ctx context.Context, task *Task, work func(context.Context) *droverpb.Outcome,
) *droverpb.Outcome {
	if task.message.GetTraceparent() == "" {
		return work(ctx)
	}
	above := traceContext.Extract(ctx, propagation.MapCarrier{
		"traceparent": task.message.GetTraceparent(),
		"tracestate":  task.message.GetTracestate(),
	})
	within, span := otel.Tracer(tracerName).Start(above, string(task.Kind)+" "+task.Name,
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			attribute.String("drover.run.id", task.RunID),
			attribute.String("drover.step.id", task.StepID),
			attribute.Int("drover.attempt", task.Attempt)))
	defer span.End()
	ids := span.SpanContext()
	task.log = task.log.With("trace", ids.TraceID().String(), "span", ids.SpanID().String())
	outcome := work(within)
	span.SetAttributes(attribute.String("drover.outcome", outcomeName(outcome)))
	if code := failureCode(outcome); code != "" {
		span.SetAttributes(attribute.String("error.type", code))
		span.SetStatus(codes.Error, code)
	}
	return outcome
}

func outcomeName(outcome *droverpb.Outcome) string {
	field := outcome.ProtoReflect().WhichOneof(
		outcome.ProtoReflect().Descriptor().Oneofs().ByName("kind"))
	if field == nil {
		return ""
	}
	return string(field.Name())
}

func failureCode(outcome *droverpb.Outcome) string {
	if failed := outcome.GetFailed(); failed != nil {
		return failed.GetCode()
	}
	if outcome.GetSuccess().GetOutputProblem() != "" {
		return "drover.output"
	}
	return outcome.GetUnknown().GetCode()
}

// inTraceOf puts the run into the trace in which its caller is.
func inTraceOf(ctx context.Context, request *droverpb.ScheduleRequest) {
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)
	request.Traceparent = carrier.Get("traceparent")
	request.Tracestate = carrier.Get("tracestate")
}
