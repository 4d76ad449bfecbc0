package dev.drover;

/** The undo state of a step, beside its own state. */
public enum UndoState {
  /** Nothing is to be undone, or not yet. */
  NONE,
  /** It will be undone, after the steps that came after it. */
  PENDING,
  /** Its compensate task is in its queue, held by an agent, or waits to be retried. */
  ACTIVE,
  /** It is undone. */
  DONE,
  /** The undo failed; a person is asked. */
  FAILED,
  /** One of a newer server. */
  UNRECOGNIZED
}
