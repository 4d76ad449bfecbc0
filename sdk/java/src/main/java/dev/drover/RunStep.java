package dev.drover;

import dev.drover.v1.Step;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** The state of one step of a run, or of one item of a map. */
public final class RunStep {
  private final Step message;
  private final PayloadFormat format;

  RunStep(Step message, PayloadFormat format) {
    this.message = message;
    this.format = format;
  }

  /**
   * The progress of the items of a map.
   *
   * @param total how many there are
   * @param started how many have started, in the order of the list
   * @param open how many have started and not ended
   * @param succeeded how many succeeded
   * @param failed how many failed
   * @param skipped how many a person skipped
   */
  public record ItemCounts(
      int total, int started, int open, int succeeded, int failed, int skipped) {}

  /**
   * Its id.
   *
   * @return as in the definition
   */
  public String id() {
    return message.getId();
  }

  /**
   * Its state.
   *
   * @return the state
   */
  public StepState state() {
    return StepState.of(message.getState());
  }

  /**
   * The number of the last attempt.
   *
   * @return 0: it was not tried
   */
  public int attempt() {
    return message.getAttempt();
  }

  /**
   * Why the last attempt failed.
   *
   * @return empty: it did not
   */
  public Optional<Failure> failure() {
    return message.hasError()
        ? Optional.of(Failure.of(message.getError()))
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
   * Its output, with the type of its task.
   *
   * @param task the definition of the task
   * @param <O> the output of the task
   * @return empty: there is none
   * @throws PayloadException if it is not of the type
   */
  @SuppressWarnings("unchecked") // Jackson has made a value of the task's type.
  public <O> Optional<O> output(Task<?, O> task) {
    return message.hasOutput()
        ? Optional.ofNullable((O) format.read(message.getOutput(), task.outputType))
        : Optional.empty();
  }

  /**
   * What it does.
   *
   * @return the kind
   */
  public StepKind kind() {
    return Contract.read(StepKind.class, "STEP_KIND_", message.getKind());
  }

  /**
   * Its undo state.
   *
   * @return beside its state
   */
  public UndoState undoState() {
    return Contract.read(UndoState.class, "UNDO_STATE_", message.getUndoState());
  }

  /**
   * What it waits for.
   *
   * @return empty: it is not {@link StepState#WAITING}
   */
  public Optional<WaitingOn> waitingOn() {
    return Contract.readIfSet(WaitingOn.class, "WAITING_ON_", message.getWaitingOn());
  }

  /**
   * When something happens next if nothing is reported: the end of a backoff, a lease or a wait.
   *
   * @return empty: nothing is due
   */
  public Optional<Instant> nextTime() {
    return Contract.time(message.hasNextTime(), message.getNextTime());
  }

  /**
   * Its task.
   *
   * @return empty for a step that no agent performs
   */
  public String task() {
    return message.getTask();
  }

  /**
   * Its queue.
   *
   * @return empty for a step that no agent performs
   */
  public String queue() {
    return message.getQueue();
  }

  /**
   * The signal for which it waits.
   *
   * @return empty for another kind of step
   */
  public String signalName() {
    return message.getSignalName();
  }

  /**
   * The way in which it is tried.
   *
   * @return 0: as defined; n: its n-th fallback
   */
  public int strategy() {
    return message.getStrategy();
  }

  /**
   * How many verify tasks could not find out whether a lost attempt took effect.
   *
   * @return 0: none
   */
  public int verifies() {
    return message.getVerifies();
  }

  /**
   * The number of approvals so far.
   *
   * @return 0 for another kind of step
   */
  public int approvals() {
    return message.getApprovals();
  }

  /**
   * The number of its last hand-out.
   *
   * @return 0: it was not handed out
   */
  public int fence() {
    return message.getFence();
  }

  /**
   * The agent that holds its task.
   *
   * @return empty: none does
   */
  public String agentId() {
    return message.getAgentId();
  }

  /**
   * Since when its attempt is suspect: it runs far longer than other attempts of the step did.
   *
   * @return empty: it is not
   */
  public Optional<Instant> suspectTime() {
    return Contract.time(message.hasSuspectTime(), message.getSuspectTime());
  }

  /**
   * The steps that it needs.
   *
   * @return their ids
   */
  public List<String> needs() {
    return List.copyOf(message.getNeedsList());
  }

  /**
   * The run that it started last.
   *
   * @return empty: none
   */
  public Optional<RunName.Id> childRun() {
    return message.getChildRunId().isEmpty()
        ? Optional.empty()
        : Optional.of(new RunName.Id(message.getChildRunId()));
  }

  /**
   * The progress of its items.
   *
   * @return empty: it is not a map, or has not started
   */
  public Optional<ItemCounts> items() {
    return message.hasItems() ? Optional.of(counts(message.getItems())) : Optional.empty();
  }

  private static ItemCounts counts(dev.drover.v1.ItemCounts items) {
    return new ItemCounts(
        items.getTotal(), items.getStarted(), items.getOpen(),
        items.getSucceeded(), items.getFailed(), items.getSkipped());
  }

  @Override
  public String toString() {
    return message.getId() + " " + state();
  }
}
