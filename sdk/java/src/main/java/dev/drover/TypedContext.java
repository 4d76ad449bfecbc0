package dev.drover;

import java.util.Optional;

/**
 * The context of a task that verifies or undoes another one. Input and output are read when they
 * are asked for: mostly {@link TaskContext#effectKey()} is all that is needed.
 *
 * @param <I> the input of the other task
 * @param <O> the output of the other task
 */
public interface TypedContext<I, O> extends TaskContext {
  /**
   * The input of the step.
   *
   * @return null: there is none
   * @throws TaskException with the code {@code bad-input} if it is not of the type
   */
  I input();

  /**
   * For compensate, the output of the step.
   *
   * @return empty: there is none, or it is not known whether the step was done
   * @throws TaskException with the code {@code bad-output} if it is not of the type
   */
  Optional<O> output();
}
