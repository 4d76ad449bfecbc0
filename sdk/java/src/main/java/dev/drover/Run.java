package dev.drover;

import java.time.Instant;
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
    return message.hasEndedTime()
        ? Optional.of(Times.fromProto(message.getEndedTime()))
        : Optional.empty();
  }

  /**
   * Its input.
   *
   * @param type as for {@link TaskContext#input(Class)}
   * @param <T> the type
   * @return empty: there is none
   * @throws PayloadException if it is not of the type
   */
  public <T> Optional<T> input(Class<T> type) {
    return message.hasInput()
        ? Optional.ofNullable(type.cast(format.read(message.getInput(), type)))
        : Optional.empty();
  }

  /**
   * Everything that the server says of it; its payloads are decoded.
   *
   * @return the message of the contract
   */
  public dev.drover.v1.Run message() {
    return message;
  }

  @Override
  public String toString() {
    return message.getWorkflow() + " " + message.getRunId() + " " + state();
  }
}
