/** Heartbeats belong to a session: what is answered is stored, and a cancel is delivered once. */
import { expect, test, vi } from "vitest";
import type {
  EngineStore,
  Granted,
  HeartbeatAnswer,
  HeartbeatReport,
  SessionLease,
} from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  cancel,
  claim,
  claimOne,
  hex,
  json,
  leaseOf,
  newSession,
  type Opened,
  pass,
  report,
  type Scheduled,
  SESSION,
  schedule,
  success,
} from "./fixture.ts";

const CANCEL_MS = 5_000;
const timeouts = { heartbeatMs: 7_000, cancelMs: CANCEL_MS };

function reportOf(
  { ready, secret }: Granted,
  more: Partial<HeartbeatReport> = {},
): HeartbeatReport {
  const { runId, step, fence } = ready;
  return { runId, step, fence, secret, progress: null, details: null, ...more };
}

async function sendHeartbeat(
  store: EngineStore,
  run: Scheduled,
  reports: readonly HeartbeatReport[],
  session = SESSION,
): Promise<readonly HeartbeatAnswer[]> {
  const { namespaceId } = run;
  const about = { namespaceId, session, agentId: "agent-1", agentVersion: "1" };
  const {
    answers: [answers],
  } = await store.heartbeat([{ ...about, reports }]);
  if (!answers) throw new Error("a heartbeat without an answer");
  return answers;
}

function heartbeatOf({ namespaceId }: Scheduled, session: string) {
  return { namespaceId, session, agentId: "agent-1", agentVersion: "1" };
}

/** What the session has forgotten that lists these tasks as all that polls up to one brought. */
async function forgotten(
  store: EngineStore,
  run: Scheduled,
  session: string,
  listed: readonly Granted[],
  listsAllTo: number,
): Promise<readonly SessionLease[]> {
  const reports = listed.map((task) => reportOf(task));
  return (await store.heartbeat([{ ...heartbeatOf(run, session), reports, listsAllTo }])).forgotten;
}

function forgottenOf({ ready, secret }: Granted): SessionLease {
  const { runId, partition, step, fence } = ready;
  return { runId, partition, step, fence, secret };
}

function withinMs(answers: readonly HeartbeatAnswer[]): number {
  const [answer] = answers;
  if (answer?.kind !== "cancel") throw new Error(`answered ${answer?.kind}, not cancel`);
  return answer.withinMs;
}

