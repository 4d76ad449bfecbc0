package dev.drover.workflow;

/** The answer that an escalation gets at its deadline. */
public enum DeadlineAnswer {
  /** The step is tried again. */
  RETRY,
  /** The step is skipped. */
  SKIP,
  /** The run is undone. */
  COMPENSATE,
  /** The run fails. */
  FAIL;

  dev.drover.v1.DeadlineAnswer toProto() {
    return dev.drover.v1.DeadlineAnswer.valueOf("DEADLINE_ANSWER_" + name());
  }
}
