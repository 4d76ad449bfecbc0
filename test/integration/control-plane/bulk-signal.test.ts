/** One signal to each of many runs, over gRPC and a real database: each run gets it once. */
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { BulkKind } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SIGNALS_MAX } from "../../../server/core/events/on-signal.ts";
import { DroverError } from "../../../server/errors.ts";
import { RPC_DEFAULTS } from "../../../server/rpc-config.ts";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { type BulkWorld, by, openBulkWorld, reasonsOf } from "./bulk-world.ts";
import { historyOf, schedule } from "./fixture.ts";
import { openHand } from "./hand.ts";

let world: BulkWorld;
let plane: TestPlane;

beforeAll(async () => {
  world = await openBulkWorld();
  plane = world.plane;
});
afterAll(() => world?.close());

const definition = {
  workflow: "waits",
  steps: [
    { id: "paid", needs: [], kind: "signal", name: "paid" },
    { id: "sent", needs: ["paid"], kind: "signal", name: "sent" },
  ],
} as const;
const carried = { body: { case: "json" as const, value: '{"amount":7}' } };
const paid = { kind: BulkKind.SIGNAL, signalName: "paid", payload: carried };

/** Runs of one label that wait for two signals, one after the other. */
async function waiting(label: string, count: number): Promise<readonly RunRef[]> {
  const labels = { of: label };
  return Promise.all(Array.from({ length: count }, () => schedule(plane, definition, { labels })));
}

/** Of each run its signals, as name and payload; one by one, as a pool has few sessions. */
async function signalsOf(runs: readonly RunRef[]) {
  const all: string[][] = [];
  for (const run of runs) {
    const { signals } = await historyOf(plane, run);
    all.push(
      signals.map(({ name, payload }) => `${name} ${payload?.kind === "json" ? payload.json : ""}`),
    );
  }
  return all;
}

const once = ['paid {"amount":7}'];

it("a dry run counts the runs that are open, without a name, and signals none", async () => {
  const runs = await waiting("dry", 2);
  const asked = { ...by("dry"), kind: BulkKind.SIGNAL, dryRun: true };
  expect((await world.bulk(asked)).answer).toMatchObject({ count: 2, results: [] });
  expect(await signalsOf(runs)).toEqual([[], []]);
});

it("each run gets the signal with what it carries, and a step that waits takes it", async () => {
  const runs = await waiting("all", 3);
  const asked = { ...by("all"), ...paid, requestId: "all", expectedCount: 3 };
  const { answer } = await world.bulk(asked);
  expect(answer?.count).toBe(3);
  expect(reasonsOf(answer?.results)).toEqual(["", "", ""]);
  expect(answer?.results.map(({ runId }) => runId).sort()).toEqual(
    runs.map(({ runId }) => runId).sort(),
  );
  expect(await signalsOf(runs)).toEqual([once, once, once]);
  const sent = { ...by("all"), kind: BulkKind.SIGNAL, signalName: "sent", requestId: "sent" };
  expect(reasonsOf((await world.bulk(sent)).answer?.results)).toEqual(["", "", ""]);
  expect(await world.count("all", RunState.COMPLETED)).toBe(3);
});

it("a repeated request sends no second signal, and another request does", async () => {
  const runs = await waiting("repeat", 2);
  const asked = { ...by("repeat"), ...paid, requestId: "repeat" };
  await world.bulk(asked);
  expect(reasonsOf((await world.bulk(asked)).answer?.results)).toEqual(["", ""]);
  expect(await signalsOf(runs)).toEqual([once, once]);
  const other = { body: { case: "json" as const, value: "8" } };
  expect(await world.bulk({ ...asked, payload: other })).toMatchObject({ reason: "KEY_REUSED" });
  await world.bulk({ ...asked, requestId: "repeat-2" });
  expect(await signalsOf(runs)).toEqual([
    [...once, ...once],
    [...once, ...once],
  ]);
});

it("all pages together signal each run once, also when they are all repeated", async () => {
  const runs = await waiting("pages", 130);
  const asked = { ...by("pages"), ...paid, requestId: "pages", expectedCount: 130 };
  for (const _ of ["first", "again"]) {
    const first = (await world.bulk(asked)).answer;
    const pageToken = first?.nextPageToken ?? "";
    const second = (await world.bulk({ ...asked, pageToken })).answer;
    expect([first?.results.length, second?.results.length]).toEqual([100, 30]);
    expect(second?.nextPageToken).toBe("");
  }
  expect(await signalsOf(runs)).toEqual(runs.map(() => once));
});

