// Streams that callers follow, and resume after a break: each state has a cursor, and a caller that
// returns with the last one that it has seen receives only newer states. In all protocols that a
// browser supports.

import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { WatchOverviewResponse } from "@drover/proto/drover/v1/overview_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  SchedulerService,
  WatchRunRequestSchema,
  type WatchRunResponse,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDrain } from "../../../server/api/calls/drain.ts";
import { createMount, type Handlers } from "../../../server/api/calls/mount.ts";
import { createRequestCheck } from "../../../server/api/calls/request-check.ts";
import { activityOf } from "../../../server/api/operator/activity.ts";
import { systemClock } from "../../../server/clock.ts";
import { RPC_DEFAULTS } from "../../../server/rpc-config.ts";
import { minuteOf, type RunCount } from "../../../server/store/activity.ts";
import type { InterventionPage } from "../../../server/store/operators.ts";
import { type OpenedPostgres, openPostgres } from "../../support/opened-postgres.ts";
import {
  inNewNamespace,
  RUN_ID,
  runDetail,
  runRecord,
  startWorld,
  type World,
} from "./rpc-world.ts";

const run = { ref: { case: "runId", value: RUN_ID } } as const;

let postgres: OpenedPostgres;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(async () => {
  await postgres.close();
});

let world: World;
beforeEach(async () => {
  world = await startWorld({ stored: await inNewNamespace(postgres.store) });
});
afterEach(() => world.close());

const transports = {
  Connect: () => createConnectTransport(http1()),
  "Connect with JSON": () => createConnectTransport({ ...http1(), useBinaryFormat: false }),
  "gRPC-Web": () => createGrpcWebTransport(http1()),
};
const http1 = () => ({ baseUrl: `http://127.0.0.1:${world.port}`, httpVersion: "1.1" }) as const;

/** The first `most` messages; then the caller goes. */
async function take<T>(stream: AsyncIterable<T>, most: number): Promise<readonly T[]> {
  const taken: T[] = [];
  for await (const message of stream) {
    taken.push(message);
    if (taken.length >= most) break;
  }
  return taken;
}

const gone = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

describe.each(Object.keys(transports) as (keyof typeof transports)[])("over %s", (name) => {
  test("a run is followed, and taken up where it was", async () => {
    const scheduler = createClient(SchedulerService, transports[name]());
    world.scheduler.runChange = (_run, _version, signal) => gone(signal);
    const [first] = await take<WatchRunResponse>(scheduler.watchRun({ run }), 1);
    expect(first?.run?.state).toBe(RunState.RUNNING);
    const after = first?.cursor ?? "";
    expect(after).not.toBe("");

    world.scheduler.runChange = async (_run, _version, signal) => {
      if (changed) return await gone(signal);
      // No earlier call returned this cursor, so the state is sent first.
      changed = true;
      world.reads.runDetail = async () => runDetail({ run: runRecord({ warnings: 2 }) });
    };
    let changed = false;
    const [next] = await take<WatchRunResponse>(scheduler.watchRun({ run, after }), 1);
    expect(next?.run?.warnings).toBe(2);
    expect(next?.cursor).not.toBe(after);
  });

  test("the overview is sent, and again when it is another one", async () => {
    const operator = createClient(OperatorService, transports[name]());
    const known = world.store.operators;
    let escalations = 1;
    world.store.operators = {
      ...known,
      attention: async (id) => ({ ...(await known.attention(id)), escalations }),
    };
    const seen: WatchOverviewResponse[] = [];
    for await (const state of operator.watchOverview({})) {
      seen.push(state);
      if (seen.length === 2) break;
      escalations = 2;
    }
    expect(seen.map(({ overview }) => overview?.openEscalations)).toEqual([1, 2]);

    const after = seen[1]?.cursor ?? "";
    escalations = 3;
    const [again] = await take(operator.watchOverview({ after }), 1);
    expect(again?.overview?.openEscalations).toBe(3);
  });
});

test("a state that is final is sent whatever its caller has seen", async () => {
  const scheduler = createClient(SchedulerService, transports.Connect());
  const ended = runRecord({ state: "COMPLETED", endedAt: 1_700_000_009_000, stateVersion: 5 });
  world.reads.runDetail = async () => runDetail({ run: ended });
  const [known] = await take<WatchRunResponse>(scheduler.watchRun({ run }), 1);
  const after = known?.cursor ?? "";
  expect(await take<WatchRunResponse>(scheduler.watchRun({ run, after }), 2)).toHaveLength(1);
});

