package dev.drover;

import java.time.Instant;
import java.util.Optional;

/** A signal that was sent to a run. */
public final class ReceivedSignal {
  private final dev.drover.v1.ReceivedSignal message;
  private final PayloadFormat format;

  ReceivedSignal(dev.drover.v1.ReceivedSignal message, PayloadFormat format) {
    this.message = message;
    this.format = format;
  }

  /**
   * Its number among the signals of the run.
   *
   * @return from 1
   */
  public int seq() {
    return message.getSeq();
  }

  /**
   * The caller's own name for it.
   *
   * @return as it was sent
   */
  public String id() {
    return message.getSignalId();
  }

  /**
   * Its name.
   *
   * @return as it was sent
   */
  public String name() {
    return message.getName();
  }

  /**
   * Its payload.
   *
   * @param type as for {@link TaskContext#input(Class)}
   * @param <T> the type
   * @return empty: there is none
   * @throws PayloadException if it is not of the type
   */
  public <T> Optional<T> payload(Class<T> type) {
    return format.readIf(message.hasPayload(), message.getPayload(), type);
  }

  /**
   * When it arrived.
   *
   * @return by the clock of the server
   */
  public Instant receivedTime() {
    return Times.fromProto(message.getReceivedTime());
  }

  /**
   * The step that took it.
   *
   * @return empty: none has
   */
  public String takenBy() {
    return message.getTakenBy();
  }

  @Override
  public String toString() {
    return message.getName() + " " + message.getSignalId();
  }
}
