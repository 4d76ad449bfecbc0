// BulkAction: the same said to many runs, a page in a call. The page token keeps the bound of the
// action and the last run of the page before.
import { createHash } from "node:crypto";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type BulkActionRequest,
  BulkActionRequestSchema,
  type BulkActionResponseSchema,
  BulkKind,
  type BulkResultSchema,
  RerunVersion,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import type { RunState } from "../core/model.ts";
import { DroverError } from "../errors.ts";
import { BULK_RUNS_MAX, type Scheduler, type ToldEvent } from "../scheduler/scheduler.ts";
import { partitionOf } from "../store/partition.ts";
import type { RunFilter } from "../store/reads.ts";
import type { Namespace, RunId, Store } from "../store/store.ts";
import { isUuid } from "../uuid.ts";
import { refusal, toStatus } from "./errors.ts";
import type { Namespaces } from "./namespaces.ts";
import { formatPageToken, parsePageToken } from "./page-token.ts";
import { accepted } from "./run-commands.ts";
import { filterFrom, filterText } from "./run-list.ts";

export interface BulkCallDeps {
  readonly scheduler: Pick<Scheduler, "openBulk" | "rerun" | "tell">;
  readonly store: Pick<Store, "reads">;
  readonly namespaces: Namespaces;
}

const PAGE_MAX = 100;
const STATES: Readonly<Record<number, readonly RunState["kind"][]>> = Object.freeze({
  [BulkKind.CANCEL]: [
    "PENDING",
    "RUNNING",
    "PAUSED",
    "STOPPING",
    "COMPENSATING",
    "FINISHING",
    "ESCALATED",
  ],
  [BulkKind.PAUSE]: ["RUNNING", "ESCALATED"],
  [BulkKind.RESUME]: ["PAUSED"],
  [BulkKind.RETRY]: ["FAILED", "CANCELLED"],
});

type Answer = MessageInitShape<typeof BulkActionResponseSchema>;
type Result = MessageInitShape<typeof BulkResultSchema>;

export function createBulkCalls(deps: BulkCallDeps) {
  const { store, scheduler, namespaces } = deps;
  return Object.freeze({
    async bulkAction(request: BulkActionRequest): Promise<Answer> {
      const namespace = await namespaces.find(request.namespace);
      const filter = bulkFilter(request);
      const list = `bulk ${namespace.id} ${digestOf(request)}`;
      const at = placeFrom(list, request.pageToken);
      if (filter === null) return { count: 0 };
      if (request.dryRun)
        return { count: (await store.reads.countRuns(namespace.id, filter, COUNT_MAX)).count };
      refuseNameless(request);
      const begun = at ? null : await begin(deps, namespace, request, filter);
      const until = at?.until ?? begun?.until ?? 0;
      const bound = { ...filter, createdBefore: Math.min(filter.createdBefore ?? until, until) };
      const runs = await store.reads.listRuns(namespace.id, {
        filter: bound,
        order: "created-asc",
        limit: PAGE_MAX,
        after: at?.after ?? null,
      });
      const ids = runs.map(({ runId }) => runId);
      const results = await Promise.all(ids.map((id) => one(scheduler, namespace, request, id)));
      const last = ids.length === PAGE_MAX ? ids.at(-1) : undefined;
      return {
        count: begun?.count ?? 0,
        results,
        nextPageToken: last === undefined ? "" : formatPageToken(list, `${until} ${last}`),
      };
    },
  });
}

/** One more than is allowed tells that there are more. */
const COUNT_MAX = BULK_RUNS_MAX + 1;

async function begin(
  { store, scheduler }: BulkCallDeps,
  namespace: Namespace,
  request: BulkActionRequest,
  filter: RunFilter,
): Promise<{ readonly until: number; readonly count: number }> {
  const looked = await store.reads.countRuns(namespace.id, filter, COUNT_MAX);
  const { until, repeated } = await scheduler.openBulk({
    namespace,
    requestId: request.requestId,
    digest: digestOf(request),
    looked,
    expected: request.expectedCount ?? null,
  });
  return { until, count: repeated ? 0 : looked.count };
}

/** A refusal is the answer about that run; anything else fails the call, which may be repeated. */
async function one(
  scheduler: BulkCallDeps["scheduler"],
  namespace: Namespace,
  request: BulkActionRequest,
  runId: RunId,
): Promise<Result> {
  try {
    const newRunId = await act(scheduler, namespace, request, runId);
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
  "INVALID_REQUEST",
];

async function act(
  scheduler: BulkCallDeps["scheduler"],
  namespace: Namespace,
  request: BulkActionRequest,
  runId: RunId,
): Promise<string> {
  if (request.kind === BulkKind.RETRY) {
    const again = await scheduler.rerun({
      namespace,
      runId,
      from: { kind: "failed" },
      input: null,
      version: request.version === RerunVersion.NEWEST ? "newest" : "same",
      requestId: `bulk ${request.requestId}`,
      digest: digestOf(request),
    });
    return again.runId;
  }
  const partition = partitionOf(namespace.region, runId);
  accepted(await scheduler.tell({ runId, partition }, eventOf(request)), runId);
  return "";
}

function eventOf({ kind, undo, reason: note }: BulkActionRequest): ToldEvent {
  switch (kind) {
    case BulkKind.CANCEL:
      return { kind: "cancel", undo: undo !== Undo.LEAVE, note };
    case BulkKind.PAUSE:
      return { kind: "pause", note };
    case BulkKind.RESUME:
      return { kind: "resume", note };
    default:
      throw new Error(`a bulk action of kind ${kind} has passed the rules`);
  }
}

/** null: asked for states alone that no run of this version is ever in. */
function bulkFilter({ filter, kind }: BulkActionRequest): RunFilter | null {
  const asked = filterFrom(filter);
  const states = (filter?.states.length ?? 0) > 0 ? asked.states : (STATES[kind] ?? []);
  return states.length === 0 ? null : { ...asked, states };
}

function refuseNameless({ requestId }: BulkActionRequest): void {
  if (requestId !== "") return;
  const message = "is missing: it makes the action safe to repeat";
  throw refusal("INVALID_REQUEST", [{ path: "request_id", message }]);
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

/** Over what is asked, without what files it and what goes through it. */
function digestOf(request: BulkActionRequest): string {
  const { kind, undo, version, reason, requestId, expectedCount, filter } = request;
  const count = expectedCount === undefined ? {} : { expectedCount };
  const asked = { kind, undo, version, reason, requestId, ...count };
  const bytes = toBinary(BulkActionRequestSchema, create(BulkActionRequestSchema, asked));
  return createHash("sha256").update(bytes).update(filterText(filter)).digest("hex");
}
