package dev.drover;

import dev.drover.v1.WatchRunResponse;
import java.util.List;

/** A run with its steps, at one time. */
public final class RunSnapshot {
  private final WatchRunResponse message;
  private final PayloadFormat format;

  RunSnapshot(WatchRunResponse message, PayloadFormat format) {
    this.message = message;
    this.format = format;
  }

  /**
   * The run.
   *
   * @return its state
   */
  public Run run() {
    return new Run(message.getRun(), format);
  }

  /**
   * Its steps.
   *
   * @return in the order of the definition
   */
  public List<RunStep> steps() {
    return message.getStepsList().stream().map(step -> new RunStep(step, format)).toList();
  }
}
