package dev.drover.workflow;

/** What happens to the run when a step has failed for good. */
public enum OnFailure {
  /** It is undone. */
  COMPENSATE,
  /** It fails, and what was done remains. */
  FAIL,
  /** It continues. */
  CONTINUE,
  /** A person is asked. */
  ESCALATE;

  dev.drover.v1.OnFailure toProto() {
    return dev.drover.v1.OnFailure.valueOf("ON_FAILURE_" + name());
  }
}
