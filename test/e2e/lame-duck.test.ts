// SIGTERM at a server behind a load balancer, under load, with clients that repeat nothing: no call
// fails, because the server serves on until the balancer has noticed.
import {
  create,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Client, credentials } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type DroverProcess, startDrover } from "../support/drover-process.ts";
import { callJson, jsonAgent } from "../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { type ReadyBalancer, startBalancer } from "../support/ready-balancer.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
const processes: DroverProcess[] = [];
let balancer: ReadyBalancer | null = null;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const process of processes.splice(0)) {
    process.signal("SIGKILL");
    await process.ended;
  }
  await balancer?.close();
  await database.drop();
});

async function serve(lameDuck: string) {
  const args = ["server", "--address", "127.0.0.1:0", "--lame-duck", lameDuck];
  const process = startDrover(args, { env: { DATABASE_URL: database.connectionString } });
  processes.push(process);
  const output = await process.wrote("next: drover run list");
  return { process, address: /server +([\d.:]+): /.exec(output)?.[1] ?? "" };
}

const readiness = async (address: string) => (await fetch(`http://${address}/readyz`)).status;

/** A client as grpc-js makes it: it repeats what a server refused to begin, and nothing else. */
function grpcCaller(port: number) {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  return {
    close: () => client.close(),
    call<M extends DescMethodUnary>(method: M, request: MessageInitShape<M["input"]>) {
      return new Promise<ReturnType<typeof fromBinary<M["output"]>>>((resolve, reject) => {
        client.makeUnaryRequest(
          `/${method.parent.typeName}/${method.name}`,
          (bytes: Uint8Array) => Buffer.from(bytes),
          (bytes) => fromBinary<M["output"]>(method.output, bytes),
          toBinary(method.input, create(method.input, request)),
          (error, answer) => (answer === undefined ? reject(error) : resolve(answer)),
        );
      });
    },
  };
}

const { schedule, getRun } = SchedulerService.method;
const { pollTask, complete } = AgentService.method;
const definition = {
  workflow: "duck",
  steps: [{ id: "a", kind: { case: "task" as const, value: { name: "a" } } }],
};

test("no call fails while one of two servers is stopped", async () => {
  const first = await serve("2s");
  const second = await serve("2s");
  balancer = await startBalancer([first.address, second.address]);
  const { port } = balancer;
  await until("both are ready", () => (balancer?.ready().length === 2 ? true : null));
  const failed: string[] = [];
  const counts = { scheduled: 0, completed: 0 };
  let over = false;
  const forever = async (what: string, once: () => Promise<void>): Promise<void> => {
    while (!over) await once().catch((error: unknown) => void failed.push(`${what}: ${error}`));
  };
  const callers = [1, 2, 3, 4].map(() => grpcCaller(port));
  const [one, two, three, four] = callers;
  if (!one || !two || !three || !four) throw new Error("unreachable");
  let pollSeq = 0n;
  const work = async (caller: typeof three, id: string, fill: number): Promise<void> => {
    const agent = { id, session: new Uint8Array(16).fill(fill) };
    const { tasks } = await caller.call(pollTask, {
      agent,
      pollSeq: ++pollSeq,
      queues: [{ name: "default" }],
      maxTasks: 20,
      wait: { seconds: 5n },
    });
    if (tasks.length === 0) return;
    const results = tasks.map(({ taskToken }) => ({
      taskToken,
      outcome: { kind: { case: "success" as const, value: {} } },
    }));
    const { answers } = await caller.call(complete, { agent, results });
    counts.completed += answers.filter(({ status }) => (status?.code ?? 0) === 0).length;
  };
  const json = { workflow: "duck", steps: [{ id: "a", task: { name: "a" } }] };
  const load = [
    ...[one, two].map((caller) =>
      forever("schedule", async () => {
        const target = { case: "definition" as const, value: definition };
        const { runId } = await caller.call(schedule, { target });
        counts.scheduled++;
        await caller.call(getRun, { run: { ref: { case: "runId", value: runId } } });
      }),
    ),
    forever("agent", () => work(three, "three", 3)),
    forever("agent", () => work(four, "four", 4)),
    forever("json", async () => {
      const { status, body } = await callJson(`127.0.0.1:${port}`, "SchedulerService/Schedule", {
        definition: json,
      });
      if (status !== 200) throw new Error(JSON.stringify(body));
      counts.scheduled++;
    }),
  ];
  await until("there is load", () => (counts.completed > 50 ? true : null));

  first.process.signal("SIGTERM");
  await until("the first reports that it stops", async () =>
    (await readiness(first.address)) === 503 ? true : null,
  );
  // It serves on, who still comes to it.
  const direct = await callJson(first.address, "SchedulerService/Schedule", { definition: json });
  expect(direct.status).toBe(200);
  counts.scheduled++;
  const { code } = await first.process.ended;
  expect(code).toBe(0);
  const { scheduled } = counts;
  await until("the second has it all", () => (counts.scheduled > scheduled + 50 ? true : null));
  over = true;
  // Polls that wait are answered when work comes, or at the end of their wait.
  await Promise.all(load);
  expect(new Set(failed)).toEqual(new Set());
  over = false;
  await until("every task is done", async () => {
    await work(three, "three", 3);
    return counts.completed === counts.scheduled ? true : null;
  });
  for (const caller of callers) caller.close();
});

test("a second signal ends the time at once", async () => {
  const { process, address } = await serve("1h");
  const agent = jsonAgent("parked");
  const parked = callJson(address, "AgentService/PollTask", { agent, pollSeq: 1, wait: "60s" });
  const ended = expect(parked).rejects.toThrow();
  process.signal("SIGTERM");
  await until("it stops", async () => ((await readiness(address)) === 503 ? true : null));
  process.signal("SIGTERM");
  expect(await process.ended).toMatchObject({ code: 130 });
  await ended;
});