test("however many watch the overview, it is queried once a second", async () => {
  const operator = createClient(OperatorService, transports.Connect());
  const known = world.store.operators;
  let queries = 0;
  world.store.operators = {
    ...known,
    attention: async (id) => {
      queries++;
      return { ...(await known.attention(id)), escalations: queries };
    },
  };
  const watchers = Array.from({ length: 20 }, () => take(operator.watchOverview({}), 2));
  const seen = await Promise.all(watchers);
  const published = new Set(seen.flat().map(({ overview }) => overview?.openEscalations));
  expect(published.size).toBe(queries);
  expect(queries).toBeLessThan(5);
});

test("a watch of the overview ends when the server drains", async () => {
  const operator = createClient(OperatorService, transports.Connect());
  const failed = (async () => {
    for await (const _ of operator.watchOverview({})) void world.server.drain();
  })();
  await expect(failed).rejects.toThrow(/about to stop/);
});

test("activity has the runs of each minute, and how late supervisors were", () => {
  const minute = 1_700_000_040_000;
  const count = (event: RunCount["event"], runs: number, at = minute) => {
    return { event, runs, minute: at };
  };
  const counts = [
    count("ACCEPTED", 7),
    count("COMPLETED", 2),
    count("FAILED", 1),
    count("COMPENSATED", 3, minute + 60_000),
    count("CANCELLED", 4, minute + 60_000),
  ];
  const sampled = Array.from({ length: 100 }, (_, n) => ({ dueAt: 0, actedAt: (n + 1) * 10 }));
  const counted = activityOf({
    counts,
    sampled,
    unsuccessful: [],
    failing: [],
    substates: [{ substate: "retry", runs: 3, more: false }],
    open: { openRuns: new Map([["ESCALATED", 5]]), allCounted: true },
    interventions: new Map([
      ["lease", 100],
      ["backoff", 10_000],
    ]),
  });
  expect(counted.minutes).toMatchObject([
    { accepted: 7, completed: 2, notCompleted: 1, failed: 1, compensated: 0, cancelled: 0 },
    { accepted: 0, completed: 0, notCompleted: 7, failed: 0, compensated: 3, cancelled: 4 },
  ]);
  expect(counted.states).toMatchObject([
    { state: RunState.ESCALATED, count: 5 },
    { state: RunState.COMPLETED, count: 2 },
    { state: RunState.FAILED, count: 1 },
    { state: RunState.COMPENSATED, count: 3 },
    { state: RunState.CANCELLED, count: 4 },
  ]);
  expect(counted).toMatchObject({
    moreRuns: false,
    interventions: 10_100,
    moreInterventions: true,
    retries: 10_000,
    moreRetries: true,
    detectSampled: 100,
    detectTypical: { seconds: 0n, nanos: 500_000_000 },
    detectSlow: { seconds: 0n, nanos: 950_000_000 },
  });
});

test("the overview counts all retries of late, and samples no waits for a retry", async () => {
  const known = world.store.operators;
  const asked: InterventionPage[] = [];
  world.store.operators = {
    ...known,
    countInterventions: async () => new Map([["backoff", 812]]),
    interventions: async (_id, page) => {
      asked.push(page);
      return [];
    },
  };
  const operator = createClient(OperatorService, transports.Connect());
  const [first] = await take<WatchOverviewResponse>(operator.watchOverview({}), 1);
  expect(first?.activity).toMatchObject({ retries: 812, moreRetries: false });
  const from = minuteOf(await known.now()) - 29 * 60_000;
  // How late supervisors are is not derived from the ends of waits for a retry.
  expect(asked).toMatchObject([{ from, limit: 200 }]);
  expect(asked[0]?.rules).not.toContain("backoff");
});

test("a caller that goes in the middle of a message is no defect of the server", async () => {
  const logged: string[] = [];
  const write = (_fields: object, text: string) => void logged.push(text);
  const mount = createMount({
    check: createRequestCheck(RPC_DEFAULTS),
    drain: createDrain(),
    ...RPC_DEFAULTS,
    clock: systemClock,
    log: { info: write, warn: write, error: write },
  });
  const handlers = {
    ...NO_HANDLERS,
    watchRun: async function* watchRun() {
      yield {};
      yield {};
    },
  };
  const watch = mount
    .service(SchedulerService, handlers)
    .find(({ method }) => method.name === "WatchRun");
  if (watch?.kind !== "stream") throw new Error("WatchRun is no stream");
  const signal = new AbortController().signal;
  const call = { signal, deadlineMs: null, peer: "", header: () => null, certificate: () => null };
  const states = watch.run(create(WatchRunRequestSchema, { run }), call)[Symbol.asyncIterator]();
  await states.next();
  // What connect-node does when it cannot write.
  await expect(states.throw?.(new Error("write after a stream was destroyed"))).rejects.toThrow();
  expect(logged).toEqual([]);
});

/** Of a service of which one method alone is called. */
const NO_HANDLERS = Object.fromEntries(
  SchedulerService.methods.map(({ localName }) => [localName, () => null]),
) as unknown as Handlers<typeof SchedulerService>;
