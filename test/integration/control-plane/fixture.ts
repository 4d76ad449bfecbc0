// Shared by the tests of the control plane on a real database: planes over a store that tests can
// delay, agents whose every call is chosen by the test, and a connection of the test's own (the
// hand), which locks rows and queries which sessions wait for which.
import { createHash } from "node:crypto";
import { systemClock, systemRandom } from "../../../server/clock.ts";
import { type ControlPlane, createControlPlane } from "../../../server/control-plane.ts";
import type { Definition, StepRules } from "../../../server/core/definition/definition.ts";
import type { Reported } from "../../../server/core/model/event.ts";

import type { HandedTask, PollEnds } from "../../../server/dispatch/dispatcher.ts";
import { parseTaskToken, type TaskToken } from "../../../server/dispatch/token.ts";
import type { ControlPlaneOptions } from "../../../server/plane/options.ts";
import type { ScheduleRequest } from "../../../server/scheduler/scheduler.ts";
import { partitionOf } from "../../../server/store/partition.ts";
import { isRetryable } from "../../../server/store/postgres/failure.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import { shardsOf } from "../../../server/store/shards.ts";
import type { RunRef, Store } from "../../../server/store/store.ts";
import { quietLog, type TestPlane, UNENDED } from "../../support/control-plane.ts";
import { moveGrant } from "../../support/pages.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Hand, openHand } from "./hand.ts";

export const success: Reported = { kind: "success", output: { kind: "json", json: '{"ok":1}' } };
export const busy: Reported = {
  kind: "failure",
  class: "transient",
  code: "busy",
  message: "try later",
  retryAfterMs: null,
  noEffect: true,
};

/**
 * A plane that scans for nothing by itself: neither due rows nor a poll tick, unless the test asks.
 */
export async function openQuietPlane(
  connectionString: string,
  wrap: (store: Store) => Store = (store) => store,
  more: Partial<Pick<ControlPlaneOptions, "log" | "measures">> = {},
): Promise<TestPlane> {
  const store = wrap(createPostgresStore({ connectionString, log: quietLog }));
  const plane: ControlPlane = createControlPlane({
    store,
    shards: shardsOf([store]),
    inbox: store.inbox,
    clock: systemClock,
    random: systemRandom,
    log: quietLog,
    address: "test",
    isRetryable,
    ...more,
  });
  const namespace = await store.namespace("default");
  if (!namespace) throw new Error("the database has no namespace default");
  return {
    ...plane,
    ...plane.shards.home,
    store,
    namespace,
    async close() {
      await plane.stop();
      await store.close();
    },
  };
}

/** Two quiet servers on one database, with a hand in it. */
export interface TwoServers {
  readonly database: TestDatabase;
  readonly hand: Hand;
  readonly here: TestPlane;
  readonly there: TestPlane;
  close(): Promise<void>;
}

/** `wrap` and `wrapThere`: of the stores of `here` and `there`. */
export async function openTwoServers(
  wrap?: (store: Store) => Store,
  wrapThere?: (store: Store) => Store,
): Promise<TwoServers> {
  const database = await createTestDatabase();
  const hand = await openHand(database.connectionString);
  const here = await openQuietPlane(database.connectionString, wrap);
  const there = await openQuietPlane(database.connectionString, wrapThere);
  return {
    database,
    hand,
    here,
    there,
    async close() {
      await here.close();
      await there.close();
      await hand.close();
      await database.drop();
    },
  };
}

/** Asks whether a promise has resolved by now. */
export function settledOf(promise: Promise<unknown>): () => boolean {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  return () => settled;
}

export interface Gate {
  /** Resolves once a transaction waits at the gate, its work done and its COMMIT not sent. */
  readonly reached: Promise<void>;
  open(): void;
}

export interface GatedStore {
  readonly wrap: (store: Store) => Store;
  /**
   * The next transaction of this name stops before its COMMIT. Open it within 2 s: idle sessions
   * end. "taskFacts": the next question for what tasks are made of stops before it is asked.
   */
  stopNext(name: string): Gate;
}

