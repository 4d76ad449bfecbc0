package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.drover.v1.Outcome;
import dev.drover.v1.ScheduleRequest;
import dev.drover.v1.Task;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.testing.junit5.OpenTelemetryExtension;
import io.opentelemetry.sdk.trace.data.SpanData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.slf4j.LoggerFactory;

class TracingTest {
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String ABOVE = "b7ad6b7169203331";

  @RegisterExtension
  static final OpenTelemetryExtension OTEL = OpenTelemetryExtension.create();

  private static Outcome run(String traceparent, Handlers.Bound handler) {
    Task message = ScriptedServer.task("t").setTraceparent(traceparent).build();
    PayloadFormat format =
        new PayloadFormat(PayloadFormat.defaultMapper(), PayloadFormat.PLAIN);
    Attempts attempts =
        new Attempts(format, Tracing.find(), LoggerFactory.getLogger(TracingTest.class));
    return attempts.run(message, handler, null, new StopSignal(Runnable::run), null);
  }

  @Test
  void aHandlerRunsInASpanBelowThatOfItsTry() {
    run("00-" + TRACE + "-" + ABOVE + "-01", context -> {
      assertEquals(TRACE, Span.current().getSpanContext().getTraceId());
      throw TaskException.permanent("no-such-city", "It is not there.");
    });
    SpanData span = OTEL.getSpans().get(0);
    assertEquals("perform work", span.getName());
    assertEquals(SpanKind.CONSUMER, span.getKind());
    assertEquals(ABOVE, span.getParentSpanId());
    assertEquals("run-t", span.getAttributes().get(AttributeKey.stringKey("drover.run.id")));
    assertEquals("failed", span.getAttributes().get(AttributeKey.stringKey("drover.outcome")));
    assertEquals("no-such-city", span.getAttributes().get(AttributeKey.stringKey("error.type")));
    assertEquals(StatusCode.ERROR, span.getStatus().getStatusCode());
  }

  @Test
  void aTaskThatIsPartOfNoTraceHasNoSpan() {
    run("", context -> "done");
    assertEquals(0, OTEL.getSpans().size());
  }

  @Test
  void aRunStartsInTheTraceOfItsCaller() {
    Span span = OTEL.getOpenTelemetry().getTracer("caller").spanBuilder("call").startSpan();
    ScheduleRequest.Builder request = ScheduleRequest.newBuilder();
    Scope scope = span.makeCurrent();
    try {
      Tracing.find().inject(request);
    } finally {
      scope.close();
      span.end();
    }
    String ids = span.getSpanContext().getTraceId() + "-" + span.getSpanContext().getSpanId();
    assertEquals("00-" + ids + "-01", request.getTraceparent());
  }
}
