package dev.drover;

/** What happens to work that was done when a run is cancelled. */
public enum Undo {
  /** It is undone. */
  COMPENSATE,
  /** It remains. */
  LEAVE;

  dev.drover.v1.Undo toProto() {
    return this == LEAVE ? dev.drover.v1.Undo.UNDO_LEAVE : dev.drover.v1.Undo.UNDO_COMPENSATE;
  }
}
