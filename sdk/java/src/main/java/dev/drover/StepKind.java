package dev.drover;

/** What a step does. */
public enum StepKind {
  /** An agent performs a task. */
  TASK,
  /** It is a timer. */
  WAIT,
  /** It waits for an event from outside. */
  SIGNAL,
  /** It waits for people. */
  APPROVAL,
  /** It is a run of a workflow. */
  RUN,
  /** Agents perform a task for each item of a list. */
  MAP,
  /** One of a newer server. */
  UNRECOGNIZED
}