it("a call that was cut in the middle is finished by its repeat", async () => {
  const runs = await waiting("cut", 3);
  const asked = { ...by("cut"), ...paid, requestId: "cut", expectedCount: 3 };
  const { command } = world.scheduler;
  world.scheduler.command = async (run, event) => {
    if (run.runId !== runs[1]?.runId) return command(run, event);
    throw new DroverError("STORE_UNAVAILABLE", "the database is away");
  };
  expect(await world.bulk(asked)).toMatchObject({ code: 14, reason: "STORE_UNAVAILABLE" });
  world.scheduler.command = command;
  expect(reasonsOf((await world.bulk(asked)).answer?.results)).toEqual(["", "", ""]);
  expect(await signalsOf(runs)).toEqual([once, once, once]);
});

it("a run that has ended, takes no such signal, or stores as many as it may is refused by itself", async () => {
  const [open, ended, full] = await waiting("refused", 3);
  if (!open || !ended || !full) throw new Error("three runs were started");
  await plane.scheduler.command(ended, { kind: "cancel", undo: true, note: "" });
  const steps = [{ id: "paid", needs: [], kind: "signal", name: "payment" }] as const;
  const labels = { of: "refused" };
  const other = await schedule(plane, { workflow: "other", steps }, { labels });
  const many = Array.from({ length: SIGNALS_MAX }, (_, n) =>
    plane.scheduler.command(full, { kind: "signal", id: `${n}`, name: "sent", payload: null }),
  );
  await Promise.all(many);
  const states = [RunState.RUNNING, RunState.CANCELLED];
  const filter = { ...by("refused").filter, states };
  const { answer } = await world.bulk({ ...paid, filter, requestId: "refused" });
  const reasons = new Map(
    answer?.results.map(({ runId }, at) => [runId, reasonsOf(answer.results)[at]]),
  );
  expect(reasons.get(open.runId)).toBe("");
  expect(reasons.get(ended.runId)).toBe("RUN_STATE");
  expect(reasons.get(other.runId)).toBe("SIGNAL_UNKNOWN");
  expect(reasons.get(full.runId)).toBe("SIGNAL_LIMIT");
  expect(await signalsOf([open, ended, other])).toEqual([once, [], []]);
});

it("a count other than the expected one sends no signal", async () => {
  const runs = await waiting("count", 2);
  const asked = { ...by("count"), ...paid, requestId: "count", expectedCount: 3 };
  expect(await world.bulk(asked)).toMatchObject({ code: 9, reason: "COUNT_MISMATCH" });
  expect(await signalsOf(runs)).toEqual([[], []]);
});

it("a request id that is no longer stored names another signal", async () => {
  const [run] = await waiting("later", 1);
  if (!run) throw new Error("a run was started");
  const asked = { ...by("later"), ...paid, requestId: "later" };
  await world.bulk(asked);
  const hand = await openHand(world.connectionString);
  await hand.query(`update drover.idempotency set expires_at = now() - interval '1 day'`);
  await hand.close();
  await world.bulk(asked);
  expect(await signalsOf([run])).toEqual([[...once, ...once]]);
});

it("what is wrong with the signal is reported before anything is done", async () => {
  const runs = await waiting("wrong", 2);
  const asked = { ...by("wrong"), ...paid, requestId: "wrong" };
  const nameless = await world.bulk({ ...asked, signalName: "" });
  expect(nameless).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
  expect(nameless.fields).toEqual([
    ["signal_name", "is missing: steps wait for a signal by its name"],
  ]);
  const big = JSON.stringify("x".repeat(RPC_DEFAULTS.payloadBytesMax));
  const large = { body: { case: "json" as const, value: big } };
  expect(await world.bulk({ ...asked, payload: large })).toMatchObject({
    reason: "PAYLOAD_TOO_LARGE",
  });
  const invalid = await world.bulk({ ...asked, kind: BulkKind.CANCEL });
  expect(invalid.fields).toEqual([
    ["signal_name", "is for SIGNAL: leave it out"],
    ["payload", "is for SIGNAL: leave it out"],
  ]);
  expect(await signalsOf(runs)).toEqual([[], []]);
});
