package dev.drover.workflow;

/** What happens when no agent polls for a task. */
public enum OnPickup {
  /** An alarm is raised. */
  ALARM,
  /** A person is asked. */
  ESCALATE,
  /** The next fallback is tried. */
  FALLBACK;

  dev.drover.v1.OnPickup toProto() {
    return dev.drover.v1.OnPickup.valueOf("ON_PICKUP_" + name());
  }
}
