package dev.drover;

/** What a handler must do. */
public enum TaskKind {
  /** Perform the step. */
  PERFORM,
  /** Find out whether an earlier attempt took effect; never do the work itself. */
  VERIFY,
  /** Undo the step. */
  COMPENSATE
}
