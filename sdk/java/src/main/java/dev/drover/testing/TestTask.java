package dev.drover.testing;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.BareAttempt;
import dev.drover.Codec;
import dev.drover.CompensateTask;
import dev.drover.Handlers;
import dev.drover.Task;
import dev.drover.TaskKind;
import dev.drover.VerifyTask;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;

/**
 * A task for a handler under test: a builder. What is left out has the values of a first attempt:
 * the run is {@code run-1}, the step {@code step}, the key {@code key-1} and, except for a task
 * that performs, the key of the effect {@code effect-1}.
 *
 * @param <I> the input of the task
 * @param <O> the output of the task
 */
public final class TestTask<I, O> {
  private static final Duration LEFT = Duration.ofMinutes(15);

  private final Task<I, O> definition;
  private final Object input;
  private final Map<String, String> labels = new HashMap<>();
  private int attempt = 1;
  private String idempotencyKey = "key-1";
  private String effectKey = "effect-1";
  private OptionalInt item = OptionalInt.empty();
  private Object output;
  private Object lastDetails;
  private Duration left = LEFT;
  private Codec codec;
  private ObjectMapper mapper;

  private TestTask(Task<I, O> definition, Object input) {
    this.definition = definition;
    this.input = input;
  }

  /**
   * A task with its input.
   *
   * @param task the definition of the task
   * @param input null: none
   * @param <I> the input of the task
   * @param <O> the output of the task
   * @return the task, on which one of its methods starts a handler
   */
  public static <I, O> TestTask<I, O> of(Task<I, O> task, I input) {
    return new TestTask<>(task, input);
  }

  /**
   * A task with any input, such as one that is not as expected.
   *
   * @param task the definition of the task
   * @param input has a JSON form, or is a payload
   * @param <I> the input of the task
   * @param <O> the output of the task
   * @return the task
   */
  public static <I, O> TestTask<I, O> withRawInput(Task<I, O> task, Object input) {
    return new TestTask<>(task, input);
  }

  /**
   * Sets the number of the attempt, and the fence.
   *
   * @param number default 1
   * @return this task
   */
  public TestTask<I, O> attempt(int number) {
    attempt = number;
    return this;
  }

  /**
   * Sets the output of the step, for a handler that undoes it.
   *
   * @param value default: none
   * @return this task
   */
  public TestTask<I, O> output(O value) {
    output = value;
    return this;
  }

  /**
   * Sets what an earlier attempt passed to {@code details}.
   *
   * @param value has a JSON form; default: none
   * @return this task
   */
  public TestTask<I, O> lastDetails(Object value) {
    lastDetails = value;
    return this;
  }

  /**
   * Sets the key for the remote service.
   *
   * @param key default: {@code key-1}
   * @return this task
   */
  public TestTask<I, O> idempotencyKey(String key) {
    idempotencyKey = key;
    return this;
  }

  /**
   * Sets the key of the effect, for a handler that verifies or undoes.
   *
   * @param key default: {@code effect-1}
   * @return this task
   */
  public TestTask<I, O> effectKey(String key) {
    effectKey = key;
    return this;
  }

  /**
   * Sets the index in the list of a map.
   *
   * @param index default: the step is not a map
   * @return this task
   */
  public TestTask<I, O> item(int index) {
    item = OptionalInt.of(index);
    return this;
  }

  /**
   * Sets the labels of the run.
   *
   * @param labels default: none
   * @return this task
   */
  public TestTask<I, O> labels(Map<String, String> labels) {
    this.labels.putAll(labels);
    return this;
  }

  /**
   * Sets the remaining time of lease and attempt.
   *
   * @param time default 15 minutes
   * @return this task
   */
  public TestTask<I, O> left(Duration time) {
    left = time;
    return this;
  }

  /**
   * Sets the codec of the agent.
   *
   * @param own default: none
   * @return this task
   */
  public TestTask<I, O> codec(Codec own) {
    codec = own;
    return this;
  }

  /**
   * Sets Jackson's mapper of the agent.
   *
   * @param own default: that of an agent
   * @return this task
   */
  public TestTask<I, O> mapper(ObjectMapper own) {
    mapper = own;
    return this;
  }

  /**
   * Starts a handler.
   *
   * @param handler performs the task
   * @return the running handler
   */
  public RunningHandler<O> perform(Handlers.Perform<I, O> handler) {
    return running(BareAttempt.perform(
        definition, handler, given(definition.name(), TaskKind.PERFORM), around()));
  }

  /**
   * Starts a handler that answers.
   *
   * @param handler performs the task
   * @return the running handler
   */
  public RunningHandler<O> respond(Handlers.Respond<I, O> handler) {
    return running(BareAttempt.respond(
        definition, handler, given(definition.name(), TaskKind.PERFORM), around()));
  }

  /**
   * Starts a handler that finds out whether a lost attempt of this task took effect.
   *
   * @param verify the definition of the task that verifies
   * @param handler verifies
   * @return the running handler
   */
  public RunningHandler<O> verify(VerifyTask<I, O> verify, Handlers.Verify<I, O> handler) {
    return running(BareAttempt.verify(
        verify, handler, given(verify.name(), TaskKind.VERIFY), around()));
  }

  /**
   * Starts a handler that undoes this task.
   *
   * @param compensate the definition of the task that undoes
   * @param handler undoes
   * @return the running handler
   */
  public RunningHandler<O> compensate(
      CompensateTask<I, O> compensate, Handlers.Compensate<I, O> handler) {
    return running(BareAttempt.compensate(
        compensate, handler, given(compensate.name(), TaskKind.COMPENSATE), around()));
  }

  /**
   * Starts a handler without types.
   *
   * @param kind what it must do
   * @param handler does it
   * @return the running handler
   */
  public RunningHandler<O> handle(TaskKind kind, Handlers.Untyped handler) {
    return running(BareAttempt.handle(handler, given(definition.name(), kind), around()));
  }

  private RunningHandler<O> running(BareAttempt attempt) {
    return new RunningHandler<>(attempt, definition);
  }

  private BareAttempt.Around around() {
    return new BareAttempt.Around(mapper, codec, left);
  }

  private BareAttempt.Given given(String name, TaskKind kind) {
    String effect = kind == TaskKind.PERFORM ? "" : effectKey;
    return new BareAttempt.Given(
        name, kind, attempt, idempotencyKey, effect, item, Map.copyOf(labels),
        input, output, lastDetails);
  }
}
