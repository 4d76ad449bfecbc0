package dev.drover;

import java.time.Instant;
import java.util.Optional;

/** The decision of one approver, as it was made. */
public final class MadeDecision {
  private final dev.drover.v1.Decision message;
  private final PayloadFormat format;

  MadeDecision(dev.drover.v1.Decision message, PayloadFormat format) {
    this.message = message;
    this.format = format;
  }

  /**
   * The step that waited for it.
   *
   * @return its id
   */
  public String stepId() {
    return message.getStepId();
  }

  /**
   * The person who decided.
   *
   * @return as stated by the caller, unless {@link #isApproverVerified}
   */
  public String approver() {
    return message.getApprover();
  }

  /**
   * Whether that person proved the name.
   *
   * @return false: the caller stated it
   */
  public boolean isApproverVerified() {
    return message.getApproverVerified();
  }

  /**
   * What was decided.
   *
   * @return false: it was rejected
   */
  public boolean isApproval() {
    return message.getApproved();
  }

  /**
   * Why, in the approver's words.
   *
   * @return may be empty
   */
  public String comment() {
    return message.getComment();
  }

  /**
   * The form that the approver filled in.
   *
   * @param type as for {@link TaskContext#input(Class)}
   * @param <T> the type
   * @return empty: there is none
   * @throws PayloadException if it is not of the type
   */
  public <T> Optional<T> form(Class<T> type) {
    return format.readIf(message.hasForm(), message.getForm(), type);
  }

  /**
   * When the approver decided.
   *
   * @return by the clock of the server
   */
  public Instant decidedTime() {
    return Times.fromProto(message.getDecidedTime());
  }

  @Override
  public String toString() {
    return message.getApprover() + (isApproval() ? " approved " : " rejected ")
        + message.getStepId();
  }
}
