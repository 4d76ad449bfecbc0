package dev.drover;

import java.time.Instant;
import java.util.Optional;

/** One hand-out of a task and how it ended. */
public final class Attempt {
  private final dev.drover.v1.Attempt message;
  private final PayloadFormat format;

  Attempt(dev.drover.v1.Attempt message, PayloadFormat format) {
    this.message = message;
    this.format = format;
  }

  /** How an attempt ended. */
  public enum Outcome {
    /** It succeeded. */
    SUCCESS,
    /** It failed. */
    FAILURE,
    /** It is not known whether the effect took place. */
    UNKNOWN,
    /** It is to be handed out again later; it does not count. */
    AGAIN,
    /** The remote service accepted it; the outcome follows. */
    DEFERRED,
    /** The agent did not start it; it does not count. */
    RELEASED,
    /** It was stopped on request. */
    CANCELLED,
    /** It did not reach the agent; it does not count. */
    GIVEN_BACK,
    /** A verify that is no longer needed. */
    SUPERSEDED,
    /** One of a newer server. */
    UNRECOGNIZED
  }

  /** What ended an attempt. */
  public enum Source {
    /** The agent that held the task, its callback, or the supervisor in the agent's place. */
    TASK,
    /** The server: a failure that no agent reported. */
    ENGINE,
    /** A signal, an approval, or a person's answer. */
    ANSWER,
    /** One of a newer server. */
    UNRECOGNIZED
  }

  /**
   * Its step.
   *
   * @return for an item of a map with its index, such as {@code deploy[3]}
   */
  public String stepId() {
    return message.getStepId();
  }

  /**
   * What the task was to do.
   *
   * @return empty: a kind of a newer server
   */
  public Optional<TaskKind> kind() {
    return Contract.find(TaskKind.class, "TASK_KIND_", message.getKind());
  }

  /**
   * The number of this hand-out within its step.
   *
   * @return it grows
   */
  public int fence() {
    return message.getFence();
  }

  /**
   * The number of the attempt.
   *
   * @return for a verify task the number of the verify
   */
  public int attempt() {
    return message.getAttempt();
  }

  /**
   * Distinguishes attempts of one fence and kind.
   *
   * @return the number of a verify, else 0
   */
  public int n() {
    return message.getN();
  }

  /**
   * The agent that held the task.
   *
   * @return empty: none did; the server itself ended the step
   */
  public String agentId() {
    return message.getAgentId();
  }

  /**
   * When the task was handed out.
   *
   * @return by the clock of the server
   */
  public Instant startedTime() {
    return Times.fromProto(message.getStartedTime());
  }

  /**
   * When the attempt ended.
   *
   * @return empty: an agent holds the task
   */
  public Optional<Instant> endedTime() {
    return Contract.time(message.hasEndedTime(), message.getEndedTime());
  }

  /**
   * How it ended.
   *
   * @return empty: an agent holds the task
   */
  public Optional<Outcome> outcome() {
    return Contract.readIfSet(Outcome.class, "OUTCOME_KIND_", message.getOutcome());
  }

  /**
   * What went wrong.
   *
   * @return empty: nothing
   */
  public Optional<Failure> failure() {
    return message.hasFailure()
        ? Optional.of(Failure.of(message.getFailure()))
        : Optional.empty();
  }

  /**
   * Its output.
   *
   * @param type as for {@link TaskContext#input(Class)}
   * @param <T> the type
   * @return empty: there is none
   * @throws PayloadException if it is not of the type
   */
  public <T> Optional<T> output(Class<T> type) {
    return format.readIf(message.hasOutput(), message.getOutput(), type);
  }

  /**
   * Whether its report came too late: it is kept as evidence and changed no state.
   *
   * @return false: it did not
   */
  public boolean isLate() {
    return message.getLate();
  }

  /**
   * What ended it.
   *
   * @return the source
   */
  public Source source() {
    return Contract.read(Source.class, "ATTEMPT_SOURCE_", message.getSource());
  }

  @Override
  public String toString() {
    return message.getStepId() + " " + message.getAttempt() + " "
        + outcome().map(Outcome::name).orElse("held");
  }
}
