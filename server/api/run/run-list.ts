// Pages of runs, escalations and workflows: converts filter, order and page token of a request for
// the store.
import { toBinary } from "@bufbuild/protobuf";
import type { ListEscalationsRequest } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type RunFilter as FilterMessage,
  type ListRunsRequest,
  type ListWorkflowsRequest,
  RunFilterSchema,
  RunOrder,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { RunState as CoreRunState } from "../../core/model/model.ts";
import type { EscalationPage, RunFilter, RunPage } from "../../store/lists.ts";
import type { Namespace } from "../../store/store.ts";
import { isUuid } from "../../uuid.ts";
import { formatPageToken, parsePageToken } from "../calls/page-token.ts";
import { epochMsFrom } from "../calls/time-field.ts";
import { RUN_STATES, substateFilter } from "./convert-run.ts";

const PAGE_SIZE_DEFAULT = 50;

/** `limit` items are shown; one more is read, to know whether there is a next page. */
export interface Page {
  readonly limit: number;
  nextToken<Row>(rows: readonly Row[], nameOf: (row: Row) => string): string;
}

export function runPageFrom(
  request: ListRunsRequest,
  namespace: Namespace,
): Page & { readonly query: Omit<RunPage, "limit"> } {
  const order = request.order === RunOrder.CREATED_ASC ? "created-asc" : "created-desc";
  const list = `runs ${namespace.id} ${order} ${filterText(request.filter)}`;
  const filter = filterFrom(request.filter);
  const after = parsePageToken(list, request.pageToken, isUuid);
  return { ...pageOf(list, request.pageSize), query: { filter, order, after } };
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
  };
}

export function filterFrom(filter: FilterMessage | undefined): RunFilter {
  return {
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
