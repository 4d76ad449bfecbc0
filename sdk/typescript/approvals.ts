/** Approvals: steps of open runs that wait until people approve or reject. */
import {
  OperatorService,
  type Approval as WireApproval,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import { ApprovalExpiry } from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { readPayload } from "./payload.ts";
import { type RunName, toRef } from "./run-name.ts";
import { namesOf, readTime } from "./runs.ts";

export interface Approval {
  readonly runId: string;
  readonly key: string;
  readonly workflow: string;
  /** 0: the definition was sent with the request. */
  readonly workflowVersion: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly stepId: string;
  /** Names and roles of the people who may decide. Empty: anyone may. */
  readonly approvers: readonly string[];
  /** The person in the run's label `requester` may not decide. */
  readonly notRequester: boolean;
  /** Number of approvals that are needed, each by another person. */
  readonly need: number;
  /** The people who have approved so far, as they stated their names. */
  readonly approvedBy: readonly string[];
  /** JSON Schema of the form that an approver fills in; undefined: there is no form. */
  readonly form: unknown;
  readonly sinceTime: Date | null;
  /** When `onExpiry` follows; null: it waits without limit. */
  readonly deadlineTime: Date | null;
  readonly onExpiry: keyof typeof ApprovalExpiry;
}

export interface ListApprovalsSpec extends CallControl {
  /** Only those of this run, all on one page. */
  readonly run?: RunName;
  /** Only those on which this person may decide and has not decided. */
  readonly approver?: string;
  /** Roles of that person. */
  readonly roles?: readonly string[];
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ApprovalPage {
  /** Those of the oldest runs first. */
  readonly approvals: readonly Approval[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface Approvals {
  /** The approvals that open runs wait for. */
  list(options?: ListApprovalsSpec): Promise<ApprovalPage>;
}

const rpc = OperatorService.method;
const expiries = namesOf(ApprovalExpiry);

export function createApprovals(call: Call, namespace: string): Approvals {
  return Object.freeze({
    async list(spec: ListApprovalsSpec = {}): Promise<ApprovalPage> {
      const { run, approver = "", roles = [], pageSize = 0, pageToken = "", signal } = spec;
      const asked = { namespace, approver, roles: [...roles], pageSize, pageToken };
      const request = { ...asked, ...(run !== undefined && { run: toRef(run) }) };
      const { approvals, nextPageToken } = await call(rpc.listApprovals, request, { signal });
      return { approvals: approvals.map(readApproval), nextPageToken };
    },
  });
}

function readApproval(approval: WireApproval): Approval {
  return Object.freeze({
    runId: approval.runId,
    key: approval.runKey,
    workflow: approval.workflow,
    workflowVersion: approval.version,
    labels: approval.labels,
    stepId: approval.stepId,
    approvers: approval.approvers,
    notRequester: approval.notRequester,
    need: approval.need,
    approvedBy: approval.approvedBy,
    form: readPayload(approval.form),
    sinceTime: readTime(approval.sinceTime),
    deadlineTime: readTime(approval.deadlineTime),
    onExpiry: expiries.get(approval.onExpiry) ?? "UNSPECIFIED",
  });
}
