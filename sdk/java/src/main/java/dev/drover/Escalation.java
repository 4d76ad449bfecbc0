package dev.drover;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * A question that only a person can answer. It is named by its run and its id.
 *
 * @param id its number within its run, as text
 * @param runId of its run
 * @param workflow of its run
 * @param stepId of its step, or of the item of a map; empty: it concerns the run as a whole
 * @param reason a stable name of its cause, such as {@code undo-failed}
 * @param code the code of the failure that led to it; empty: none
 * @param message what happened, in words for a person
 * @param openedTime when it was opened
 * @param closedTime empty: it is open
 * @param closedBy a person, or the event that settled it; empty: it is open
 * @param claimedBy who has claimed it, as the caller stated it; empty: it is not claimed
 * @param claimedTime empty: it is not claimed
 * @param deadlineTime when the answer of the step's definition is given; empty: there is none
 * @param answers what {@link Escalations#resolve} accepts now, such as {@code retry}; empty in
 *     lists and once it is closed
 * @param answer empty: no person has answered
 */
public record Escalation(
    String id, String runId, String workflow, String stepId, String reason, String code,
    String message, Instant openedTime, Optional<Instant> closedTime, String closedBy,
    String claimedBy, Optional<Instant> claimedTime, Optional<Instant> deadlineTime,
    List<String> answers, Optional<Given> answer) {
  /**
   * The answer of a person.
   *
   * @param answer one of those that the escalation accepted
   * @param by who answered
   * @param isByVerified whether that person proved the name; false: the caller stated it
   * @param why in that person's words
   */
  public record Given(String answer, String by, boolean isByVerified, String why) {}

  static Escalation of(dev.drover.v1.Escalation message) {
    return new Escalation(
        message.getId(), message.getRunId(), message.getWorkflow(), message.getStepId(),
        message.getReason(), message.getCode(), message.getMessage(),
        Times.fromProto(message.getOpenedTime()),
        Contract.time(message.hasClosedTime(), message.getClosedTime()), message.getClosedBy(),
        message.getClaimedBy(),
        Contract.time(message.hasClaimedTime(), message.getClaimedTime()),
        Contract.time(message.hasDeadlineTime(), message.getDeadlineTime()),
        List.copyOf(message.getAnswersList()),
        message.hasAnswer() ? Optional.of(given(message.getAnswer())) : Optional.empty());
  }

  private static Given given(dev.drover.v1.EscalationAnswer answer) {
    return new Given(
        answer.getAnswer(), answer.getBy(), answer.getByVerified(), answer.getWhy());
  }
}
