package drover_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// tracing is what an SDK of OpenTelemetry is to the API: it makes spans, and stores them.
type tracing struct {
	noop.TracerProvider
	mu    sync.Mutex
	spans []*madeSpan
}

type madeSpan struct {
	noop.Span
	name   string
	parent trace.SpanContext
	own    trace.SpanContext
	failed string
	ended  bool
}

func (t *tracing) Tracer(string, ...trace.TracerOption) trace.Tracer { return spanMaker{of: t} }

type spanMaker struct {
	noop.Tracer
	of *tracing
}

func (m spanMaker) Start(
	ctx context.Context, name string, _ ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	parent := trace.SpanContextFromContext(ctx)
	id := trace.SpanID{1, byte(len(m.of.spans))}
	own := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: parent.TraceID(), SpanID: id, TraceFlags: parent.TraceFlags()})
	span := &madeSpan{name: name, parent: parent, own: own}
	m.of.spans = append(m.of.spans, span)
	return trace.ContextWithSpan(ctx, span), span
}

func (s *madeSpan) SpanContext() trace.SpanContext         { return s.own }
func (s *madeSpan) SetStatus(code codes.Code, text string) { s.failed = text }
func (s *madeSpan) End(...trace.SpanEndOption)             { s.ended = true }

func registered(t *testing.T) *tracing {
	t.Helper()
	made := &tracing{}
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(made)
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	return made
}

const ofTheTry = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestAHandlerRunsWithinASpanBelowItsTry(t *testing.T) {
	made := registered(t)
	inBubble(t, func(t *testing.T, server *script) {
		var within trace.SpanContext
		agent := server.start(drover.Handle("book-flight",
			func(ctx context.Context, _ *drover.Task) (any, error) {
				within = trace.SpanContextFromContext(ctx)
				return nil, drover.Permanent("sold-out", "no seat left")
			}))
		server.poll.next().answer(tasksOf(aTask("t1", func(task *droverpb.Task) {
			task.Traceparent = ofTheTry
		})))
		accepted(server.complete.next())
		agent.stop()
		equal(t, "what Run returns", <-agent.ended, nil)
		equal(t, "spans", len(made.spans), 1)
		span := made.spans[0]
		equal(t, "name", span.name, "perform book-flight")
		equal(t, "parent", span.parent.SpanID().String(), "00f067aa0ba902b7")
		equal(t, "trace", within.TraceID().String(), "4bf92f3577b34da6a3ce929d0e0e4736")
		equal(t, "span of the handler", within.SpanID(), span.own.SpanID())
		equal(t, "failure", span.failed, "sold-out")
		equal(t, "ended", span.ended, true)
	})
}

func TestLinesOfAHandlerHaveTheIdsOfItsTraceAndSpan(t *testing.T) {
	made := registered(t)
	inBubble(t, func(t *testing.T, server *script) {
		var written strings.Builder
		agent := server.start(drover.WithLog(slog.New(slog.NewTextHandler(&written, nil))),
			drover.Handle("book-flight", func(_ context.Context, task *drover.Task) (any, error) {
				task.Log().Info("checking")
				return nil, nil
			}))
		server.poll.next().answer(tasksOf(aTask("t1", func(task *droverpb.Task) {
			task.Traceparent = ofTheTry
		})))
		accepted(server.complete.next())
		settle(server, agent)
		line := "msg=checking run=run-1 step=t1 attempt=1 trace=4bf92f3577b34da6a3ce929d0e0e4736 span=" +
			made.spans[0].own.SpanID().String()
		if !strings.Contains(written.String(), line) {
			t.Fatalf("the log has %s", written.String())
		}
	})
}

func TestATaskOfNoTraceHasNoSpan(t *testing.T) {
	made := registered(t)
	inBubble(t, func(t *testing.T, server *script) {
		working := aRunningTask(server, 0)
		working.finish(server)
		equal(t, "spans", len(made.spans), 0)
	})
}

func TestARunIsScheduledInTheTraceOfItsCaller(t *testing.T) {
	made := registered(t)
	inBubble(t, func(t *testing.T, server *script) {
		var seen []*droverpb.ScheduleRequest
		on(server, droverpb.SchedulerService_Schedule_FullMethodName,
			func(request *droverpb.ScheduleRequest) (*droverpb.ScheduleResponse, error) {
				seen = append(seen, request)
				return &droverpb.ScheduleResponse{RunId: "r1", Created: true}, nil
			})
		client := server.client()
		caller := trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{7}, SpanID: trace.SpanID{9}, TraceFlags: trace.FlagsSampled})
		ctx := trace.ContextWithSpanContext(t.Context(), caller)
		_, err := client.Schedule(ctx, drover.Start{Workflow: "trip"})
		equal(t, "error", err, nil)
		_, err = client.Schedule(t.Context(), drover.Start{Workflow: "trip"})
		equal(t, "error", err, nil)
		equal(t, "of the caller", seen[0].GetTraceparent(),
			"00-07000000000000000000000000000000-0900000000000000-01")
		equal(t, "without a caller", seen[1].GetTraceparent(), "")
		equal(t, "spans", len(made.spans), 0)
	})
}
