// A control plane over a real database, without ports: for tests of its parts working together.
import { createHash } from "node:crypto";
import { type Logger, pino } from "pino";
import { systemClock, systemRandom } from "../../server/clock.ts";
import {
  type ControlPlane,
  createControlPlane,
  type ShardParts,
} from "../../server/control-plane.ts";
import type { Definition } from "../../server/core/definition/definition.ts";
import type { Reported } from "../../server/core/model/event.ts";
import type { HandedTask, PollEnds } from "../../server/dispatch/dispatcher.ts";
import { parseTaskToken } from "../../server/dispatch/token.ts";
import { DATABASE_SCHEMA } from "../../server/store/postgres/database-schema.ts";
import { isRetryable } from "../../server/store/postgres/failure.ts";
import { createPostgresStore } from "../../server/store/postgres/postgres-store.ts";
import { shardsOf } from "../../server/store/shards.ts";
import type { Namespace, Store } from "../../server/store/store.ts";

export const quietLog = pino({ level: process.env.TEST_LOG ?? "silent" });

/** With the parts of its one shard. */
export interface TestPlane extends Omit<ControlPlane, keyof ShardParts>, ShardParts {
  readonly store: Store;
  readonly namespace: Namespace;
  close(): Promise<void>;
}

/** `supervise: false`: no scan for due rows runs unless the test calls `watches.lookOnce`. */
export async function openPlane(
  connectionString: string,
  {
    supervise = true,
    log = quietLog,
    schema = DATABASE_SCHEMA,
  }: { supervise?: boolean; log?: Logger; schema?: string } = {},
): Promise<TestPlane> {
  const store = createPostgresStore({ connectionString, log, schema });
  const plane = createControlPlane({
    store,
    shards: shardsOf([store]),
    clock: systemClock,
    random: systemRandom,
    log,
    address: "test",
    isRetryable,
    inbox: store.inbox,
  });
  const namespace = await store.namespace("default");
  if (!namespace) throw new Error("the database has no namespace default");
  if (supervise) await plane.start();
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

export interface TestAgent {
  readonly session: string;
  poll(
    queues?: readonly string[],
    tasks?: readonly string[],
    waitMs?: number,
  ): Promise<readonly HandedTask[]>;
  /** One task, or an error if none came. */
  take(waitMs?: number): Promise<HandedTask>;
  report(task: HandedTask, outcome: Reported): ReturnType<ControlPlane["dispatcher"]["complete"]>;
  heartbeat(tasks: readonly HandedTask[]): ReturnType<ControlPlane["dispatcher"]["heartbeat"]>;
}

/** Of a poll that waits as long as it asked to. */
export const UNENDED: PollEnds = Object.freeze({
  over: new AbortController().signal,
  gone: new AbortController().signal,
});

let agents = 0;

export function testAgent(plane: TestPlane, id = `agent-${++agents}`): TestAgent {
  const session = Buffer.from(systemRandom.bytes(16)).toString("hex");
  const agent = { id, session, version: "1" };
  const { namespace, dispatcher } = plane;
  let pollSeq = 0;
  const poll: TestAgent["poll"] = async (queues = ["default"], tasks = [], waitMs = 5_000) => {
    pollSeq += 1;
    const answer = await dispatcher.poll(
      {
        namespace,
        agent,
        pollSeq,
        queues: queues.map((name) => ({ name, weight: 1 })),
        tasks,
        maxTasks: 10,
        waitMs,
        lostPolls: [],
      },
      UNENDED,
    );
    return answer.tasks;
  };
  return {
    session,
    poll,
    async take(waitMs = 10_000) {
      const tasks = await poll(["default"], [], waitMs);
      const [task] = tasks;
      if (!task || tasks.length > 1)
        throw new Error(`${tasks.length} tasks came where one was due`);
      return task;
    },
    report(task, outcome) {
      const digest = createHash("sha256").update(JSON.stringify(outcome)).digest("hex");
      return dispatcher.complete(
        { namespace, agent, results: [{ token: tokenOf(task), outcome, digest }], next: null },
        new AbortController().signal,
      );
    },
    heartbeat: (tasks) =>
      dispatcher.heartbeat({
        namespace,
        agent,
        lostPolls: [],
        reports: tasks.map((task) => ({ token: tokenOf(task), progress: null, details: null })),
      }),
  };
}

function tokenOf(task: HandedTask) {
  const token = parseTaskToken(task.token);
  if (!token) throw new Error("the task's token cannot be read");
  return token;
}

export async function scheduleInline(
  plane: TestPlane,
  definition: Definition,
  input: unknown = {},
): Promise<string> {
  const { runId } = await plane.scheduler.schedule({
    namespace: plane.namespace,
    target: { kind: "inline", definition },
    input: { kind: "json", json: JSON.stringify(input) },
    key: null,
    priority: 5,
    labels: {},
    notify: null,
    startAt: null,
    concurrency: null,
    digest: "00",
  });
  return runId;
}

/** Waits for the end of a run, without sleeping: by the watch that WaitRun uses. */
export async function endOf(plane: TestPlane, runId: string, withinMs = 20_000) {
  const signal = AbortSignal.timeout(withinMs);
  for (;;) {
    const run = await plane.store.reads.findRun(plane.namespace.id, { runId });
    if (!run) throw new Error(`there is no run ${runId}`);
    if (run.endedAt !== null) return run;
    if (signal.aborted) throw new Error(`run ${runId} is still ${run.state}`);
    const partition = Number.parseInt(runId.slice(-2), 16);
    await plane.scheduler.runChange({ runId, partition }, run.stateVersion, signal);
  }
}
