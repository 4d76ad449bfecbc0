package dev.drover;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A step of an open run that waits until people approve or reject. */
public final class Approval {
  private final dev.drover.v1.Approval message;
  private final PayloadFormat format;

  Approval(dev.drover.v1.Approval message, PayloadFormat format) {
    this.message = message;
    this.format = format;
  }

  /** What follows when the people do not decide in time. */
  public enum Expiry {
    /** A person is asked. */
    ESCALATE,
    /** It counts as rejected. */
    REJECT,
    /** It counts as approved. */
    APPROVE,
    /** One of a newer server. */
    UNRECOGNIZED
  }

  /**
   * Its run.
   *
   * @return what {@link Approvals#decide} takes
   */
  public RunName.Id run() {
    return new RunName.Id(message.getRunId());
  }

  /**
   * The caller's own name for the run.
   *
   * @return as it was given, or a random one
   */
  public String key() {
    return message.getRunKey();
  }

  /**
   * The workflow of the run.
   *
   * @return its name
   */
  public String workflow() {
    return message.getWorkflow();
  }

  /**
   * The version of the workflow.
   *
   * @return 0: the definition was sent with the run
   */
  public int workflowVersion() {
    return message.getVersion();
  }

  /**
   * The labels of the run.
   *
   * @return empty: there are none
   */
  public Map<String, String> labels() {
    return message.getLabelsMap();
  }

  /**
   * The step.
   *
   * @return what {@link Approvals#decide} takes
   */
  public String stepId() {
    return message.getStepId();
  }

  /**
   * Names and roles of the people who may decide.
   *
   * @return empty: anyone may
   */
  public List<String> approvers() {
    return List.copyOf(message.getApproversList());
  }

  /**
   * Whether the person in the run's label {@code requester} may not decide.
   *
   * @return false: that person may
   */
  public boolean isNotRequester() {
    return message.getNotRequester();
  }

  /**
   * The number of approvals that are needed, each by another person.
   *
   * @return from 1
   */
  public int need() {
    return message.getNeed();
  }

  /**
   * The people who have approved so far.
   *
   * @return as they stated their names
   */
  public List<String> approvedBy() {
    return List.copyOf(message.getApprovedByList());
  }

  /**
   * The JSON Schema of the form that an approver fills in.
   *
   * @param type such as {@code JsonNode}
   * @param <T> the type
   * @return empty: there is no form
   * @throws PayloadException if it is not of the type
   */
  public <T> Optional<T> form(Class<T> type) {
    return format.readIf(message.hasForm(), message.getForm(), type);
  }

  /**
   * Since when the step waits.
   *
   * @return by the clock of the server
   */
  public Instant sinceTime() {
    return Times.fromProto(message.getSinceTime());
  }

  /**
   * When {@link #onExpiry} follows.
   *
   * @return empty: it waits without limit
   */
  public Optional<Instant> deadlineTime() {
    return Contract.time(message.hasDeadlineTime(), message.getDeadlineTime());
  }

  /**
   * What follows at that time.
   *
   * @return as the definition says
   */
  public Expiry onExpiry() {
    return Contract.read(Expiry.class, "APPROVAL_EXPIRY_", message.getOnExpiry());
  }

  @Override
  public String toString() {
    return message.getWorkflow() + " " + message.getRunId() + " " + message.getStepId();
  }
}
