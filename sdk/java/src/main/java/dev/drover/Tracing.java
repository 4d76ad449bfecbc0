package dev.drover;

import dev.drover.v1.Outcome;
import dev.drover.v1.ScheduleRequest;
import dev.drover.v1.Task;
import java.util.Map;
import java.util.concurrent.Callable;

/** Spans of handlers, where the program has the API of OpenTelemetry; else nothing. */
interface Tracing {
  /** Where the span of a handler puts its ids. */
  interface Ids {
    void are(Map<String, String> ids);
  }

  /** Does the work of a task within a span below that of its attempt, if it is part of a trace. */
  Outcome within(Task task, Ids ids, Callable<Outcome> work) throws Exception;

  /** Puts the run into the trace in which its caller is. */
  void inject(ScheduleRequest.Builder request);

  Tracing NONE = new Tracing() {
    @Override
    public Outcome within(Task task, Ids ids, Callable<Outcome> work) throws Exception {
      return work.call();
    }

    @Override
    public void inject(ScheduleRequest.Builder request) {}
  };

  /** OtelTracing is only loaded where its classes are. */
  static Tracing find() {
    try {
      Class.forName("io.opentelemetry.api.GlobalOpenTelemetry");
    } catch (ClassNotFoundException none) {
      return NONE;
    }
    return new OtelTracing();
  }
}
