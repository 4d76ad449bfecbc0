package dev.drover.workflow;

import dev.drover.CompensateTask;
import dev.drover.Task;
import dev.drover.VerifyTask;

/**
 * A step that an agent performs.
 *
 * @param <I> the input of the task
 * @param <O> the output of the task
 * @param <T> what it takes from the run; {@code Object}: it has an input of its own
 */
public final class TaskStep<I, O, T> extends Step<T, TaskStep<I, O, T>> {
  TaskStep(String id, Task<I, O> task) {
    super(begin(id));
    message.getTaskBuilder().setName(task.name());
  }

  private TaskStep(TaskStep<I, O, ?> other) {
    super(other.message);
  }

  @Override
  TaskStep<I, O, T> self() {
    return this;
  }

  /**
   * Sets the queue.
   *
   * @param name default: {@code default}
   * @return this step
   */
  public TaskStep<I, O, T> queue(String name) {
    message.getTaskBuilder().setQueue(name);
    return this;
  }

  /**
   * Sets the input.
   *
   * @param value of the task
   * @return this step, which takes nothing from the run
   */
  public TaskStep<I, O, Object> input(I value) {
    message.setInput(Messages.payload(value));
    return new TaskStep<>(this);
  }

  /**
   * Sets the input to one whose strings contain expressions.
   *
   * @param template such as {@code Map.of("to", "${input.city}")}, or an expression alone
   * @return this step, which takes nothing from the run
   */
  public TaskStep<I, O, Object> template(Object template) {
    message.setInput(Messages.payload(template));
    return new TaskStep<>(this);
  }

  /**
   * Sets the task that finds out whether a lost attempt took effect, and with it {@link
   * Effects#VERIFIABLE}.
   *
   * @param task verifies the task of this step
   * @return this step
   */
  public TaskStep<I, O, T> verify(VerifyTask<I, O> task) {
    return verify(task, new Beside());
  }

  /**
   * Sets the task that finds out whether a lost attempt took effect, and with it {@link
   * Effects#VERIFIABLE}.
   *
   * @param task verifies the task of this step
   * @param settings its queue, retries and timeouts
   * @return this step
   */
  public TaskStep<I, O, T> verify(VerifyTask<I, O> task, Beside settings) {
    message.setVerify(settings.verify(task.name()));
    return effects(Effects.VERIFIABLE);
  }

  /**
   * Sets the task that undoes the step.
   *
   * @param task undoes the task of this step
   * @return this step
   */
  public TaskStep<I, O, T> compensate(CompensateTask<I, O> task) {
    return compensate(task, new Beside());
  }

  /**
   * Sets the task that undoes the step.
   *
   * @param task undoes the task of this step
   * @param settings its queue, retries and timeouts
   * @return this step
   */
  public TaskStep<I, O, T> compensate(CompensateTask<I, O> task, Beside settings) {
    message.setCompensate(settings.compensate(task.name()));
    return this;
  }

  /**
   * Adds another way to try the step. Fallbacks are tried in their order.
   *
   * @param task of the same types
   * @return this step
   */
  public TaskStep<I, O, T> fallback(Task<I, O> task) {
    message.addFallbackBuilder().setTask(task.name());
    return this;
  }

  /**
   * Adds another way to try the step: in another queue.
   *
   * @param queue its name
   * @return this step
   */
  public TaskStep<I, O, T> fallbackQueue(String queue) {
    message.addFallbackBuilder().setQueue(queue);
    return this;
  }

  /**
   * Adds another way to try the step: with another input.
   *
   * @param changes is merged over the step's input, key by key; its strings may contain expressions
   * @return this step
   */
  public TaskStep<I, O, T> fallbackInput(Object changes) {
    message.addFallbackBuilder().setInput(Messages.payload(changes));
    return this;
  }

  /**
   * Adds another way to try the step.
   *
   * @param task empty: that of the step
   * @param queue empty: that of the step
   * @param changes merged over the step's input, key by key; null: none
   * @return this step
   */
  public TaskStep<I, O, T> fallback(String task, String queue, Object changes) {
    var fallback = message.addFallbackBuilder().setTask(task).setQueue(queue);
    if (changes != null) {
      fallback.setInput(Messages.payload(changes));
    }
    return this;
  }
}
