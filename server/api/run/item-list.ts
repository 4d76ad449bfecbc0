// ListItems: the items of a map, page by page, or one of them with its attempts.
import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Step, StepSchema, type StepState } from "@drover/proto/drover/v1/run_pb.ts";
import type {
  ListItemsRequest,
  ListItemsResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Forward } from "../../core/model/model.ts";
import { PUBLIC_STATES, type PublicStep } from "../../core/model/public-state.ts";
import { ITEMS_MAX, itemOf, stepKeyOf } from "../../core/model/step-key.ts";
import type { Plan } from "../../core/plan/plan.ts";
import { DroverError } from "../../errors.ts";
import type { AllShards } from "../../store/all-shards.ts";
import { parsePageToken } from "../calls/page-token.ts";
import { attemptMessages } from "./convert-attempt.ts";
import { itemMessages, STEP_STATES } from "./convert-run.ts";
import { pageOf } from "./run-list.ts";
import type { FoundRun, RunLookup } from "./run-lookup.ts";

const STATE_ALONE = { attempts: false, interventions: false, escalations: false };
/** Most bytes of the items of one page, so that they fit into a message. */
const PAGE_BYTES_MAX = 2 * 1024 * 1024;

interface ItemListDeps {
  readonly store: Pick<AllShards, "reads">;
  readonly runs: RunLookup;
}

export async function listItems(
  { store, runs }: ItemListDeps,
  request: ListItemsRequest,
): Promise<MessageInitShape<typeof ListItemsResponseSchema>> {
  const found = await runs.find(request.namespace, request.run);
  const plan = await runs.plan(found.record);
  const map = mapOf(plan, request.stepId);
  const { runId } = found.ref;
  if (request.item !== undefined)
    return await oneItem({ store, runs }, { found, plan, map, item: request.item + 1 });
  const states = new Set(request.states);
  const list = `items ${runId} ${map} ${[...states].sort().join(" ")}`;
  const last = parsePageToken(list, request.pageToken, isItem);
  const page = pageOf(list, request.pageSize);
  const after = last === null ? 0 : Number(last);
  const items = await store.reads.runItems(runId, {
    map,
    after,
    limit: page.limit + 1,
    forwards: states.size === 0 ? null : forwardsOf(states),
  });
  const detail = { ...(await runs.detail(found, STATE_ALONE)), ...items };
  const { queues } = await store.reads.runLiveness(runId);
  const messages = itemMessages(detail, plan, map, { bodies: true }, queues);
  const shown = fitting(messages.slice(0, page.limit));
  const wanted = shown.filter(({ state }) => states.size === 0 || states.has(state));
  const places = [...items.steps.keys()];
  // The first item that did not fit begins the next page.
  const read = places.slice(0, shown.length + 1);
  return {
    items: wanted,
    nextPageToken: pageOf(list, shown.length).nextToken(read, (place) => String(itemOf(place))),
  };
}

/** `item`: its number, from 1. */
async function oneItem(
  { store, runs }: ItemListDeps,
  wanted: {
    readonly found: FoundRun;
    readonly plan: Plan;
    readonly map: number;
    readonly item: number;
  },
): Promise<MessageInitShape<typeof ListItemsResponseSchema>> {
  const { found, plan, map, item } = wanted;
  const { runId } = found.ref;
  const page = { map, after: item - 1, limit: 1, forwards: null };
  const read = await store.reads.runItems(runId, page);
  const detail = { ...(await runs.detail(found, STATE_ALONE)), ...read };
  if (!read.steps.has(stepKeyOf(map, item))) return { items: [], attempts: [] };
  const { queues } = await store.reads.runLiveness(runId);
  return {
    items: itemMessages(detail, plan, map, { bodies: true }, queues),
    attempts: attemptMessages(detail, plan),
  };
}

/**
 * The forward states that the store searches. They cover the public states that are asked for, and
 * may include steps that are shown in another state: the caller filters these.
 */
function forwardsOf(states: ReadonlySet<StepState>): readonly Forward["kind"][] {
  return SHOWN.filter((state) => states.has(STEP_STATES[state])).flatMap(
    (state) => PUBLIC_STATES[state],
  );
}

const SHOWN = Object.keys(PUBLIC_STATES) as PublicStep["state"][];

function isItem(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= ITEMS_MAX;
}

/** The items that fit into a page; at least one, however large it is. */
function fitting(items: readonly Step[]): Step[] {
  let bytes = 0;
  return items.filter((item, at) => {
    bytes += toBinary(StepSchema, item).length;
    return at === 0 || bytes <= PAGE_BYTES_MAX;
  });
}

function mapOf(plan: Plan, stepId: string): number {
  const step = plan.steps.find(({ id }) => id === stepId);
  if (step?.work.kind === "map") return step.no;
  const maps = plan.steps.filter(({ work }) => work.kind === "map").map(({ id }) => `"${id}"`);
  const known = maps.length === 0 ? "has none" : `has ${maps.slice(0, 8).join(", ")}`;
  const what = step ? `"${stepId}" is no map` : `The run has no step "${stepId}"`;
  throw new DroverError("STEP_NOT_FOUND", `${what}: of maps it ${known}.`, {
    metadata: { name: stepId },
  });
}
