package dev.drover;

/**
 * The forms of handlers. A handler performs one attempt, in a thread of its own: a virtual thread
 * where Java has them (21 and later). Its exception describes how the attempt failed, see {@link
 * TaskException}.
 *
 * <p>The thread is interrupted when the work must stop, and {@link TaskContext#stopped()} is the
 * reason. A handler that then continues for longer than {@link Agent.Builder#stopGrace} is reported
 * as lost, and ends the agent.
 */
public final class Handlers {
  private Handlers() {}

  /**
   * Performs a task and returns its output.
   *
   * @param <I> the input of the task
   * @param <O> the output of the task
   */
  @FunctionalInterface
  public interface Perform<I, O> {
    /**
     * Performs one attempt.
     *
     * @param input null: there is none
     * @param task the attempt
     * @return the output of the step; null: none
     * @throws Exception how the attempt failed
     */
    O perform(I input, TaskContext task) throws Exception;
  }

  /**
   * Performs a task that need not be done when its handler ends.
   *
   * @param <I> the input of the task
   * @param <O> the output of the task
   */
  @FunctionalInterface
  public interface Respond<I, O> {
    /**
     * Performs one attempt.
     *
     * @param input null: there is none
     * @param task the attempt
     * @return {@link Answer#output}, {@link Answer#again} or {@link Answer#deferred}
     * @throws Exception how the attempt failed
     */
    Answer<O> perform(I input, TaskContext task) throws Exception;
  }

  /**
   * Finds out whether an earlier attempt took effect; it never does the work itself.
   *
   * @param <I> the input of the verified task
   * @param <O> the output of the verified task
   */
  @FunctionalInterface
  public interface Verify<I, O> {
    /**
     * Looks for the effect, by {@link TaskContext#effectKey()}.
     *
     * @param task the attempt
     * @return {@link Answer#happened}, {@link Answer#didNotHappen} or {@link Answer#cannotTell}
     * @throws Exception counts as {@link Answer#cannotTell}
     */
    Answer<O> verify(TypedContext<I, O> task) throws Exception;
  }

  /**
   * Undoes a step.
   *
   * @param <I> the input of the task that is undone
   * @param <O> the output of the task that is undone
   */
  @FunctionalInterface
  public interface Compensate<I, O> {
    /**
     * Undoes what was made under {@link TaskContext#effectKey()}, if it was.
     *
     * @param task the attempt
     * @throws Exception how the attempt failed
     */
    void compensate(TypedContext<I, O> task) throws Exception;
  }

  /** Performs a task of any kind and any types, which it reads from the context. */
  @FunctionalInterface
  public interface Untyped {
    /**
     * Performs one attempt.
     *
     * @param task the attempt
     * @return an {@link Answer}, or the output of the step: a value with a JSON form, a payload, or
     *     null for none
     * @throws Exception how the attempt failed
     */
    Object handle(TaskContext task) throws Exception;
  }

  /** What an agent calls. */
  @FunctionalInterface
  interface Bound {
    Object call(BoundContext context) throws Exception;
  }

  static <I, O> Bound bind(Task<I, O> task, Perform<I, O> handler) {
    return context -> handler.perform(inputOf(context, task), context);
  }

  static <I, O> Bound bindAnswers(Task<I, O> task, Respond<I, O> handler) {
    return context -> handler.perform(inputOf(context, task), context);
  }

  static <I, O> Bound bind(VerifyTask<I, O> task, Verify<I, O> handler) {
    return context -> handler.verify(new TypedView<>(context, task.of()));
  }

  static <I, O> Bound bind(CompensateTask<I, O> task, Compensate<I, O> handler) {
    return context -> {
      handler.compensate(new TypedView<>(context, task.of()));
      return null;
    };
  }

  @SuppressWarnings("unchecked") // Jackson has made a value of the task's type.
  private static <I> I inputOf(BoundContext context, Task<I, ?> task) {
    return (I) context.readInput(task.inputType);
  }
}
