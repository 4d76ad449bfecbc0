package dev.drover;

import java.util.Objects;

/**
 * A task that undoes another one; {@link Task#compensatedBy} makes it.
 *
 * @param <I> the input of the task that is undone
 * @param <O> the output of the task that is undone
 */
public final class CompensateTask<I, O> {
  private final String name;
  private final Task<I, O> of;

  CompensateTask(String name, Task<I, O> of) {
    this.name = Objects.requireNonNull(name, "compensate");
    this.of = of;
  }

  /**
   * The task that it serves.
   *
   * @return its definition
   */
  public Task<I, O> of() {
    return of;
  }

  /**
   * The name.
   *
   * @return as in definitions of workflows
   */
  public String name() {
    return name;
  }
}
