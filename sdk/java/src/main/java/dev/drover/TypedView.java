package dev.drover;

import com.fasterxml.jackson.core.type.TypeReference;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.slf4j.Logger;

/** A context with the types of the task that is verified or undone. */
final class TypedView<I, O> implements TypedContext<I, O> {
  private final BoundContext context;
  private final Task<I, O> of;

  TypedView(BoundContext context, Task<I, O> of) {
    this.context = context;
    this.of = of;
  }

  @Override
  @SuppressWarnings("unchecked") // Jackson has made a value of the task's type.
  public I input() {
    return (I) context.readInput(of.inputType);
  }

  @Override
  @SuppressWarnings("unchecked") // Jackson has made a value of the task's type.
  public Optional<O> output() {
    return Optional.ofNullable((O) context.readOutput(of.outputType));
  }

  @Override
  public String name() {
    return context.name();
  }

  @Override
  public TaskKind kind() {
    return context.kind();
  }

  @Override
  public String queue() {
    return context.queue();
  }

  @Override
  public String runId() {
    return context.runId();
  }

  @Override
  public String stepId() {
    return context.stepId();
  }

  @Override
  public OptionalInt item() {
    return context.item();
  }

  @Override
  public int attempt() {
    return context.attempt();
  }

  @Override
  public String workflow() {
    return context.workflow();
  }

  @Override
  public int workflowVersion() {
    return context.workflowVersion();
  }

  @Override
  public String idempotencyKey() {
    return context.idempotencyKey();
  }

  @Override
  public String effectKey() {
    return context.effectKey();
  }

  @Override
  public String callbackToken() {
    return context.callbackToken();
  }

  @Override
  public long fence() {
    return context.fence();
  }

  @Override
  public Map<String, String> labels() {
    return context.labels();
  }

  @Override
  public <T> T input(Class<T> type) {
    return context.input(type);
  }

  @Override
  public <T> T input(TypeReference<T> type) {
    return context.input(type);
  }

  @Override
  public <T> Optional<T> output(Class<T> type) {
    return context.output(type);
  }

  @Override
  public <T> Optional<T> lastDetails(Class<T> type) {
    return context.lastDetails(type);
  }

  @Override
  public Duration left() {
    return context.left();
  }

  @Override
  public void progress(Progress progress) {
    context.progress(progress);
  }

  @Override
  public void details(Object value) {
    context.details(value);
  }

  @Override
  public Logger log() {
    return context.log();
  }

  @Override
  public Optional<StopReason> stopped() {
    return context.stopped();
  }

  @Override
  public void throwIfStopped() {
    context.throwIfStopped();
  }

  @Override
  public void onStop(Runnable callback) {
    context.onStop(callback);
  }
}
