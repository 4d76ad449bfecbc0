package dev.drover.testing;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.drover.BareAttempt;
import dev.drover.Codec;
import dev.drover.CompensateTask;
import dev.drover.Handlers;
import dev.drover.Task;
import dev.drover.VerifyTask;
import dev.drover.v1.Payload;
import dev.drover.v1.TaskKind;
import java.time.Duration;
import java.util.Map;

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
  private final dev.drover.v1.Task.Builder message = dev.drover.v1.Task.newBuilder()
      .setTaskToken("token-1").setCallbackToken("callback-1")
      .setRunId("run-1").setStepId("step").setAttempt(1).setFence(1)
      .setWorkflow("workflow").setQueue("default").setIdempotencyKey("key-1");
  private final Object input;
  private Object output;
  private Object lastDetails;
  private Duration left = LEFT;
  private Codec codec;
  private ObjectMapper mapper;

  private TestTask(Task<I, O> definition, Object input) {
    this.definition = definition;
    this.input = input;
    message.setTask(definition.name());
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
    message.setAttempt(number).setFence(number);
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
    message.setIdempotencyKey(key);
    return this;
  }

  /**
   * Sets the key of the effect, for a handler that verifies or undoes.
   *
   * @param key default: {@code effect-1}
   * @return this task
   */
  public TestTask<I, O> effectKey(String key) {
    message.setEffectKey(key);
    return this;
  }

  /**
   * Sets the index in the list of a map.
   *
   * @param index default: the step is not a map
   * @return this task
   */
  public TestTask<I, O> item(int index) {
    message.setItem(index);
    return this;
  }

  /**
   * Sets the labels of the run.
   *
   * @param labels default: none
   * @return this task
   */
  public TestTask<I, O> labels(Map<String, String> labels) {
    message.putAllLabels(labels);
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
    dev.drover.v1.Task task = build(TaskKind.TASK_KIND_PERFORM);
    return running(BareAttempt.perform(definition, handler, task, around()));
  }

  /**
   * Starts a handler that answers.
   *
   * @param handler performs the task
   * @return the running handler
   */
  public RunningHandler<O> respond(Handlers.Respond<I, O> handler) {
    dev.drover.v1.Task task = build(TaskKind.TASK_KIND_PERFORM);
    return running(BareAttempt.respond(definition, handler, task, around()));
  }

  /**
   * Starts a handler that finds out whether a lost attempt of this task took effect.
   *
   * @param verify the definition of the task that verifies
   * @param handler verifies
   * @return the running handler
   */
  public RunningHandler<O> verify(VerifyTask<I, O> verify, Handlers.Verify<I, O> handler) {
    message.setTask(verify.name());
    dev.drover.v1.Task task = build(TaskKind.TASK_KIND_VERIFY);
    return running(BareAttempt.verify(verify, handler, task, around()));
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
    message.setTask(compensate.name());
    dev.drover.v1.Task task = build(TaskKind.TASK_KIND_COMPENSATE);
    return running(BareAttempt.compensate(compensate, handler, task, around()));
  }

  /**
   * Starts a handler without types.
   *
   * @param kind what it must do
   * @param handler does it
   * @return the running handler
   */
  public RunningHandler<O> handle(dev.drover.TaskKind kind, Handlers.Untyped handler) {
    dev.drover.v1.Task task = build(TaskKind.valueOf("TASK_KIND_" + kind.name()));
    return running(BareAttempt.handle(handler, task, around()));
  }

  private RunningHandler<O> running(BareAttempt attempt) {
    return new RunningHandler<>(attempt, definition);
  }

  private BareAttempt.Around around() {
    return new BareAttempt.Around(mapper, codec, left);
  }

  private dev.drover.v1.Task build(TaskKind kind) {
    dev.drover.v1.Task.Builder made = message.clone().setKind(kind);
    BareAttempt.Around around = around();
    Payload given = around.payload(input);
    if (given != null) {
      made.setInput(given);
    }
    Payload done = around.payload(output);
    if (done != null) {
      made.setOutput(done);
    }
    Payload details = around.payload(lastDetails);
    if (details != null) {
      made.setLastDetails(details);
    }
    boolean isPerform = kind == TaskKind.TASK_KIND_PERFORM;
    if (!isPerform && made.getEffectKey().isEmpty()) {
      made.setEffectKey("effect-1");
    }
    return made.build();
  }
}
