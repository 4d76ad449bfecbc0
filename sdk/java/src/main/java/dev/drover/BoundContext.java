package dev.drover;

import com.fasterxml.jackson.core.type.TypeReference;
import dev.drover.v1.Payload;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.slf4j.Logger;

/** The context of an attempt, read from its message. */
final class BoundContext implements TaskContext {
  final dev.drover.v1.Task message;
  final PayloadFormat format;
  private final Notebook notebook;
  private final StopSignal stop;
  private Logger log;

  BoundContext(
      dev.drover.v1.Task message, PayloadFormat format, Notebook notebook, StopSignal stop,
      Logger log) {
    this.message = message;
    this.format = format;
    this.notebook = notebook;
    this.stop = stop;
    this.log = log;
  }

  /** Before the handler starts. */
  void useLog(Logger instead) {
    log = instead;
  }

  static TaskKind kindOf(dev.drover.v1.TaskKind kind) {
    return switch (kind) {
      case TASK_KIND_VERIFY -> TaskKind.VERIFY;
      case TASK_KIND_COMPENSATE -> TaskKind.COMPENSATE;
      default -> TaskKind.PERFORM;
    };
  }

  @Override
  public String name() {
    return message.getTask();
  }

  @Override
  public TaskKind kind() {
    return kindOf(message.getKind());
  }

  @Override
  public String queue() {
    return message.getQueue();
  }

  @Override
  public String runId() {
    return message.getRunId();
  }

  @Override
  public String stepId() {
    return message.getStepId();
  }

  @Override
  public OptionalInt item() {
    return message.hasItem() ? OptionalInt.of(message.getItem()) : OptionalInt.empty();
  }

  @Override
  public int attempt() {
    return message.getAttempt();
  }

  @Override
  public String workflow() {
    return message.getWorkflow();
  }

  @Override
  public int workflowVersion() {
    return message.getWorkflowVersion();
  }

  @Override
  public String idempotencyKey() {
    return message.getIdempotencyKey();
  }

  @Override
  public String effectKey() {
    return message.getEffectKey();
  }

  @Override
  public String callbackToken() {
    return message.getCallbackToken();
  }

  @Override
  public long fence() {
    return Integer.toUnsignedLong(message.getFence());
  }

  @Override
  public Map<String, String> labels() {
    return message.getLabelsMap();
  }

  @Override
  public <T> T input(Class<T> type) {
    return type.cast(readInput(type));
  }

  @Override
  @SuppressWarnings("unchecked") // Jackson has made a value of this type.
  public <T> T input(TypeReference<T> type) {
    return (T) readInput(type.getType());
  }

  Object readInput(Type type) {
    return message.hasInput() ? read("input", message.getInput(), type) : null;
  }

  Object readOutput(Type type) {
    return message.hasOutput() ? read("output", message.getOutput(), type) : null;
  }

  @Override
  public <T> Optional<T> output(Class<T> type) {
    return Optional.ofNullable(readOutput(type)).map(type::cast);
  }

  @Override
  public <T> Optional<T> lastDetails(Class<T> type) {
    if (!message.hasLastDetails()) {
      return Optional.empty();
    }
    Object details = read("details", message.getLastDetails(), type);
    return Optional.ofNullable(details).map(type::cast);
  }

  private Object read(String what, Payload payload, Type type) {
    try {
      return format.decode(payload, type);
    } catch (PayloadException error) {
      String text = "The " + what + " is not as expected: " + error.getMessage();
      throw TaskException.permanent("bad-" + what, text).causedBy(error);
    }
  }

  @Override
  public Duration left() {
    return notebook.left();
  }

  @Override
  public void progress(Progress progress) {
    notebook.note(new Notes(progress.message, null));
  }

  @Override
  public void details(Object value) {
    notebook.note(new Notes(null, format.encodeDetails(value)));
  }

  @Override
  public Logger log() {
    return log;
  }

  @Override
  public Optional<StopReason> stopped() {
    return Optional.ofNullable(stop.reason());
  }

  @Override
  public void throwIfStopped() {
    StopReason reason = stop.reason();
    if (reason != null) {
      throw new TaskStoppedException(reason);
    }
  }

  @Override
  public void onStop(Runnable callback) {
    stop.onStop(callback);
  }
}
