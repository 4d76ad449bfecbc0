package dev.drover.workflow;

import dev.drover.v1.Compensate;
import dev.drover.v1.CompensateWhen;
import dev.drover.v1.Gate;
import dev.drover.v1.Verify;
import java.util.ArrayList;
import java.util.List;

/** Settings of a further task of a step, which verifies or undoes it, or lets a wave start. */
public final class Beside {
  private String queue = "";
  private final List<Retry> retry = new ArrayList<>();
  private Timeouts timeouts;
  private boolean isAttempted;

  /** All defaults. */
  public Beside() {}

  /**
   * Sets the queue.
   *
   * @param name default: the queue of the step
   * @return this
   */
  public Beside queue(String name) {
    queue = name;
    return this;
  }

  /**
   * Sets the retry policies: the first one that matches the code of a failure applies.
   *
   * @param policies up to 16
   * @return this
   */
  public Beside retry(Retry... policies) {
    retry.addAll(List.of(policies));
    return this;
  }

  /**
   * Sets the timeouts.
   *
   * @param times of this task
   * @return this
   */
  public Beside timeouts(Timeouts times) {
    timeouts = times;
    return this;
  }

  /**
   * For a task that undoes: also undoes a step that failed part-way. Default: only steps that
   * finished.
   *
   * @return this
   */
  public Beside attempted() {
    isAttempted = true;
    return this;
  }

  Verify verify(String task) {
    Verify.Builder made = Verify.newBuilder().setTask(task).setQueue(queue);
    retry.forEach(policy -> made.addRetry(policy.message));
    if (timeouts != null) {
      made.setTimeouts(timeouts.message);
    }
    return made.build();
  }

  Compensate compensate(String task) {
    Compensate.Builder made = Compensate.newBuilder().setTask(task).setQueue(queue);
    retry.forEach(policy -> made.addRetry(policy.message));
    if (timeouts != null) {
      made.setTimeouts(timeouts.message);
    }
    if (isAttempted) {
      made.setWhen(CompensateWhen.COMPENSATE_WHEN_ATTEMPTED);
    }
    return made.build();
  }

  Gate.Builder gate(String task) {
    Gate.Builder made = Gate.newBuilder().setTask(task).setQueue(queue);
    retry.forEach(policy -> made.addRetry(policy.message));
    if (timeouts != null) {
      made.setTimeouts(timeouts.message);
    }
    return made;
  }
}
