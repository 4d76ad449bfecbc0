package dev.drover.workflow;

/** How the steps that a step needs must have ended. */
public enum RunIf {
  /** In any way. */
  ENDED,
  /** All with success. */
  ALL_OK,
  /** At least one with success. */
  ANY_OK;

  dev.drover.v1.RunIf toProto() {
    return dev.drover.v1.RunIf.valueOf("RUN_IF_" + name());
  }
}
