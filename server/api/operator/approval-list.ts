// ListApprovals: the approvals that open runs wait for, by approver.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  ApprovalSchema,
  ListApprovalsRequest,
  ListApprovalsResponseSchema,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  type Approver,
  approvalSteps,
  type OpenApproval,
  openApprovals,
  waitsForPerson,
} from "../../core/explain/open-approvals.ts";
import { type Plan, planOf } from "../../core/plan/plan.ts";
import type { AllShards } from "../../store/all-shards.ts";
import { ANY_RUN, type Lists } from "../../store/lists.ts";
import type { RunRecord } from "../../store/reads.ts";
import { isUuid } from "../../uuid.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { formatPageToken, parsePageToken } from "../calls/page-token.ts";
import { payloadField } from "../calls/payload.ts";
import { REQUESTER_LABEL } from "../run/run-commands.ts";
import type { RunLookup } from "../run/run-lookup.ts";
import { APPROVAL_EXPIRY } from "../workflow/convert-work.ts";

const PAGE_SIZE_DEFAULT = 50;
/** Most runs that one call reads, and how many of them at once. */
const RUNS_READ_MAX = 1_000;
const RUNS_AT_ONCE = 100;
/** Bytes of forms after which a page ends, so that it fits into a message. */
const FORM_BYTES_MAX = 1024 * 1024;
const WAITING = { ...ANY_RUN, substates: ["approval"] } as const;

interface ApprovalListDeps {
  readonly store: Pick<AllShards, "definition"> & {
    readonly lists: Pick<Lists, "runs" | "approvals">;
  };
  readonly namespaces: Namespaces;
}

type ApprovalMessage = MessageInitShape<typeof ApprovalSchema>;
type Response = MessageInitShape<typeof ListApprovalsResponseSchema>;

export async function listApprovals(
  deps: ApprovalListDeps,
  runs: RunLookup,
  request: ListApprovalsRequest,
): Promise<Response> {
  const namespace = await deps.namespaces.find(request.namespace);
  const read = approvalReader(deps.store, approverFrom(request));
  if (request.run) {
    const { record } = await runs.find(request.namespace, request.run);
    return { approvals: (await read([record])).flat(), nextPageToken: "" };
  }
  const who = JSON.stringify([request.approver, request.roles.toSorted()]);
  const list = `approvals ${namespace.id} ${who}`;
  const limit = request.pageSize === 0 ? PAGE_SIZE_DEFAULT : request.pageSize;
  const atOnce = Math.min(limit + 1, RUNS_AT_ONCE);
  const approvals: ApprovalMessage[] = [];
  let bytes = 0;
  let after = parsePageToken(list, request.pageToken, isUuid);
  for (let left = RUNS_READ_MAX; left > 0; left -= atOnce) {
    const page = { filter: WAITING, order: "created-asc", after, limit: atOnce } as const;
    const records = await deps.store.lists.runs(namespace.id, page);
    const found = await read(records);
    for (const [at, { runId }] of records.entries()) {
      const ofRun = found[at] ?? [];
      approvals.push(...ofRun);
      bytes += ofRun.reduce((sum, approval) => sum + formBytes(approval), 0);
      after = runId;
      const isLast = at === records.length - 1 && records.length < atOnce;
      if (!isLast && (approvals.length >= limit || bytes >= FORM_BYTES_MAX))
        return { approvals, nextPageToken: formatPageToken(list, runId) };
    }
    if (records.length < atOnce) return { approvals, nextPageToken: "" };
  }
  return { approvals, nextPageToken: after === null ? "" : formatPageToken(list, after) };
}

function formBytes({ form }: ApprovalMessage): number {
  return form?.body?.case === "json" ? form.body.value.length : 0;
}

/** null: of all people. */
function approverFrom({ approver, roles }: ListApprovalsRequest): Approver | null {
  if (approver === "" && roles.length === 0) return null;
  return { name: approver === "" ? null : approver, roles };
}

/** Reads the approvals of runs, a list for each; a definition is read once. */
function approvalReader(store: ApprovalListDeps["store"], who: Approver | null) {
  const plans = new Map<number, Promise<Plan>>();
  const planAt = ({ definitionId }: RunRecord) => {
    const plan = plans.get(definitionId) ?? store.definition(definitionId).then(planOf);
    plans.set(definitionId, plan);
    return plan;
  };
  return async (records: readonly RunRecord[]): Promise<readonly ApprovalMessage[][]> => {
    const asked = await Promise.all(
      records.map(async (record) => ({ record, steps: approvalSteps(await planAt(record), who) })),
    );
    const found = await store.lists.approvals(
      asked.flatMap(({ record: { runId }, steps }) =>
        steps.length === 0 ? [] : [{ runId, steps: steps.map(({ no }) => no) }],
      ),
    );
    return asked.map(({ record, steps }) => {
      const of = found.get(record.runId);
      const requester = record.labels[REQUESTER_LABEL] ?? null;
      return (of ? openApprovals(steps, of.steps, of.decisions) : [])
        .filter((open) => who === null || waitsForPerson(open, who, requester))
        .map((open) => approvalMessage(record, open));
    });
  };
}

function approvalMessage(record: RunRecord, open: OpenApproval): ApprovalMessage {
  const { runId, key, workflow, version, labels } = record;
  const { approvers, notRequester, need, form, onExpiry } = open.work;
  return {
    runId,
    runKey: key ?? "",
    workflow,
    version,
    labels: { ...labels },
    stepId: open.stepId,
    approvers: [...approvers],
    notRequester,
    need,
    approvedBy: [...open.approvedBy],
    ...payloadField("form", form),
    sinceTime: timestampFromMs(open.since),
    deadlineTime: timestampFromMs(open.deadlineAt),
    onExpiry: APPROVAL_EXPIRY[onExpiry],
  };
}
