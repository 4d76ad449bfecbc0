// An open approval in words.
import type { Approval } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { ApprovalExpiry } from "@drover/proto/drover/v1/workflow_pb.ts";

/** `treasury or ada` */
export function approverWords({ approvers }: Pick<Approval, "approvers">): string {
  return approvers.length === 0 ? "anyone" : approvers.join(" or ");
}

/** `1 of 2: ada` */
export function approvedWords({ approvedBy, need }: Pick<Approval, "approvedBy" | "need">): string {
  const names = approvedBy.length === 0 ? "" : `: ${approvedBy.join(", ")}`;
  return `${approvedBy.length} of ${need}${names}`;
}

const afterDeadline: Readonly<Record<ApprovalExpiry, string>> = {
  [ApprovalExpiry.UNSPECIFIED]: "",
  [ApprovalExpiry.ESCALATE]: "escalated",
  [ApprovalExpiry.REJECT]: "rejected",
  [ApprovalExpiry.APPROVE]: "approved",
};

/** What follows when nobody has decided in time. */
export function expiryWords({ onExpiry }: Pick<Approval, "onExpiry">): string {
  return afterDeadline[onExpiry] ?? "";
}

/** The roles in a text such as `treasury, audit`. */
export function rolesOf(text: string): string[] {
  return text
    .split(",")
    .map((role) => role.trim())
    .filter((role) => role !== "");
}
