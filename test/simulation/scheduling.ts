// A client that schedules runs, with and without keys, singly and in batches. Some start later,
// some share a concurrency key. It repeats calls that were not answered, and reuses a key for
// another request.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  ScheduleBatchRequestSchema,
  type ScheduleRequest,
  ScheduleRequestSchema,
  type ScheduleResult,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import { payloadField } from "../../server/api/calls/payload.ts";
import { requestDigest } from "../../server/api/calls/request-digest.ts";
import { concurrencyMessage } from "../../server/api/run/convert-concurrency.ts";
import { definitionMessage } from "../../server/api/workflow/convert-definition.ts";
import type { Payload } from "../../server/core/model/payload.ts";
import type { Concurrency } from "../../server/core/model/permits.ts";
import { type Client, recordAnswer } from "./client.ts";
import type { Answer, ScheduleAsk } from "./history.ts";
import { MARK_LABEL } from "./history-rows.ts";
import { NAMED_RUNS_HOOK } from "./receivers.ts";
import { pickVersion, type Registered, workflowNames } from "./registrar.ts";
import { answerSeen, isOverloaded, isToRepeat, nameIn, reasonOf } from "./seen.ts";
import { runInput } from "./workload.ts";
import { randomDefinition } from "./workload-rare.ts";
import { canaryOf } from "./world.ts";

const CALL_MS_MAX = 3_000;
/** Runs of a namespace at least: a simulated world with fewer proves too little. */
const RUNS_LEAST = 10;
const TRIES_MAX = 40;
const NAMED_SHARE = 0.35;
const BATCH_SHARE = 0.12;
const LATER_SHARE = 0.12;
const LATER_MS_MAX = 4_000;
const KEYED_SHARE = 0.25;
const NOTIFY_SHARE = 0.2;
/** Limits of the concurrency keys of a namespace. */
const LIMITS: readonly number[] = [1, 2];

type Target = MessageInitShape<typeof ScheduleRequestSchema>["target"];

/** The random settings of a run's start. */
export interface Begin {
  readonly startAt: number | null;
  readonly concurrency: Concurrency | null;
  readonly priority: number;
  /** The hook that gets its end. */
  readonly notify: string | null;
}

const AT_ONCE: Begin = { startAt: null, concurrency: null, priority: 0, notify: null };

interface Order {
  readonly ask: ScheduleAsk;
  readonly request: ScheduleRequest;
}

export async function scheduleAll(
  client: Client,
  registered: readonly Registered[],
): Promise<void> {
  const { world, process, runs, withinMs, namespace } = client;
  const { chance, clock } = process;
  const canary = canaryOf(world, namespace);
  const order = (key: string | null, mark: string, begin: Begin): Order => {
    const target = randomTarget(client, registered);
    const request = scheduleRequest(namespace, key, mark, target, runInput(canary), begin);
    return { request, ask: askOf(request, key, mark, begin) };
  };
  const open: Promise<void>[] = [];
  let batch: Order[] = [];
  for (let number = 1; number <= runs; number++) {
    await clock.sleep(chance.between(0, (2 * withinMs) / runs));
    const key = chance.happens(0.8) ? `${canary}-${number}` : null;
    const mark = `${canary}-run-${number}`;
    const one = order(key, mark, randomBegin(client));
    const same = repeatOf(client, one, () => order(key, `${mark}-other`, randomBegin(client)));
    if (same)
      open.push(clock.sleep(chance.between(0, 400)).then(() => untilAnswered(client, same)));
    if (batch.length === 0 && !chance.happens(BATCH_SHARE)) {
      open.push(untilAnswered(client, one));
      continue;
    }
    batch.push(one);
    if (chance.happens(0.6) && number < runs) continue;
    open.push(batchUntilAnswered(client, batch));
    batch = [];
  }
  await Promise.all(open);
  // What was sent without a key and lost is not sent again: the seed still has runs enough.
  for (let number = runs + 1; new Set(client.runIds).size < RUNS_LEAST; number++)
    await untilAnswered(client, order(`${canary}-${number}`, `${canary}-run-${number}`, AT_ONCE));
}

/** The same request once more, or another one under its key; null: neither. */
function repeatOf({ world, process }: Client, one: Order, other: () => Order): Order | null {
  const { chance } = process;
  if (one.ask.key === null || !chance.happens(0.25)) return null;
  const isSame = chance.happens(0.5);
  world.faults.count(isSame ? "key repeated" : "key reused");
  return isSame ? one : other();
}

function randomBegin({ world, process, namespace }: Client): Begin {
  const { chance } = process;
  const isLater = chance.happens(LATER_SHARE);
  const startAt = isLater ? world.databaseClock.now() + chance.between(-200, LATER_MS_MAX) : null;
  if (isLater) world.faults.count("begins later");
  const notify = chance.happens(NOTIFY_SHARE) ? NAMED_RUNS_HOOK : null;
  if (!chance.happens(isLater ? 0.6 : KEYED_SHARE)) return { ...AT_ONCE, startAt, notify };
  const index = chance.between(0, LIMITS.length - 1);
  const policy = chance.pick(["queue", "queue", "refuse", "cancel-oldest"] as const);
  world.faults.count(`permit or ${policy}`);
  const key = `${canaryOf(world, namespace)}-key-${index}`;
  const concurrency = { key, limit: LIMITS[index] ?? 1, policy };
  const priority = chance.happens(0.3) ? chance.between(1, 9) : 0;
  return { startAt, concurrency, priority, notify };
}

