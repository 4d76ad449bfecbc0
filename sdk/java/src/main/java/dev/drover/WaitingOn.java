package dev.drover;

/** What a step in the state WAITING waits for. */
public enum WaitingOn {
  /** The time of {@link RunStep#nextTime}. */
  TIMER,
  /** A signal, until that time. */
  SIGNAL,
  /** People, until that time. */
  APPROVAL,
  /** The outcome of an attempt that its agent deferred, until that time. */
  CALLBACK,
  /** The run {@link RunStep#childRun}; at that time it is asked to stop. */
  CHILD,
  /** The end of that run, which was asked to stop. */
  CHILD_END,
  /** The items of a map. */
  ITEMS,
  /** One of a newer server. */
  UNRECOGNIZED
}
