package dev.drover;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The state of a run. */
public final class Run {
  private final dev.drover.v1.Run message;
  private final PayloadFormat format;

  Run(dev.drover.v1.Run message, PayloadFormat format) {
    this.message = message;
    this.format = format;
  }

  /**
   * What steps of a run do or wait for, and how many.
   *
   * @param substate what they do or wait for
   * @param steps 0: they are not counted, as with WORKING and WAITING_FOR_AGENT
   */
  public record SubstateCount(RunSubstate substate, int steps) {}

  /**
   * The step that started a child run.
   *
   * @param run of the step
   * @param stepId of the step
   */
  public record Parent(RunName.Id run, String stepId) {}

  /**
   * How many runs of one key may be in progress at the same time.
   *
   * @param key of the runs
   * @param limit how many
   * @param whenBusy what happens to a run more; empty: something of a newer server
   */
  public record Concurrency(String key, int limit, Optional<NewRun.WhenBusy> whenBusy) {
    static Concurrency of(dev.drover.v1.Concurrency message) {
      return new Concurrency(message.getKey(), message.getLimit(), Contract.find(
          NewRun.WhenBusy.class, "CONCURRENCY_POLICY_", message.getPolicy()));
    }
  }

  /**
   * Its id.
   *
   * @return the name by which other calls take it
   */
  public RunName.Id id() {
    return new RunName.Id(message.getRunId());
  }

  /**
   * The caller's own name for it.
   *
   * @return as it was given, or a random one
   */
  public String key() {
    return message.getKey();
  }

  /**
   * The name of its workflow.
   *
   * @return as in the definition
   */
  public String workflow() {
    return message.getWorkflow();
  }

  /**
   * The version of its workflow.
   *
   * @return 0: the definition was sent with the run
   */
  public int workflowVersion() {
    return message.getWorkflowVersion();
  }

  /**
   * Its state.
   *
   * @return {@link RunState#isEnded} if it has ended
   */
  public RunState state() {
    return RunState.of(message.getState());
  }

  /**
   * What happens, in one sentence for a person.
   *
   * @return may change with the version of the server
   */
  public String summary() {
    return message.getSummary();
  }

  /**
   * Its labels.
   *
   * @return empty: there are none
   */
  public Map<String, String> labels() {
    return message.getLabelsMap();
  }

  /**
   * When it was created.
   *
   * @return by the clock of the server
   */
  public Instant createdTime() {
    return Times.fromProto(message.getCreatedTime());
  }

  /**
   * When it ended.
   *
   * @return empty: it has not ended
   */
  public Optional<Instant> endedTime() {
    return Contract.time(message.hasEndedTime(), message.getEndedTime());
  }

  /**
   * Its input.
   *
   * @param type as for {@link TaskContext#input(Class)}
   * @param <T> the type
   * @return empty: there is none, or the run is of a list or a watch
   * @throws PayloadException if it is not of the type
   */
  public <T> Optional<T> input(Class<T> type) {
    return format.readIf(message.hasInput(), message.getInput(), type);
  }

  /**
   * The namespace that owns it.
   *
   * @return its name
   */
  public String namespace() {
    return message.getNamespace();
  }

  /**
   * Why it ended, or is about to end.
   *
   * @return empty: there is no reason yet
   */
  public Optional<RunReason> reason() {
    return Contract.readIfSet(RunReason.class, "RUN_REASON_", message.getReason());
  }

  /**
   * Its priority.
   *
   * @return 1 (first) to 9 (last)
   */
  public int priority() {
    return message.getPriority();
  }

  /**
   * When its timeout passes.
   *
   * @return empty: it has not begun, is about to end, or the timeout is suspended
   */
  public Optional<Instant> deadlineTime() {
    return Contract.time(message.hasDeadlineTime(), message.getDeadlineTime());
  }

  /**
   * When it begins.
   *
   * @return empty: it has begun, or waits for a permit of its concurrency key
   */
  public Optional<Instant> startTime() {
    return Contract.time(message.hasStartTime(), message.getStartTime());
  }

  /**
   * The number of its last change of state.
   *
   * @return it grows
   */
  public long version() {
    return message.getVersion();
  }

  /**
   * The reason that was given to {@link Client#cancelRun}.
   *
   * @return empty: none was given
   */
  public String cancelReason() {
    return message.getCancelReason();
  }

  /**
   * The number of failures after which it continued; {@link RunDetails#warnings} has them.
   *
   * @return 0: there were none
   */
  public int warnings() {
    return message.getWarnings();
  }

  /**
   * What steps of an open run do or wait for.
   *
   * @return empty: it has ended, has not begun, or only waits for a person
   */
  public List<SubstateCount> substates() {
    return message.getSubstatesList().stream()
        .map(count -> new SubstateCount(
            Contract.read(RunSubstate.class, "RUN_SUBSTATE_", count.getSubstate()),
            count.getSteps()))
        .toList();
  }

  /**
   * The step that started it.
   *
   * @return empty: it is not a child run
   */
  public Optional<Parent> parent() {
    return message.hasParent()
        ? Optional.of(new Parent(
            new RunName.Id(message.getParent().getRunId()), message.getParent().getStepId()))
        : Optional.empty();
  }

  /**
   * The limit on the runs of its concurrency key.
   *
   * @return empty: it has no such key
   */
  public Optional<Concurrency> concurrency() {
    return message.hasConcurrency()
        ? Optional.of(Concurrency.of(message.getConcurrency()))
        : Optional.empty();
  }

  @Override
  public String toString() {
    return message.getWorkflow() + " " + message.getRunId() + " " + state();
  }
}
