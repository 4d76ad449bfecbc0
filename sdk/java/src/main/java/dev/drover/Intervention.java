package dev.drover;

import java.time.Instant;

/**
 * One recorded action of a supervisor.
 *
 * @param stepId of the step, or of the item of a map; empty: the run as a whole
 * @param rule the name of the rule by which it acted
 * @param saw what it found, in words for a person
 * @param did what it did, in words for a person
 * @param dueTime when the action was due
 * @param actedTime when it acted
 * @param supervisor the id of its process; empty: no supervisor acted
 * @param partition of the run
 * @param epoch of the partition
 * @param fence of the task; 0: it concerned none
 * @param attempt that it concerned; 0: it concerned none
 */
public record Intervention(
    String stepId, String rule, String saw, String did, Instant dueTime, Instant actedTime,
    String supervisor, int partition, long epoch, int fence, int attempt) {
  static Intervention of(dev.drover.v1.Intervention message) {
    return new Intervention(
        message.getStepId(), message.getRule(), message.getSaw(), message.getDid(),
        Times.fromProto(message.getDueTime()), Times.fromProto(message.getActedTime()),
        message.getSupervisor(), message.getPartition(), message.getEpoch(),
        message.getFence(), message.getAttempt());
  }
}