/** A registered version, or a definition for this run alone. */
function randomTarget({ world, process, namespace }: Client, registered: readonly Registered[]) {
  const { chance } = process;
  const version = chance.happens(NAMED_SHARE) ? pickVersion(chance, registered) : null;
  if (version) {
    const isDefault = version.version === 0;
    world.faults.count(isDefault ? "run of the default version" : "run of a registered version");
    return { case: "workflow", value: version } satisfies Target;
  }
  const canary = canaryOf(world, namespace);
  const definition = randomDefinition(chance, canary, workflowNames(canary));
  return { case: "definition", value: definitionMessage(definition) } satisfies Target;
}

export function scheduleRequest(
  namespace: string,
  key: string | null,
  mark: string,
  target: NonNullable<Target>,
  input: Payload | null = null,
  { startAt, concurrency, priority, notify }: Begin = AT_ONCE,
): ScheduleRequest {
  return create(ScheduleRequestSchema, {
    namespace,
    key: key ?? "",
    target,
    labels: { [MARK_LABEL]: mark },
    priority,
    ...payloadField("input", input),
    ...(startAt !== null && { startTime: timestampFromMs(startAt) }),
    ...(concurrency && { concurrency: concurrencyMessage(concurrency) }),
    ...(notify !== null && { notify: { hook: notify } }),
  });
}

export function askOf(
  request: ScheduleRequest,
  key: string | null,
  mark: string,
  { startAt, concurrency, notify }: Omit<Begin, "priority"> = AT_ONCE,
): ScheduleAsk {
  const { target } = request;
  const workflow =
    target.case === "workflow" ? { name: target.value.name, version: target.value.version } : null;
  return { key, digest: requestDigest(request), mark, workflow, startAt, concurrency, notify };
}

/** A call without a key is repeated only if it did nothing: else it might start a second run. */
async function untilAnswered(client: Client, { request, ask }: Order): Promise<void> {
  const { world, process, namespace, runIds } = client;
  const { chance, clock } = process;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const server = chance.pick(world.servers);
    const asked = { rpc: "Schedule", namespace, ...ask } as const;
    const call = world.recorder.call(process.name, server.name, asked);
    const method = SchedulerService.method.schedule;
    const reply = await world.network.unary(process, server, method, request, CALL_MS_MAX);
    const answer = answerSeen(reply, ({ runId, created }) => ({
      kind: "scheduled",
      runId,
      created,
    }));
    recordAnswer(client, call, answer, reply.bytes);
    if (answer.kind === "scheduled") runIds.push(answer.runId);
    if (!isToRepeat(answer) || (ask.key === null && !isOverloaded(answer))) return;
    await clock.sleep(chance.between(50, 600));
  }
}

/** What has no key goes with the first call alone. */
async function batchUntilAnswered(client: Client, orders: readonly Order[]): Promise<void> {
  const { world, process, namespace, runIds } = client;
  const { chance, clock } = process;
  world.faults.count("batch");
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const sent = tries === 0 ? orders : orders.filter(({ ask }) => ask.key !== null);
    if (sent.length === 0) return;
    const server = chance.pick(world.servers);
    const runs = sent.map(({ ask }) => ask);
    const asked = { rpc: "ScheduleBatch", namespace, runs } as const;
    const call = world.recorder.call(process.name, server.name, asked);
    const request = create(ScheduleBatchRequestSchema, {
      namespace,
      runs: sent.map((one) => one.request),
    });
    const method = SchedulerService.method.scheduleBatch;
    const reply = await world.network.unary(process, server, method, request, CALL_MS_MAX);
    const answer = answerSeen(reply, ({ results }): Answer => {
      return batchSeen(results.map(resultSeen));
    });
    recordAnswer(client, call, answer, reply.bytes);
    if (answer.kind === "batch")
      for (const one of answer.results) if (one.kind === "scheduled") runIds.push(one.runId);
    if (!isToRepeat(answer)) return;
    await clock.sleep(chance.between(50, 600));
  }
}

/** A run whose shard does not answer may have begun, so all are asked about again. */
function batchSeen(results: readonly ReturnType<typeof resultSeen>[]): Answer {
  const away = results.find((one) => one.kind === "refused" && one.code === "UNAVAILABLE");
  return away ? { kind: "unknown", code: "UNAVAILABLE" } : { kind: "batch", results };
}

function resultSeen({ status = create(StatusSchema), runId, created }: ScheduleResult) {
  return status.code === Code.OK
    ? ({ kind: "scheduled", runId, created } as const)
    : ({ kind: "refused", code: nameIn(Code, status.code), reason: reasonOf(status) } as const);
}
