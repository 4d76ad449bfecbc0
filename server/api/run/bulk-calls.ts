// BulkAction: one action applied to many runs, a page of runs in each call. The page token contains
// the time limit of the action (only runs created before it) and the last run of the previous page.
import { createHash } from "node:crypto";
import { create, type MessageInitShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  type BulkActionRequest,
  BulkActionRequestSchema,
  type BulkActionResponseSchema,
  BulkKind,
  type BulkResultSchema,
  RerunVersion,
  RunFilterSchema,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import type { Clock } from "../../clock.ts";
import type { RunState } from "../../core/model/model.ts";
import { DroverError, type FieldProblem } from "../../errors.ts";
import {
  type Again,
  BULK_RUNS_MAX,
  type RunCommand,
  type Scheduler,
} from "../../scheduler/scheduler.ts";
import type { AllShards } from "../../store/all-shards.ts";
import type { AuditEntry } from "../../store/audit.ts";
import type { RunFilter } from "../../store/lists.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import { partitionOf } from "../../store/partition.ts";
import type { Namespace, RunId } from "../../store/store.ts";
import { isUuid } from "../../uuid.ts";
import { mayCall } from "../auth/authenticate.ts";
import { auditEntry, type Who } from "../calls/audit-entry.ts";
import { refusal, toStatus } from "../calls/errors.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { formatPageToken, parsePageToken } from "../calls/page-token.ts";
import { payloadFrom } from "../calls/payload.ts";
import { OPEN_STATES } from "./convert-run.ts";
import { eraseRun } from "./erase-calls.ts";
import { rerunEntry } from "./rerun-calls.ts";
import { accepted, commandEntry } from "./run-commands.ts";
import { filterFrom, filterText } from "./run-list.ts";

interface BulkCallDeps {
  readonly scheduler: Pick<Scheduler, "openBulk" | "rerun" | "rerunRefusal" | "command">;
  readonly store: Pick<OperatorStore, "lists"> & Pick<AllShards, "namespaces">;
  readonly namespaces: Namespaces;
  readonly clock: Pick<Clock, "wallMs">;
}

const PAGE_MAX = 100;
/**
 * At most this many definitions are checked before the action begins; others when their runs come.
 */
const DEFINITIONS_MAX = 100;
const ENDED_STATES: readonly RunState["kind"][] = [
  "COMPLETED",
  "FAILED",
  "COMPENSATED",
  "CANCELLED",
];
const STATES: Readonly<Record<number, readonly RunState["kind"][]>> = Object.freeze({
  [BulkKind.CANCEL]: OPEN_STATES,
  [BulkKind.PAUSE]: ["RUNNING", "ESCALATED"],
  [BulkKind.RESUME]: ["PAUSED"],
  [BulkKind.RETRY]: ["FAILED", "CANCELLED"],
  [BulkKind.SIGNAL]: OPEN_STATES,
  [BulkKind.RERUN]: ENDED_STATES,
  [BulkKind.ERASE]: ENDED_STATES,
});

const WORDS: Readonly<Record<number, string>> = Object.freeze({
  [BulkKind.CANCEL]: "cancel",
  [BulkKind.PAUSE]: "pause",
  [BulkKind.RESUME]: "resume",
  [BulkKind.RETRY]: "retry",
  [BulkKind.SIGNAL]: "signal",
  [BulkKind.RERUN]: "rerun",
  [BulkKind.ERASE]: "erase",
});

type BulkEvent = Extract<RunCommand, { kind: "cancel" | "pause" | "resume" | "signal" }>;

type Answer = MessageInitShape<typeof BulkActionResponseSchema>;
type Result = MessageInitShape<typeof BulkResultSchema>;

/** What all calls of one action share. */
interface Bulk {
  readonly namespace: Namespace;
  readonly request: BulkActionRequest;
  readonly digest: string;
  readonly who: Who;
}

export function createBulkCalls(deps: BulkCallDeps) {
  const { store, namespaces } = deps;
  return Object.freeze({
    async bulkAction(request: BulkActionRequest, who: Who): Promise<Answer> {
      if (request.kind === BulkKind.ERASE) mayCall(who.caller, OperatorService.method.eraseRun);
      const namespace = await namespaces.find(request.namespace);
      refuseUnfit(request);
      const bulk = { namespace, request, digest: digestOf(request), who };
      const filter = bulkFilter(request, deps.clock.wallMs());
      const list = `bulk ${namespace.id} ${bulk.digest}`;
      const at = placeFrom(list, request.pageToken);
      if (filter === null) return { count: 0 };
      if (request.dryRun) return { count: await dryRun(deps, bulk, filter) };
      const started = at ? null : await begin(deps, bulk, filter);
      const until = at?.until ?? started?.until ?? 0;
      const bound = { ...filter, createdBefore: Math.min(filter.createdBefore ?? until, until) };
      const runs = await store.lists.runs(namespace.id, {
        filter: bound,
        order: "created-asc",
        limit: PAGE_MAX,
        after: at?.after ?? null,
      });
      const ids = runs.map(({ runId }) => runId);
      const results = await all(deps, bulk, until, ids);
      const last = ids.length === PAGE_MAX ? ids.at(-1) : undefined;
      return {
        count: started?.count ?? 0,
        results,
        nextPageToken: last === undefined ? "" : formatPageToken(list, `${until} ${last}`),
      };
    },
  });
}

/** One more than the maximum, so that a larger number of runs can be recognized. */
const COUNT_MAX = BULK_RUNS_MAX + 1;

async function dryRun(deps: BulkCallDeps, bulk: Bulk, filter: RunFilter): Promise<number> {
  const { count } = await deps.store.lists.countRuns(bulk.namespace.id, filter, COUNT_MAX);
  const refused = await definitionRefusal(deps, bulk, filter);
  if (refused) throw refused;
  return count;
}

async function begin(
  deps: BulkCallDeps,
  bulk: Bulk,
  filter: RunFilter,
): Promise<{ readonly until: number; readonly count: number }> {
  const { namespace, request, digest } = bulk;
  const counted = await deps.store.lists.countRuns(namespace.id, filter, COUNT_MAX);
  const { until, repeated } = await deps.scheduler.openBulk({
    namespace,
    requestId: request.requestId,
    digest,
    counted: counted,
    expected: request.expectedCount ?? null,
    refusal: await definitionRefusal(deps, bulk, filter),
    audit: bulkEntry(bulk, counted.count),
  });
  return { until, count: repeated ? 0 : counted.count };
}

/** Why runs of these definitions cannot be rerun as requested; null: they can. */
async function definitionRefusal(
  { store, scheduler }: BulkCallDeps,
  { namespace, request }: Bulk,
  filter: RunFilter,
): Promise<DroverError | null> {
  if (request.kind !== BulkKind.RERUN) return null;
  const most = { runs: COUNT_MAX, definitions: DEFINITIONS_MAX };
  const definitions = await store.lists.definitions(namespace.id, filter, most);
  return await scheduler.rerunRefusal({ namespace, ...againOf(request) }, definitions);
}

async function all(
  deps: BulkCallDeps,
  bulk: Bulk,
  until: number,
  ids: readonly RunId[],
): Promise<Result[]> {
  if (bulk.request.kind !== BulkKind.ERASE)
    return Promise.all(ids.map((id) => one(deps, bulk, until, id)));
  // Each is a transaction of its own: together they would take all connections.
  const results: Result[] = [];
  for (const id of ids) results.push(await one(deps, bulk, until, id));
  return results;
}

/**
 * A refusal becomes the answer for that run. Any other error fails the call, which may be repeated.
 */
async function one(deps: BulkCallDeps, bulk: Bulk, until: number, runId: RunId): Promise<Result> {
  try {
    const newRunId = await act(deps, bulk, until, runId);
    return { runId, status: create(StatusSchema), newRunId };
  } catch (error) {
    if (!(error instanceof DroverError) || !OF_ONE.includes(error.reason)) throw error;
    return { runId, status: toStatus(error) };
  }
}

const OF_ONE: readonly DroverError["reason"][] = [
  "RUN_STATE",
  "RUN_NOT_FOUND",
  "WORKFLOW_NOT_FOUND",
  "STEP_NOT_FOUND",
  "INVALID_REQUEST",
  "SIGNAL_LIMIT",
  "SIGNAL_UNKNOWN",
  "CONCURRENCY_LIMIT",
];

async function act(
  { scheduler, store }: BulkCallDeps,
  { namespace, request, digest, who }: Bulk,
  until: number,
  runId: RunId,
): Promise<string> {
  const ref = { runId, partition: partitionOf(namespace.region, runId) };
  const more = { bulk: request.requestId };
  if (request.kind === BulkKind.RETRY || request.kind === BulkKind.RERUN) {
    const requestId = `bulk ${request.requestId}`;
    const again = againOf(request);
    const { reason } = request;
    const audit = rerunEntry(who, { namespace, ref }, again, { ...more, reason });
    const asked = { namespace, runId, ...again, requestId, digest, audit };
    return (await scheduler.rerun(asked)).runId;
  }
  if (request.kind === BulkKind.ERASE) {
    await eraseRun(store, { namespace, ref }, who, { reason: request.reason, details: more });
    return "";
  }
  const event = eventOf(request, until);
  const audit = event.kind === "signal" ? null : commandEntry(who, { namespace, ref }, event, more);
  accepted(await scheduler.command(ref, event, audit), runId);
  return "";
}

function againOf({ kind, version, stepId, input }: BulkActionRequest): Omit<Again, "namespace"> {
  return {
    from: kind === BulkKind.RETRY ? { kind: "failed" } : { kind: "step", stepId },
    input: input === undefined ? null : { payload: payloadFrom(input) },
    version: version === RerunVersion.NEWEST ? "newest" : "same",
  };
}

function eventOf(request: BulkActionRequest, until: number): BulkEvent {
  const { kind, undo, reason: note, requestId, signalName: name, payload } = request;
  switch (kind) {
    case BulkKind.CANCEL:
      return { kind: "cancel", undo: undo !== Undo.LEAVE, note };
    case BulkKind.PAUSE:
      return { kind: "pause", note };
    case BulkKind.RESUME:
      return { kind: "resume", note };
    case BulkKind.SIGNAL:
      // A run keeps signal ids longer than the server keeps the request id. `until` makes a later
      // action with the same request id a different signal.
      return {
        kind: "signal",
        id: `bulk ${requestId} ${until}`,
        name,
        payload: payloadFrom(payload),
      };
    default:
      throw new Error(`a bulk action of kind ${kind} has passed the rules`);
  }
}

/**
 * The action as a whole; each run that it changes has an entry of its own. A filter that finds the
 * runs of a person names the person, so that of an erasure is left out.
 */
function bulkEntry({ namespace, request, who }: Bulk, count: number): AuditEntry {
  const { kind, filter, reason, signalName: signal } = request;
  return auditEntry(who, {
    action: "bulk.start",
    namespaceId: namespace.id,
    subject: ["bulk", request.requestId],
    reason,
    details: {
      kind: WORDS[kind] ?? "",
      runs: count,
      ...(kind === BulkKind.ERASE
        ? {}
        : { filter: filter ? toJsonString(RunFilterSchema, filter) : "" }),
      ...(signal === "" ? {} : { signal }),
    },
  });
}

/** null: the filter names only states that no run is ever in. */
function bulkFilter({ filter, kind }: BulkActionRequest, now: number): RunFilter | null {
  const asked = filterFrom(filter, now);
  if (asked.states.length > 0) return asked;
  const isAny = (filter?.states.length ?? 0) === 0;
  const states = isAny ? (STATES[kind] ?? []) : [];
  return states.length === 0 ? null : { ...asked, states };
}

/** Refuses a request that lacks a field, or has a field that the action would ignore. */
function refuseUnfit(request: BulkActionRequest): void {
  const { kind, dryRun, requestId, signalName, payload, stepId, input, reason } = request;
  const problems: FieldProblem[] = [];
  const need = (path: string, why: string) =>
    problems.push({ path, message: `is missing: ${why}` });
  if (!dryRun && requestId === "") need("request_id", "it makes the action safe to repeat");
  if (!dryRun && kind === BulkKind.SIGNAL && signalName === "")
    need("signal_name", "steps wait for a signal by its name");
  if (!dryRun && kind === BulkKind.ERASE && reason === "")
    need("reason", "the audit keeps why runs were erased");
  const given = [
    { path: "signal_name", of: "SIGNAL", is: signalName !== "" },
    { path: "payload", of: "SIGNAL", is: payload !== undefined },
    { path: "step_id", of: "RERUN", is: stepId !== "" },
    { path: "input", of: "RERUN", is: input !== undefined },
  ] as const;
  for (const { path, of, is } of given)
    if (is && kind !== BulkKind[of]) problems.push({ path, message: `is for ${of}: leave it out` });
  if (problems.length > 0) throw refusal("INVALID_REQUEST", problems);
}

interface Place {
  readonly until: number;
  readonly after: RunId;
}

function placeFrom(list: string, token: string): Place | null {
  const last = parsePageToken(list, token, (item) => placeOf(item) !== null);
  return last === null ? null : placeOf(last);
}

function placeOf(item: string): Place | null {
  const [until = "", after = ""] = item.split(" ");
  const good = /^\d{1,15}$/.test(until) && isUuid(after) && item === `${until} ${after}`;
  return good ? { until: Number(until), after } : null;
}

/**
 * Covers what is requested. It leaves out the namespace (the request is filed under it), the fields
 * that change between the calls of one action, and the expected count, which is true of one time
 * only.
 */
function digestOf(request: BulkActionRequest): string {
  const { filter, expectedCount: _, ...asked } = request;
  const filed: BulkActionRequest = { ...asked, namespace: "", dryRun: false, pageToken: "" };
  const bytes = toBinary(BulkActionRequestSchema, filed);
  return createHash("sha256").update(bytes).update(filterText(filter)).digest("hex");
}
