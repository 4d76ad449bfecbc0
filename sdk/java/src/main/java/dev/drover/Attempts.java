package dev.drover;

import dev.drover.v1.LogText;
import dev.drover.v1.Outcome;
import dev.drover.v1.Task;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.MDC;

/** Runs a handler to its end, however long that takes, and returns what is reported. */
final class Attempts {
  private final PayloadFormat format;
  private final Tracing tracing;
  private final Logger log;

  Attempts(PayloadFormat format, Tracing tracing, Logger log) {
    this.format = format;
    this.tracing = tracing;
    this.log = log;
  }

  /** In the thread of the handler. `lines` may be null. */
  Outcome run(
      Task message, Handlers.Bound handler, Notebook notebook, StopSignal stop,
      Consumer<LogText> lines) {
    BoundContext context = new BoundContext(message, format, notebook, stop, log);
    Map<String, String> fields = new LinkedHashMap<>();
    fields.put("run", message.getRunId());
    fields.put("step", message.getStepId());
    fields.put("attempt", Integer.toString(message.getAttempt()));
    Map<String, String> before = MDC.getCopyOfContextMap();
    stop.enter();
    try {
      return tracing.within(message, fields::putAll, () -> {
        // Other loggers of this thread have them by this context.
        fields.forEach(MDC::put);
        context.useLog(new TaskLogger(log, fields, lines));
        return tried(context, handler, stop);
      });
    } catch (Exception error) {
      // The handler's own are caught below.
      context.log().error("the SDK could not run the handler", error);
      return Outcomes.ofError(error, stop.reason());
    } finally {
      stop.leave();
      if (before == null) {
        MDC.clear();
      } else {
        MDC.setContextMap(before);
      }
    }
  }

  private Outcome tried(BoundContext context, Handlers.Bound handler, StopSignal stop) {
    Object result;
    try {
      result = handler.call(context);
    } catch (Throwable error) {
      // An Error too: one bad task must not cost the others their agent.
      StopReason stopped = stop.reason();
      if (Outcomes.isUnexpected(error, stopped)) {
        context.log().error("handler threw an exception that it did not name", error);
      }
      return Outcomes.ofError(error, stopped);
    }
    Outcome outcome = Outcomes.ofResult(format, result, context.kind());
    String problem = outcome.getSuccess().getOutputProblem();
    if (!problem.isEmpty()) {
      context.log().error("the output of a handler is lost: {}", problem);
    }
    return outcome;
  }
}
