package dev.drover.workflow;

import dev.drover.CompensateTask;
import dev.drover.Task;
import dev.drover.VerifyTask;
import dev.drover.v1.Gate;
import java.time.Duration;

/**
 * A step that performs a task for each item of a list; the settings of the step for its task apply
 * to each item.
 */
public final class MapStep extends Step<Object, MapStep> {
  MapStep(String id, String over, Task<?, ?> task) {
    super(begin(id));
    message.getMapBuilder().setOver(over).setTask(task.name());
  }

  @Override
  MapStep self() {
    return this;
  }

  /**
   * Sets the queue.
   *
   * @param name may contain expressions, such as {@code deploy-${item.host}}; default: {@code
   *     default}
   * @return this step
   */
  public MapStep queue(String name) {
    message.getMapBuilder().setQueue(name);
    return this;
  }

  /**
   * Sets the input of each item.
   *
   * @param template has a JSON form; its strings may contain expressions. Default: the item
   * @return this step
   */
  public MapStep template(Object template) {
    message.setInput(Messages.payload(template));
    return this;
  }

  /**
   * Sets the maximum number of items in progress at the same time.
   *
   * @param items 1 to 1,000; default 100
   * @return this step
   */
  public MapStep concurrency(int items) {
    message.getMapBuilder().setConcurrency(items);
    return this;
  }

  /**
   * Sets how many items may fail without failing the step.
   *
   * @param most default: none
   * @return this step
   */
  public MapStep tolerate(Amount most) {
    if (most.percent == null) {
      message.getMapBuilder().setTolerate(most.count);
    } else {
      message.getMapBuilder().setToleratePercent(most.percent);
    }
    return this;
  }

  /**
   * Starts items in waves, each after the previous wave has ended.
   *
   * @param size of a wave
   * @return this step
   */
  public MapStep waves(Amount size) {
    if (size.percent == null) {
      message.getMapBuilder().getWavesBuilder().setSize(size.count);
    } else {
      message.getMapBuilder().getWavesBuilder().setPercent(size.percent);
    }
    return this;
  }

  /**
   * Sets the time from the end of a wave to its gate, or to the next wave.
   *
   * @param pause default: none
   * @return this step
   */
  public MapStep wavePause(Duration pause) {
    message.getMapBuilder().getWavesBuilder().setPause(Messages.duration(pause));
    return this;
  }

  /**
   * Sets a task that lets the next wave start by succeeding.
   *
   * @param task runs between two waves
   * @param template its input; null: the run's input
   * @param settings its queue, retries and timeouts
   * @return this step
   */
  public MapStep waveGate(Task<?, ?> task, Object template, Beside settings) {
    Gate.Builder gate = settings.gate(task.name());
    if (template != null) {
      gate.setInput(Messages.payload(template));
    }
    message.getMapBuilder().getWavesBuilder().setGate(gate);
    return this;
  }

  /**
   * Sets the task that finds out whether a lost attempt took effect, and with it {@link
   * Effects#VERIFIABLE}.
   *
   * @param task verifies the task of this step
   * @param settings its queue, retries and timeouts
   * @return this step
   */
  public MapStep verify(VerifyTask<?, ?> task, Beside settings) {
    message.setVerify(settings.verify(task.name()));
    return effects(Effects.VERIFIABLE);
  }

  /**
   * Sets the task that undoes an item.
   *
   * @param task undoes the task of this step
   * @param settings its queue, retries and timeouts
   * @return this step
   */
  public MapStep compensate(CompensateTask<?, ?> task, Beside settings) {
    message.setCompensate(settings.compensate(task.name()));
    return this;
  }
}
