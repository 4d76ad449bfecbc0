package dev.drover.workflow;

/** What happens when no signal comes in time. */
public enum SignalExpiry {
  /** A person is asked. */
  ESCALATE,
  /** The step fails. */
  FAIL,
  /** The step is skipped. */
  SKIP;

  dev.drover.v1.SignalExpiry toProto() {
    return dev.drover.v1.SignalExpiry.valueOf("SIGNAL_EXPIRY_" + name());
  }
}