export function gatedStore(): GatedStore {
  const gates = new Map<string, { reached: () => void; opened: Promise<void> }>();
  const take = (name: string) => {
    const gate = gates.get(name);
    gates.delete(name);
    return gate;
  };
  const transactOf =
    (store: Store): Store["transact"] =>
    (options, work) =>
      // One that is stopped has its locks.
      store.transact({ ...options, optimistic: false }, async (tx) => {
        const gate = take(options.name);
        const result = await work(tx);
        gate?.reached();
        await gate?.opened;
        return result;
      });
  const taskFactsOf =
    (store: Store): Store["taskFacts"] =>
    async (leases) => {
      const gate = take("taskFacts");
      gate?.reached();
      await gate?.opened;
      return store.taskFacts(leases);
    };
  return {
    wrap: (store) => ({ ...store, transact: transactOf(store), taskFacts: taskFactsOf(store) }),
    stopNext(name) {
      const reached = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<void>();
      gates.set(name, { reached: reached.resolve, opened: opened.promise });
      return { reached: reached.promise, open: opened.resolve };
    },
  };
}

export interface PollOptions {
  readonly pollSeq?: number;
  readonly lostPolls?: readonly number[];
  readonly waitMs?: number;
  readonly maxTasks?: number;
  /** Default `default`. */
  readonly queue?: string;
  readonly ends?: Partial<PollEnds>;
}

export interface Agent {
  readonly session: string;
  /** Asks for one task name ("": for any) of one queue, `default` unless the options say other. */
  poll(task: string, options?: PollOptions): Promise<readonly HandedTask[]>;
  take(task: string, options?: PollOptions): Promise<HandedTask>;
  report(task: HandedTask, outcome: Reported, digest?: string): Promise<string>;
  complete(
    tasks: readonly HandedTask[],
    outcome: Reported | ((task: HandedTask) => Reported),
  ): Promise<readonly string[]>;
  heartbeat(
    tasks: readonly HandedTask[],
    lostPolls?: readonly number[],
    listsAllTo?: number,
  ): Promise<readonly string[]>;
}

let made = 0;
/** A task name, and so a lane, that no other test uses. */
export const newTask = (): string => `task-${++made}`;

export function digestOf(outcome: Reported): string {
  return createHash("sha256").update(JSON.stringify(outcome)).digest("hex");
}

export function newAgent(
  plane: TestPlane,
  agentId = `agent-${++made}`,
  { version = "1" }: { readonly version?: string } = {},
): Agent {
  const session = Buffer.from(systemRandom.bytes(16)).toString("hex");
  return agentOf(plane, { id: agentId, session, version });
}

/** The same agent process, as another server sees it. */
export function through(plane: TestPlane, { session }: Agent): Agent {
  return agentOf(plane, { id: "moved", session, version: "1" });
}

function agentOf(
  plane: TestPlane,
  agent: { readonly id: string; readonly session: string; readonly version: string },
): Agent {
  const { namespace, dispatcher } = plane;
  let polls = 0;
  const idle = new AbortController().signal;

  const complete: Agent["complete"] = async (tasks, outcome) => {
    const results = tasks.map((task) => {
      const resolved = typeof outcome === "function" ? outcome(task) : outcome;
      return { token: tokenOf(task), outcome: resolved, digest: digestOf(resolved) };
    });
    const { answers } = await dispatcher.complete({ namespace, agent, results, next: null }, idle);
    return answers.map(inShort);
  };

  const poll: Agent["poll"] = async (task, options = {}) => {
    polls = options.pollSeq ?? polls + 1;
    const { lostPolls = [], waitMs = 10_000, maxTasks = 10, ends } = options;
    const queues = [{ name: options.queue ?? "default", weight: 1 }];
    const tasks = task === "" ? [] : [task];
    const request = { namespace, agent, pollSeq: polls, queues, tasks, maxTasks };
    const answer = await dispatcher.poll(
      { ...request, waitMs, lostPolls },
      { ...UNENDED, ...ends },
    );
    return answer.tasks;
  };

  return {
    session: agent.session,
    poll,
    async take(name, options = {}) {
      const tasks = await poll(name, { ...options, maxTasks: 1 });
      const [task] = tasks;
      if (!task) throw new Error(`no task of ${name} came`);
      return task;
    },
    async report(task, outcome, digest = digestOf(outcome)) {
      const results = [{ token: tokenOf(task), outcome, digest }];
      const { answers } = await dispatcher.complete(
        { namespace, agent, results, next: null },
        idle,
      );
      return answers.map(inShort).join();
    },
    complete,
    async heartbeat(tasks, lostPolls = [], listsAllTo = 0) {
      const reports = tasks.map((task) => ({
        token: tokenOf(task),
        progress: null,
        details: null,
      }));
      const lists = { lostPolls, listsAllTo, reports };
      const replies = await dispatcher.heartbeat({ namespace, agent, ...lists });
      return replies.map(({ kind }) => kind);
    },
  };
}

