package dev.drover;

import dev.drover.v1.Outcome;
import dev.drover.v1.ScheduleRequest;
import dev.drover.v1.Task;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * Traces by the API of OpenTelemetry: the program registers an SDK of it, and without one this has
 * no effect. W3C Trace Context is what the contract has, whatever the program speaks elsewhere.
 */
final class OtelTracing implements Tracing {
  private static final String TRACER = "dev.drover";
  private static final TextMapPropagator TRACE_CONTEXT = W3CTraceContextPropagator.getInstance();

  private static final TextMapGetter<Task> FIELDS = new TextMapGetter<>() {
    @Override
    public Iterable<String> keys(Task task) {
      return List.of("traceparent", "tracestate");
    }

    @Override
    public String get(Task task, String key) {
      String value = key.equals("traceparent") ? task.getTraceparent() : task.getTracestate();
      return value.isEmpty() ? null : value;
    }
  };

  @Override
  public Outcome within(Task task, Ids ids, Callable<Outcome> work) throws Exception {
    if (task.getTraceparent().isEmpty()) {
      return work.call();
    }
    TaskKind kind = BoundContext.kindOf(task.getKind());
    Span span = GlobalOpenTelemetry.getTracer(TRACER)
        .spanBuilder(kind.name().toLowerCase(Locale.ROOT) + " " + task.getTask())
        .setParent(TRACE_CONTEXT.extract(Context.root(), task, FIELDS))
        .setSpanKind(SpanKind.CONSUMER)
        .setAttribute("drover.run.id", task.getRunId())
        .setAttribute("drover.step.id", task.getStepId())
        .setAttribute("drover.attempt", task.getAttempt())
        .startSpan();
    ids.are(Map.of(
        "trace", span.getSpanContext().getTraceId(), "span", span.getSpanContext().getSpanId()));
    Scope scope = span.makeCurrent();
    try {
      Outcome outcome = work.call();
      span.setAttribute("drover.outcome", outcome.getKindCase().name().toLowerCase(Locale.ROOT));
      String code = failureCode(outcome);
      if (!code.isEmpty()) {
        span.setAttribute("error.type", code);
        span.setStatus(StatusCode.ERROR, code);
      }
      return outcome;
    } finally {
      scope.close();
      span.end();
    }
  }

  private static String failureCode(Outcome outcome) {
    if (outcome.hasFailed()) {
      return outcome.getFailed().getCode();
    }
    if (!outcome.getSuccess().getOutputProblem().isEmpty()) {
      return "drover.output";
    }
    return outcome.getUnknown().getCode();
  }

  @Override
  public void inject(ScheduleRequest.Builder request) {
    Map<String, String> fields = new HashMap<>();
    TRACE_CONTEXT.inject(
        Context.current(), fields, (carrier, key, value) -> carrier.put(key, value));
    request.setTraceparent(fields.getOrDefault("traceparent", ""));
    request.setTracestate(fields.getOrDefault("tracestate", ""));
  }
}
