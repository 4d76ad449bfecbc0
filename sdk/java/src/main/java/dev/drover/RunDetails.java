package dev.drover;

import dev.drover.v1.GetRunResponse;
import java.util.List;
import java.util.NoSuchElementException;

/** A run with its steps, and what was included of its history. */
public final class RunDetails {
  /** What {@link Client#getRun} returns besides the run and its steps. */
  public enum Include {
    /** Every hand-out of a task, and how it ended. */
    ATTEMPTS,
    /** The actions of supervisors. */
    INTERVENTIONS,
    /** The questions to people. */
    ESCALATIONS,
    /** The signals that the run has received. */
    SIGNALS,
    /** The decisions of approvers. */
    DECISIONS,
    /** Every setting with its effective value and the source of that value. */
    SETTINGS
  }

  private final GetRunResponse message;
  private final PayloadFormat format;

  RunDetails(GetRunResponse message, PayloadFormat format) {
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

  /**
   * One of its steps.
   *
   * @param id as in the definition
   * @return the step
   * @throws NoSuchElementException if there is none
   */
  public RunStep step(String id) {
    return steps().stream().filter(step -> step.id().equals(id)).findFirst()
        .orElseThrow(() -> new NoSuchElementException("the run has no step \"" + id + "\""));
  }

  /**
   * Everything that the server says of it, with what was included; its payloads are decoded.
   *
   * @return the message of the contract
   */
  public GetRunResponse message() {
    return message;
  }
}
