/** Short names for tests that play the server to an agent of the SDK. */
import { setImmediate as immediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { type Task, TaskKind, TaskSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { onTestFinished } from "vitest";
import { type Agent, type AgentOptions, createAgent } from "../../sdk/typescript/agent.ts";
import { toDuration } from "../../sdk/typescript/duration.ts";
import { json } from "../../sdk/typescript/payload.ts";
import { type FakeServer, startFakeServer } from "./fake-server.ts";
import type { ManualClock } from "./manual-clock.ts";

export const silentLog = Object.freeze({
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
});

/** A task with a lease of 9 s, with a heartbeat every 3 s, and an attempt of 60 s. */
export function aTask(token: string, given: Partial<Omit<Task, "$typeName">> = {}): Task {
  return create(TaskSchema, {
    taskToken: token,
    runId: "run-1",
    stepId: token,
    attempt: 1,
    workflow: "book-holiday",
    workflowVersion: 1,
    kind: TaskKind.PERFORM,
    task: "book-flight",
    queue: "default",
    input: json({ to: "Lisbon" }),
    idempotencyKey: `key-${token}`,
    fence: 1,
    leaseFor: toDuration(9_000),
    attemptFor: toDuration(60_000),
    heartbeatInterval: toDuration(3_000),
    ...given,
  });
}

export const carryOn = {
  answer: { case: "carryOn" as const, value: { leaseFor: toDuration(9_000) } },
};

/** A server whose polls, heartbeats and reports are answered by the test; closed with the test. */
export async function givenServer(port = 0): Promise<FakeServer> {
  const server = await startFakeServer(port);
  onTestFinished(() => server.stop());
  return server;
}

export type AgentScript = Omit<Partial<AgentOptions>, "clock"> &
  Pick<AgentOptions, "handlers"> & { readonly clock?: ManualClock };

/** A started agent with little grace; stopped with the test, whatever the server then answers. */
export function givenAgent(server: FakeServer, options: AgentScript): Agent {
  const agent = createAgent({
    address: server.address,
    id: "tester",
    log: silentLog,
    grace: 0,
    ...options,
  });
  agent.start();
  onTestFinished(async () => {
    server.heartbeat.always((call) =>
      call.answer({ answers: call.request.reports.map(() => carryOn) }),
    );
    server.complete.always((call) =>
      call.answer({ answers: call.request.results.map(() => ({})) }),
    );
    server.release();
    // It rejects where a handler ignores its cancellation, which the test then has seen.
    const stopped = agent.stop().then(
      () => true,
      () => true,
    );
    // An agent with a clock of the test would wait for ever: time passes until it is done.
    while (!(await Promise.race([stopped, immediate(false)]))) options.clock?.advance(500);
  });
  return agent;
}

/** A handler whose end, and whose beginning, the test waits for. */
export function aGate<T>() {
  const started = Promise.withResolvers<T>();
  const ended = Promise.withResolvers<unknown>();
  return {
    started: started.promise,
    begin: started.resolve,
    ended: ended.promise,
    end: ended.resolve,
  };
}
