// Clients of one namespace: one that schedules runs (scheduling.ts), one that cancels, some that
// watch, and one that registers workflows (registrar.ts).
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Run } from "@drover/proto/drover/v1/run_pb.ts";
import {
  CancelRunRequestSchema,
  GetRunRequestSchema,
  ListRunsRequestSchema,
  SchedulerService,
  Undo,
  WaitRunRequestSchema,
  WatchRunRequestSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { createVirtualProcess, type VirtualProcess } from "../../simulator/virtual-process.ts";
import { maintainSchedules } from "./calendars.ts";
import type { Answer } from "./history.ts";
import { holdSome } from "./holders.ts";
import { startPeople } from "./people.ts";
import { type Registered, registerSome } from "./registrar.ts";
import { rerunSome } from "./reruns.ts";
import { scheduleAll } from "./scheduling.ts";
import { answerSeen, canariesIn, isToRepeat, runSeen } from "./seen.ts";
import { callSome } from "./triggers.ts";
import { canaryWords, type World } from "./world.ts";

const CALL_MS_MAX = 3_000;
const TRIES_MAX = 40;

export interface Clients {
  /** Runs that some client knows of. */
  readonly runIds: readonly string[];
  /** Whether every intended run was answered for, or given up, and no schedule begins any more. */
  isDone(): boolean;
}

export interface ClientOptions {
  readonly namespace: string;
  readonly runs: number;
  /** Over which the runs are spread. */
  readonly withinMs: number;
}

export interface Client extends ClientOptions {
  readonly world: World;
  readonly process: VirtualProcess;
  readonly runIds: string[];
}

export function startClients(world: World, options: ClientOptions): Clients {
  const name = (what: string): string => `${what}-of-${options.namespace}`;
  const processOf = (what: string): VirtualProcess =>
    createVirtualProcess(name(what), world.time, world.chance.fork());
  const runIds: string[] = [];
  const registered: Registered[] = [];
  const client = (what: string): Client => ({
    ...options,
    world,
    process: processOf(what),
    runIds,
  });
  let done = false;
  void registerSome(client("registrar"), registered);
  const ending = [
    scheduleAll(client("scheduler"), registered),
    maintainSchedules(client("keeper-of-schedules")),
  ];
  void Promise.all(ending).then(() => {
    done = true;
  });
  void cancelSome(client("canceller"));
  void readSome(client("reader"));
  void watchSome(client("watcher"));
  void rerunSome(client("redoer"));
  startPeople(client);
  void holdSome(client("holder"));
  void callSome(client("caller"));
  return { runIds, isDone: () => done };
}

export function recordAnswer(
  { world, process }: Client,
  call: number,
  answer: Answer,
  bytes: Uint8Array,
): void {
  world.recorder.answer(process.name, call, answer, canariesIn(bytes, canaryWords(world)));
}

async function cancelSome(client: Client): Promise<void> {
  const { world, process, runIds } = client;
  const { chance, clock } = process;
  while (!world.faults.calm) {
    await clock.sleep(chance.between(200, 2_500));
    if (runIds.length === 0 || world.faults.calm) continue;
    // The newest runs are those that have not ended yet.
    const runId = chance.pick(chance.happens(0.3) ? runIds : runIds.slice(-6));
    const undo = chance.happens(0.6);
    world.faults.count(undo ? "cancel with undo" : "cancel leaving things");
    void cancelUntilAnswered(client, runId, undo);
  }
}

export async function cancelUntilAnswered(
  client: Client,
  runId: string,
  undo: boolean,
): Promise<void> {
  const { world, process, namespace } = client;
  const { chance, clock } = process;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const server = chance.pick(world.servers);
    const asked = { rpc: "CancelRun", namespace, runId, undo } as const;
    const call = world.recorder.call(process.name, server.name, asked);
    const request = create(CancelRunRequestSchema, {
      namespace,
      run: { ref: { case: "runId", value: runId } },
      undo: undo ? Undo.COMPENSATE : Undo.LEAVE,
      reason: "chance",
    });
    const method = SchedulerService.method.cancelRun;
    const reply = await world.network.unary(process, server, method, request, CALL_MS_MAX);
    const answer = answerSeen(reply, ({ run }) => ({
      kind: "cancelled",
      run: runSeen(run, []),
    }));
    recordAnswer(client, call, answer, reply.bytes);
    if (!isToRepeat(answer)) return;
    await clock.sleep(chance.between(50, 600));
  }
}

