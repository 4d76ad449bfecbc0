package dev.drover;

/** What steps of an open run do or wait for, beside the state of the run. */
public enum RunSubstate {
  /** An agent has a task of the run. */
  WORKING,
  /** A task is ready, and no agent has taken it yet. */
  WAITING_FOR_AGENT,
  /** A task that failed, or that an agent gave back, is ready again later. */
  RETRYING,
  /** A step waits for a signal. */
  WAITING_FOR_SIGNAL,
  /** A step waits for the decision of people. */
  WAITING_FOR_APPROVAL,
  /** A step waits for an outcome that its agent deferred. */
  WAITING_FOR_CALLBACK,
  /** A step waits for a time. */
  WAITING_FOR_TIMER,
  /** A step waits for the end of a child run. */
  WAITING_FOR_CHILD,
  /** The run is paused; a task would be ready otherwise. */
  HELD,
  /** One of a newer server. */
  UNRECOGNIZED
}
