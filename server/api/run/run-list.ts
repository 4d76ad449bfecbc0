// Pages of runs, escalations and workflows: converts filter, order and page token of a request for
// the store.
import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ListEscalationsRequest } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type RunFilter as FilterMessage,
  type ListRunsRequest,
  type ListRunsResponseSchema,
  type ListWorkflowsRequest,
  RunFilterSchema,
  RunOrder,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Clock } from "../../clock.ts";
import type { RunState as CoreRunState } from "../../core/model/model.ts";
import {
  ANY_RUN,
  type EscalationPage,
  type Lists,
  type RunFilter,
  type RunPage,
} from "../../store/lists.ts";
import { runIdTime } from "../../store/run-head.ts";
import type { Namespace } from "../../store/store.ts";
import { isUuid } from "../../uuid.ts";
import { refusal } from "../calls/errors.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { formatPageToken, parsePageToken } from "../calls/page-token.ts";
import { epochMsFrom } from "../calls/time-field.ts";
import { RUN_STATES, runMessage, substateFilter } from "./convert-run.ts";
import { readRunQuery } from "./run-query.ts";

const PAGE_SIZE_DEFAULT = 50;
/** Of one page: 10,000 lookups by key take some 30 ms. */
const READ_MAX = 10_000;

/** `limit` items are shown; one more is read, to know whether there is a next page. */
interface Page {
  readonly limit: number;
  nextToken<Row>(rows: readonly Row[], nameOf: (row: Row) => string): string;
  /** The token of the page that begins after this one. */
  tokenAfter(name: string): string;
}

function runPageFrom(
  request: ListRunsRequest,
  namespace: Namespace,
  now: number,
): Page & { readonly query: Omit<RunPage, "limit"> } {
  const order = request.order === RunOrder.CREATED_ASC ? "created-asc" : "created-desc";
  const list = `runs ${namespace.id} ${order} ${filterText(request.filter)}`;
  const filter = filterFrom(request.filter, now);
  const after = parsePageToken(list, request.pageToken, isUuid);
  const query = { filter, order, after, readMax: READ_MAX } as const;
  return { ...pageOf(list, request.pageSize), query };
}

interface RunListDeps {
  readonly store: { readonly lists: Pick<Lists, "runs" | "searchedTo"> };
  readonly namespaces: Namespaces;
  readonly clock: Pick<Clock, "wallMs">;
}

export async function listRuns(
  { store, namespaces, clock }: RunListDeps,
  request: ListRunsRequest,
): Promise<MessageInitShape<typeof ListRunsResponseSchema>> {
  const namespace = await namespaces.find(request.namespace);
  const page = runPageFrom(request, namespace, clock.wallMs());
  const query = { ...page.query, limit: page.limit + 1 };
  const rows = await store.lists.runs(namespace.id, query);
  const to = await store.lists.searchedTo(namespace.id, query);
  const isAscending = query.order === "created-asc";
  const found = rows.filter(
    ({ runId }) => to === null || (isAscending ? runId <= to : runId >= to),
  );
  const next = page.nextToken(found, (row) => row.runId);
  const isShort = next === "" && to !== null;
  return {
    runs: found
      .slice(0, page.limit)
      .map((record) => runMessage(record, namespace.name, { bodies: false })),
    nextPageToken: isShort ? page.tokenAfter(to) : next,
    ...(isShort && { searchedToTime: timestampFromMs(runIdTime(to)) }),
  };
}

export function escalationPageFrom(
  request: ListEscalationsRequest,
  namespace: Namespace,
): Page & { readonly query: Omit<EscalationPage, "limit"> } {
  const openOnly = !request.includeClosed;
  const list = `escalations ${namespace.id} ${openOnly}`;
  const last = parsePageToken(list, request.pageToken, (item) => escalationPlace(item) !== null);
  const after = last === null ? null : escalationPlace(last);
  return { ...pageOf(list, request.pageSize), query: { openOnly, after } };
}

/** `RUN N`; null: the text names no escalation. */
function escalationPlace(item: string): EscalationPage["after"] {
  const [runId = "", n = ""] = item.split(" ");
  const good = isUuid(runId) && /^[1-9]\d{0,8}$/.test(n) && item === `${runId} ${n}`;
  return good ? { runId, n: Number(n) } : null;
}

export function workflowPageFrom(
  request: ListWorkflowsRequest,
  namespace: Namespace,
): Page & { readonly after: string | null } {
  const list = `workflows ${namespace.id}`;
  return {
    ...pageOf(list, request.pageSize),
    after: parsePageToken(list, request.pageToken, isWorkflowName),
  };
}

function isWorkflowName(text: string): boolean {
  return /^[A-Za-z0-9._-]{1,128}$/.test(text);
}

export function pageOf(list: string, pageSize: number): Page {
  const limit = pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize;
  return {
    limit,
    nextToken(rows, nameOf) {
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return last === undefined ? "" : formatPageToken(list, nameOf(last));
    },
    tokenAfter: (name) => formatPageToken(list, name),
  };
}

/** `now`: of the server, in milliseconds since 1970; queries may have relative times. */
export function filterFrom(filter: FilterMessage | undefined, now: number): RunFilter {
  const fields = fieldsOf(filter);
  if (!filter?.query) return fields;
  const read = readRunQuery(filter.query, now);
  const refuse = (message: string) =>
    refusal("INVALID_REQUEST", [{ path: "filter.query", message }]);
  if (read.kind === "unreadable") throw refuse(`column ${read.column}: ${read.message}`);
  const twice = FIELDS.find((name) => name in read.filter && !isEmpty(fields[name]));
  if (twice)
    throw refuse(`it has a condition that is also in another field (${twice}): give it once`);
  return { ...fields, ...read.filter };
}

const FIELDS = Object.keys(ANY_RUN) as (keyof RunFilter)[];

function isEmpty(value: RunFilter[keyof RunFilter]): boolean {
  if (value === null || typeof value !== "object") return value === null;
  return Object.values(value).every((one) => one === null);
}

function fieldsOf(filter: FilterMessage | undefined): RunFilter {
  return {
    ...ANY_RUN,
    states: filter?.states.flatMap(stateFrom) ?? [],
    substates: filter?.substates.flatMap((substate) => substateFilter(substate) ?? []) ?? [],
    workflow: filter?.workflow || null,
    parent: filter?.parentRunId || null,
    labels: { ...filter?.labels },
    createdAfter: epochMsFrom(filter?.createdAfter, "filter.created_after"),
    createdBefore: epochMsFrom(filter?.createdBefore, "filter.created_before"),
  };
}

function stateFrom(state: RunState): CoreRunState["kind"][] {
  return CORE_STATES.filter((kind) => RUN_STATES[kind] === state);
}

const CORE_STATES = Object.keys(RUN_STATES) as CoreRunState["kind"][];

/** Equal filters give equal texts, whatever the order of their labels. */
export function filterText(filter: FilterMessage | undefined): string {
  if (filter === undefined) return "";
  const labels = Object.fromEntries(
    Object.entries(filter.labels).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  );
  return Buffer.from(toBinary(RunFilterSchema, { ...filter, labels })).toString("hex");
}