async function readSome(client: Client): Promise<void> {
  const { world, process, runIds, namespace } = client;
  const { chance, clock } = process;
  while (!world.faults.calm) {
    await clock.sleep(chance.between(500, 2_500));
    const server = chance.pick(world.servers);
    if (runIds.length === 0 || chance.happens(0.2)) {
      const call = world.recorder.call(process.name, server.name, { rpc: "ListRuns", namespace });
      const request = create(ListRunsRequestSchema, { namespace, pageSize: 20 });
      const method = SchedulerService.method.listRuns;
      const reply = await world.network.unary(process, server, method, request, CALL_MS_MAX);
      const answer = answerSeen(reply, ({ runs }) => ({
        kind: "listed",
        runs: runs.map((run) => runSeen(run, [])),
      }));
      recordAnswer(client, call, answer, reply.bytes);
      if (reply.kind === "ok") takeUp(client, reply.message.runs);
    } else {
      const runId = chance.pick(runIds);
      const asked = { rpc: "GetRun", namespace, runId } as const;
      const call = world.recorder.call(process.name, server.name, asked);
      const request = create(GetRunRequestSchema, {
        namespace,
        run: { ref: { case: "runId", value: runId } },
        includeAttempts: true,
        includeInterventions: true,
        includeEscalations: true,
      });
      const method = SchedulerService.method.getRun;
      const reply = await world.network.unary(process, server, method, request, CALL_MS_MAX);
      const answer = answerSeen(reply, ({ run, steps }) => ({
        kind: "read",
        run: runSeen(run, steps),
      }));
      recordAnswer(client, call, answer, reply.bytes);
    }
  }
}

/** Children are found, and then read, paused and cancelled by themselves too. */
function takeUp({ runIds }: Client, runs: readonly Run[]): void {
  for (const { runId, parent } of runs) if (parent && !runIds.includes(runId)) runIds.push(runId);
}

async function watchSome(client: Client): Promise<void> {
  const { world, process, runIds, namespace } = client;
  const { chance, clock } = process;
  while (!world.faults.calm) {
    await clock.sleep(chance.between(100, 1_000));
    if (runIds.length === 0) continue;
    const runId = chance.pick(runIds.slice(-4));
    const server = chance.pick(world.servers);
    const run = { ref: { case: "runId", value: runId } } as const;
    if (chance.happens(0.5)) {
      const asked = { rpc: "WaitRun", namespace, runId } as const;
      const call = world.recorder.call(process.name, server.name, asked);
      const wait = durationFromMs(chance.between(200, 3_000));
      const request = create(WaitRunRequestSchema, { namespace, run, wait });
      const method = SchedulerService.method.waitRun;
      const reply = await world.network.unary(process, server, method, request, 2 * CALL_MS_MAX);
      const answer = answerSeen(reply, (message) => ({
        kind: "read",
        run: runSeen(message.run, []),
      }));
      recordAnswer(client, call, answer, reply.bytes);
    } else {
      const asked = { rpc: "WatchRun", namespace, runId } as const;
      const call = world.recorder.call(process.name, server.name, asked);
      const request = create(WatchRunRequestSchema, { namespace, run });
      const method = SchedulerService.method.watchRun;
      await world.network.stream(process, server, method, request, 2 * CALL_MS_MAX, (reply) => {
        const answer = answerSeen(reply, (message) => ({
          kind: "read",
          run: runSeen(message.run, message.steps),
        }));
        recordAnswer(client, call, answer, reply.bytes);
      });
    }
  }
}
