package dev.drover.workflow;

import java.time.Duration;
import java.util.List;

/** A step that waits for people. */
public final class ApprovalStep extends Step<Object, ApprovalStep> {
  ApprovalStep(String id) {
    super(begin(id));
    message.getApprovalBuilder();
  }

  @Override
  ApprovalStep self() {
    return this;
  }

  /**
   * Sets who may decide.
   *
   * @param namesOrRoles default: anyone may
   * @return this step
   */
  public ApprovalStep approvers(String... namesOrRoles) {
    message.getApprovalBuilder().addAllApprovers(List.of(namesOrRoles));
    return this;
  }

  /**
   * Sets the number of approvals that are needed.
   *
   * @param approvals 1 to 100; default 1
   * @return this step
   */
  public ApprovalStep need(int approvals) {
    message.getApprovalBuilder().setNeed(approvals);
    return this;
  }

  /**
   * The person who started the run, named by its label {@code requester}, may not decide.
   *
   * @return this step
   */
  public ApprovalStep notRequester() {
    message.getApprovalBuilder().setNotRequester(true);
    return this;
  }

  /**
   * Sets the form that an approver fills in.
   *
   * @param schema its JSON Schema
   * @return this step
   */
  public ApprovalStep form(Object schema) {
    message.getApprovalBuilder().setForm(Messages.payload(schema));
    return this;
  }

  /**
   * Sets how long it waits, and what happens then.
   *
   * @param within default 7 days
   * @param onExpiry default: {@link ApprovalExpiry#ESCALATE}
   * @return this step
   */
  public ApprovalStep within(Duration within, ApprovalExpiry onExpiry) {
    message.getApprovalBuilder()
        .setWithin(Messages.duration(within)).setOnExpiry(onExpiry.toProto());
    return this;
  }
}
