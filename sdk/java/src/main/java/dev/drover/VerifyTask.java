package dev.drover;

import java.util.Objects;

/**
 * A task that finds out whether a lost attempt of another one took effect; {@link Task#verifiedBy}
 * makes it.
 *
 * @param <I> the input of the verified task
 * @param <O> the output of the verified task
 */
public final class VerifyTask<I, O> {
  private final String name;
  private final Task<I, O> of;

  VerifyTask(String name, Task<I, O> of) {
    this.name = Objects.requireNonNull(name, "verify");
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
