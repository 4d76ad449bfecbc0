package dev.drover.workflow;

/** What happens when nobody decides in time. */
public enum ApprovalExpiry {
  /** A person is asked. */
  ESCALATE,
  /** It counts as rejected. */
  REJECT,
  /** It counts as approved. */
  APPROVE;

  dev.drover.v1.ApprovalExpiry toProto() {
    return dev.drover.v1.ApprovalExpiry.valueOf("APPROVAL_EXPIRY_" + name());
  }
}
