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
   * The failures after which it continued.
   *
   * @return empty: there were none
   */
  public List<RunWarning> warnings() {
    return message.getWarningsList().stream().map(RunWarning::of).toList();
  }

  /**
   * Every hand-out of a task, and how it ended.
   *
   * @return empty unless {@link Include#ATTEMPTS} was asked for
   */
  public List<Attempt> attempts() {
    return message.getAttemptsList().stream()
        .map(attempt -> new Attempt(attempt, format)).toList();
  }

  /**
   * The actions of supervisors.
   *
   * @return empty unless {@link Include#INTERVENTIONS} was asked for
   */
  public List<Intervention> interventions() {
    return message.getInterventionsList().stream().map(Intervention::of).toList();
  }

  /**
   * The questions to people.
   *
   * @return empty unless {@link Include#ESCALATIONS} was asked for
   */
  public List<Escalation> escalations() {
    return message.getEscalationsList().stream().map(Escalation::of).toList();
  }

  /**
   * The signals that the run has received.
   *
   * @return empty unless {@link Include#SIGNALS} was asked for
   */
  public List<ReceivedSignal> signals() {
    return message.getSignalsList().stream()
        .map(signal -> new ReceivedSignal(signal, format)).toList();
  }

  /**
   * The decisions of approvers.
   *
   * @return empty unless {@link Include#DECISIONS} was asked for
   */
  public List<MadeDecision> decisions() {
    return message.getDecisionsList().stream()
        .map(decision -> new MadeDecision(decision, format)).toList();
  }

  /**
   * Every setting with its effective value.
   *
   * @return empty unless {@link Include#SETTINGS} was asked for
   */
  public List<Setting> settings() {
    return message.getSettingsList().stream().map(Setting::of).toList();
  }
}