export function describeHeartbeats(opened: Opened): void {
  test("progress moves when an agent reports a new one, and with no other heartbeat", async () => {
    const { store, elapse } = opened();
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const task = await claimOne(store, run);
    const heartbeatAgain = async (more: Partial<HeartbeatReport>): Promise<number> => {
      await elapse(10);
      await sendHeartbeat(store, run, [reportOf(task, more)]);
      return (await leaseOf(store, run, 0)).progressAt;
    };
    const granted = task.grantedAt;
    expect((await leaseOf(store, run, 0)).progressAt).toBe(granted);
    expect(await heartbeatAgain({})).toBe(granted);
    expect(await heartbeatAgain({ details: json('{"page":1}') })).toBe(granted);
    let page = 0;
    await vi.waitFor(async () => {
      page++;
      expect(await heartbeatAgain({ progress: `page ${page}` })).toBeGreaterThan(granted);
    });
    const first = await heartbeatAgain({ progress: "the end" });
    for (const more of [{ progress: "the end" }, {}, { details: json('{"page":2}') }])
      expect(await heartbeatAgain(more)).toBe(first);
  });

  test("a heartbeat on a current lease is answered to carry on for another interval", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const task = await claimOne(store, run);
    const before = await leaseOf(store, run, 0);
    expect(await sendHeartbeat(store, run, [reportOf(task)])).toEqual([
      { kind: "carry-on", leaseMs: 7_000 },
    ]);
    expect(await leaseOf(store, run, 0)).toEqual(before);
  });

  test.each<[string, Partial<HeartbeatReport>]>([
    ["another fence", { fence: 2 }],
    ["a guessed secret", { secret: hex(16) }],
    ["another step", { step: 1 }],
  ])("a heartbeat with %s is answered that the lease is lost", async (_what, wrong) => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const task = await claimOne(store, run);
    expect(await sendHeartbeat(store, run, [reportOf(task, wrong)])).toEqual([
      { kind: "lease-lost" },
    ]);
  });

  test("a heartbeat of another session is answered that the lease is lost", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const task = await claimOne(store, run);
    const answers = await sendHeartbeat(store, run, [reportOf(task)], newSession());
    expect(answers).toEqual([{ kind: "lease-lost" }]);
  });

  test("a heartbeat after the end of its task is answered that the lease is lost", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { timeouts }, b: {} }));
    const [task] = await claim(store, run);
    if (!task) throw new Error("nothing was ready");
    await pass(store, run, report(task, success));
    expect(await sendHeartbeat(store, run, [reportOf(task)])).toEqual([{ kind: "lease-lost" }]);
  });

  test("a cancel is delivered at the next heartbeat, and the lease then ends `cancel` later", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const task = await claimOne(store, run);
    await pass(store, run, cancel(true));
    expect((await leaseOf(store, run, 0)).cancel).toEqual({
      kind: "asked",
      cause: "run",
      at: expect.any(Number),
    });
    expect(await sendHeartbeat(store, run, [reportOf(task)])).toEqual([
      { kind: "cancel", withinMs: CANCEL_MS },
    ]);
    const { cancel: cancelState, wakeAt } = await leaseOf(store, run, 0);
    expect(cancelState).toEqual({ kind: "received", cause: "run", by: wakeAt });
    expect(wakeAt).toBeGreaterThanOrEqual(task.grantedAt + CANCEL_MS);
  });

  test("a heartbeat after a cancel is answered with the time left, and extends nothing", async () => {
    const { store, elapse } = opened();
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const task = await claimOne(store, run);
    await pass(store, run, cancel(true));
    await sendHeartbeat(store, run, [reportOf(task)]);
    const noticed = await leaseOf(store, run, 0);
    await elapse(1_000);
    const left = withinMs(await sendHeartbeat(store, run, [reportOf(task)]));
    expect(left).toBeLessThanOrEqual(CANCEL_MS);
    expect(await leaseOf(store, run, 0)).toEqual(noticed);
    await elapse(CANCEL_MS);
    expect(withinMs(await sendHeartbeat(store, run, [reportOf(task)]))).toBeLessThanOrEqual(left);
  });

  test("an agent that knows of a cancel may still report its progress", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const task = await claimOne(store, run);
    await pass(store, run, cancel(true));
    const answers = await sendHeartbeat(store, run, [reportOf(task, { progress: "half" })]);
    expect(answers).toMatchObject([{ kind: "cancel" }]);
  });

  test("sessions are answered in their order, and each in the order of its reports", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: { timeouts }, b: { timeouts } }));
    const [a, b] = await claim(store, run);
    if (!a || !b) throw new Error("two steps should be ready");
    const { namespaceId } = run;
    const idle = { namespaceId, agentId: "agent-2", agentVersion: "1", session: newSession() };
    const busy = { ...idle, agentId: "agent-1", session: SESSION };
    const wrong = reportOf(a, { fence: 9 });
    const { answers } = await store.heartbeat([
      { ...idle, reports: [] },
      { ...busy, reports: [reportOf(b), wrong, reportOf(a)] },
    ]);
    expect(answers.map((of) => of.map(({ kind }) => kind))).toEqual([
      [],
      ["carry-on", "lease-lost", "carry-on"],
    ]);
  });

  test("a session is known by its last heartbeat, whatever it holds", async () => {
    const { store, elapse } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const session = newSession();
    const silent = newSession();
    await sendHeartbeat(store, run, [], session);
    const lastHeartbeat = () =>
      store.transact({ name: "read" }, async (tx) => ({
        now: tx.now,
        heartbeats: await tx.lastHeartbeats([session, silent]),
      }));
    const first = await lastHeartbeat();
    expect([...first.heartbeats.keys()]).toEqual([session]);
    expect(first.heartbeats.get(session)).toBeLessThanOrEqual(first.now);
    await vi.waitFor(async () => {
      await elapse(1);
      await sendHeartbeat(store, run, [], session);
      const { heartbeats } = await lastHeartbeat();
      expect(heartbeats.get(session)).toBeGreaterThan(first.heartbeats.get(session) ?? Number.NaN);
    });
  });

  test("a heartbeat that names another namespace than its session stores nothing", async () => {
    const { store, elapse } = opened();
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const other = await schedule(store, workflow({ a: { timeouts } }));
    const session = newSession();
    const task = await claimOne(store, run, { session, pollSeq: 3 });
    await sendHeartbeat(store, run, [reportOf(task)], session);
    const lastHeartbeat = () =>
      store.transact({ name: "read" }, async (tx) =>
        (await tx.lastHeartbeats([session])).get(session),
      );
    const before = [await lastHeartbeat(), await leaseOf(store, run, 0)];
    await elapse(10);
    const repeated = reportOf(task, { progress: "elsewhere" });
    const own = { ...heartbeatOf(run, session), reports: [reportOf(task)], listsAllTo: 3 };
    const foreign = {
      ...heartbeatOf(other, session),
      reports: [repeated, repeated],
      listsAllTo: 3,
    };
    const alone = await store.heartbeat([foreign]);
    expect(alone.answers).toEqual([[{ kind: "lease-lost" }, { kind: "lease-lost" }]]);
    expect([alone.forgotten, [...alone.foreign]]).toEqual([[], [foreign]]);
    expect([await lastHeartbeat(), await leaseOf(store, run, 0)]).toEqual(before);
    for (const heartbeats of [
      [own, foreign],
      [foreign, own],
    ]) {
      const stored = await store.heartbeat(heartbeats);
      expect(stored.answers[heartbeats.indexOf(own)]).toEqual([
        { kind: "carry-on", leaseMs: 7_000 },
      ]);
      expect([stored.forgotten, [...stored.foreign]]).toEqual([[], [foreign]]);
    }
    expect((await leaseOf(store, run, 0)).progressAt).toBe(task.grantedAt);
  });

  test("no heartbeats get no answers", async () => {
    const { answers, forgotten: left, foreign } = await opened().store.heartbeat([]);
    expect([answers, left, [...foreign]]).toEqual([[], [], []]);
  });

  test("what a session leaves out of a list of all is forgotten, and found again until it ends", async () => {
    const { store } = opened();
    const session = newSession();
    const run = await schedule(store, workflow({ a: { timeouts }, b: { timeouts } }));
    const [a, b] = await claim(store, run, { session, pollSeq: 5 });
    if (!a || !b) throw new Error("two steps should be ready");
    const left = forgottenOf(b);
    expect(await forgotten(store, run, session, [a], 5)).toEqual([left]);
    expect(await forgotten(store, run, session, [a], 9)).toEqual([left]);
    await pass(store, run, { kind: "forgotten", ...left });
    expect(await forgotten(store, run, session, [a], 5)).toEqual([]);
    expect(await forgotten(store, run, session, [], 5)).toEqual([forgottenOf(a)]);
  });

  test("a list covers no poll after the one that it names, and no other session", async () => {
    const { store } = opened();
    const session = newSession();
    const run = await schedule(store, workflow({ a: { timeouts }, b: { timeouts } }));
    await claim(store, run, { session, pollSeq: 5 });
    expect(await forgotten(store, run, session, [], 0)).toEqual([]);
    expect(await forgotten(store, run, session, [], 4)).toEqual([]);
    expect(await forgotten(store, run, newSession(), [], 9)).toEqual([]);
  });

  test("a token of another hand-out lists nothing", async () => {
    const { store } = opened();
    const session = newSession();
    const run = await schedule(store, workflow({ a: { timeouts } }));
    const task = await claimOne(store, run, { session, pollSeq: 5 });
    const other = { ...task, secret: hex(16) };
    expect(await forgotten(store, run, session, [other], 5)).toEqual([forgottenOf(task)]);
  });

  test("lists of one session that are gathered together are one, in any order", async () => {
    const { store } = opened();
    const session = newSession();
    const run = await schedule(store, workflow({ a: { timeouts }, b: { timeouts } }));
    const [first = 0, second = 0] = run.lanes;
    const a = await claimOne(store, { ...run, lanes: [first] }, { session, pollSeq: 5 });
    const b = await claimOne(store, { ...run, lanes: [second] }, { session, pollSeq: 6 });
    const older = { ...heartbeatOf(run, session), reports: [reportOf(a)], listsAllTo: 5 };
    const newer = {
      ...heartbeatOf(run, session),
      reports: [reportOf(a), reportOf(b)],
      listsAllTo: 6,
    };
    for (const heartbeats of [[older, newer], [newer, older], [older]])
      expect((await store.heartbeat(heartbeats)).forgotten).toEqual([]);
  });
}