type ResultAnswer = Awaited<ReturnType<TestPlane["dispatcher"]["complete"]>>["answers"][number];

/** "accepted", "repeated", or the reason of the refusal. */
function inShort(answer: ResultAnswer): string {
  if (answer.kind === "accepted") return answer.repeated ? "repeated" : "accepted";
  return "reason" in answer.error ? String(answer.error.reason) : "INTERNAL";
}

export function tokenOf(task: HandedTask): TaskToken {
  const token = parseTaskToken(task.token);
  if (!token) throw new Error("the task's token cannot be read");
  return token;
}

/** Steps one after the other, all of one task name. */
export function chain(task: string, length: number, more: Partial<StepRules> = {}): Definition {
  const steps = Array.from({ length }, (_, no) => ({
    id: `s${no}`,
    needs: no === 0 ? [] : [`s${no - 1}`],
    task,
    ...more,
  }));
  return { workflow: "chain", steps };
}

/** Steps side by side, all of one task name. */
export function wide(task: string, width: number, more: Partial<StepRules> = {}): Definition {
  const steps = Array.from({ length: width }, (_, no) => ({
    id: `s${no}`,
    needs: [],
    task,
    ...more,
  }));
  return { workflow: "wide", steps };
}

export function request(
  plane: TestPlane,
  definition: Definition,
  more: Partial<ScheduleRequest> = {},
): ScheduleRequest {
  return {
    namespace: plane.namespace,
    target: { kind: "inline", definition },
    input: { kind: "json", json: "{}" },
    key: null,
    priority: 5,
    labels: {},
    notify: null,
    startAt: null,
    concurrency: null,
    digest: "00".repeat(32),
    ...more,
  };
}

export async function schedule(
  plane: TestPlane,
  definition: Definition,
  more: Partial<ScheduleRequest> = {},
): Promise<RunRef> {
  const { runId } = await plane.scheduler.schedule(request(plane, definition, more));
  return { runId, partition: partitionOf(plane.namespace.region, runId) };
}

/** The agent of this task has been silent for long: its lease is lost. */
export async function lose(plane: TestPlane, hand: Hand, task: HandedTask): Promise<void> {
  const { runId, step, fence } = tokenOf(task);
  await moveGrant(hand, runId, { step, to: Date.now() - 86_400_000 });
  await hand.query(
    `update drover.agent_session set last_heartbeat_at = now() - interval '1 day'
     where session in (select session from drover.lease where run_id = $1 and step_no = $2)`,
    [runId, step],
  );
  const ref = { runId, partition: partitionOf(plane.namespace.region, runId) };
  const event = {
    kind: "lease-timer",
    step,
    fence,
    lastHeartbeatAt: null,
    watchingSince: 0,
  } as const;
  await plane.advance.submit(ref, event);
}

export async function stateOf(plane: TestPlane, { runId }: RunRef): Promise<string> {
  const run = await plane.store.reads.findRun(plane.namespace.id, { runId });
  return run?.state ?? "gone";
}

export async function historyOf(plane: TestPlane, { runId }: RunRef) {
  const all = { attempts: true, interventions: true, escalations: true };
  const detail = await plane.store.reads.runDetail(runId, all);
  if (!detail) throw new Error(`there is no run ${runId}`);
  return detail;
}
