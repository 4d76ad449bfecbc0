/**
 * What is appended: attempts with their outcome, interventions once, escalations with their number.
 */
import { expect, test } from "vitest";
import type { EndedAttempt } from "../../server/core/model/attempt.ts";
import type { RunDetail } from "../../server/store/reads.ts";
import type { AttemptKey, EngineStore, Granted } from "../../server/store/store.ts";
import { undoneBy, workflow } from "../support/core-world.ts";
import {
  cancel,
  claimOne,
  failure,
  hex,
  json,
  LATE,
  newSession,
  newUuid,
  type Opened,
  pass,
  permanent,
  prepare,
  report,
  type Scheduled,
  schedule,
  silence,
  success,
} from "./fixture.ts";

async function detailOf(store: EngineStore, { ref }: Scheduled): Promise<RunDetail> {
  const wanted = { attempts: true, interventions: true, escalations: true };
  const detail = await store.reads.runDetail(ref.runId, wanted);
  if (!detail) throw new Error(`run ${ref.runId} is not there`);
  return detail;
}

async function attemptsOf(
  store: EngineStore,
  { ready }: Granted,
  more: Partial<AttemptKey> = {},
): Promise<readonly EndedAttempt[]> {
  const { runId, step, fence } = ready;
  const key = { runId, step, fence, ...more };
  const found = await store.transact({ name: "read" }, (tx) => tx.loadAttempts([key]));
  return found.get(runId) ?? [];
}

export function describeHistory(opened: Opened): void {
  test("a report is found again by its token's run, step and fence", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: { needs: ["a"] } }));
    const task = await claimOne(store, run);
    const digest = hex(32);
    await pass(store, run, report(task, success, digest));
    const { secret, session, agentId, grantedAt: startedAt } = task;
    expect(await attemptsOf(store, task)).toEqual([
      {
        step: 0,
        kind: "perform",
        fence: 1,
        n: 0,
        attempt: 1,
        secret,
        agentId,
        session,
        startedAt,
        outcome: "success",
        transient: false,
        counted: { policy: null },
        digest,
      },
    ]);
    expect(await attemptsOf(store, task, { fence: 2 })).toEqual([]);
  });

  test("the same report again is answered as repeated", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const task = await claimOne(store, run);
    const digest = hex(32);
    expect((await pass(store, run, report(task, success, digest))).answer.kind).toBe("done");
    expect((await pass(store, run, report(task, success, digest))).answer.kind).toBe("repeated");
  });

  test("a lost attempt has no digest, and is recorded as charged to nothing", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const task = await claimOne(store, run);
    await pass(store, run, silence(task), LATE);
    const [lost] = await attemptsOf(store, task);
    expect(lost).toMatchObject({ outcome: "unknown", counted: null, digest: null });
  });

  test("a late report of the current attempt settles its row", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const task = await claimOne(store, run);
    await pass(store, run, silence(task), LATE);
    const digest = hex(32);
    await pass(store, run, report(task, success, digest));
    expect(await attemptsOf(store, task)).toMatchObject([
      { outcome: "success", counted: { policy: null }, digest },
    ]);
    const { attempts, run: record } = await detailOf(store, run);
    expect(attempts).toHaveLength(1);
    expect(attempts[0]?.outcome).toEqual(success);
    expect(record.state).toBe("COMPLETED");
  });

  test("a settled failure keeps all that its agent reported", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const task = await claimOne(store, run);
    await pass(store, run, silence(task), LATE);
    const reported = { ...failure, retryAfterMs: 90_000, noEffect: false } as const;
    await pass(store, run, report(task, reported));
    expect((await detailOf(store, run)).attempts).toMatchObject([{ outcome: reported }]);
  });

  test("a report after the end is stored once as evidence, beside the attempt", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const lost = await claimOne(store, run);
    await pass(store, run, silence(lost), LATE);
    const second = await claimOne(store, run, { session: newSession(), agentId: "agent-2" });
    await pass(store, run, report(second, success));
    const late = report(lost, { kind: "success", output: json('"too late"') });
    for (const _ of [1, 2])
      expect((await pass(store, run, late)).answer).toEqual({
        kind: "lease-lost",
        run: "COMPLETED",
      });
    const { attempts, interventions } = await detailOf(store, run);
    expect(attempts.map(({ kind, fence }) => `${kind} ${fence}`).sort()).toEqual([
      "late 1",
      "perform 1",
      "perform 2",
    ]);
    expect(attempts.find(({ kind }) => kind === "late")?.outcome).toEqual({
      kind: "success",
      output: json('"too late"'),
    });
    expect(interventions.filter(({ rule }) => rule === "late-effect")).toHaveLength(1);
  });

  test("an intervention names who acted, with which epoch, or that an agent's report did it", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const node = newUuid();
    const lost = await claimOne(store, run);
    await pass(store, run, silence(lost), { ...LATE, actor: { node, epoch: 17 } });
    const next = await claimOne(store, run);
    const { step, fence } = next.ready;
    await pass(store, run, { kind: "undelivered", step, fence, secret: next.secret });
    const { interventions } = await detailOf(store, run);
    const { runId, partition } = run.ref;
    expect(interventions.find(({ rule }) => rule === "lease")).toMatchObject({
      runId,
      partition,
      step: 0,
      fence: 1,
      n: 1,
      node,
      epoch: 17,
    });
    expect(interventions.find(({ rule }) => rule === "delivery")).toMatchObject({
      step: 0,
      fence: 2,
      n: 0,
      node: null,
      epoch: null,
    });
  });

  test("repeated alarms about one ready row are distinguished by their number", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const alarm = { kind: "ready-timer", step: 0, fence: 1, polled: false } as const;
    await pass(store, run, alarm, { agoMs: -400_000 });
    await pass(store, run, alarm, { agoMs: -800_000 });
    const { interventions } = await detailOf(store, run);
    expect(interventions.map(({ rule, n }) => `${rule} ${n}`).sort()).toEqual([
      "pickup 0",
      "pickup 1",
    ]);
  });

  test("an intervention about the run names no step", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }, { timeoutMs: 1_000 }));
    await pass(store, run, { kind: "run-timer" }, LATE);
    const { interventions } = await detailOf(store, run);
    expect(interventions).toMatchObject([{ rule: "deadline", step: null, fence: 0 }]);
  });

  test("escalations are numbered within their run, and closed with who closed them", async () => {
    const { store } = opened();
    const run = await failedUndo(store);
    await pass(store, run, cancel(false));
    const { escalations, run: record } = await detailOf(store, run);
    expect(escalations).toMatchObject([
      { n: 1, step: 0, reason: "undo-failed", closedBy: "cancel, leaving things" },
    ]);
    expect(escalations[0]?.closedAt).toBeGreaterThanOrEqual(escalations[0]?.openedAt ?? 0);
    expect(record).toMatchObject({ state: "CANCELLED", cancelNote: "enough" });
  });

  test("an open escalation has neither time nor person of its end", async () => {
    const { store } = opened();
    const { escalations } = await detailOf(store, await failedUndo(store));
    expect(escalations).toMatchObject([{ n: 1, closedAt: null, closedBy: null }]);
  });

  test("one pass may close a question and ask the next", async () => {
    const { store } = opened();
    const { run, undo } = await lostUndo(store);
    await pass(store, run, report(undo, permanent));
    const { escalations } = await detailOf(store, run);
    expect(escalations.map(({ n, closedAt }) => ({ n, open: closedAt === null }))).toEqual([
      { n: 1, open: false },
      { n: 2, open: true },
    ]);
  });

  test("a question that one pass asks and answers is closed", async () => {
    const { store } = opened();
    const run = await undoing(store);
    const undo = await claimOne(store, run);
    await store.transact({ name: "both" }, async (tx) => {
      const events = [report(undo, permanent), cancel(false)];
      await tx.write([(await prepare(tx, run, events)).record]);
    });
    const { escalations, run: record } = await detailOf(store, run);
    expect(record.state).toBe("CANCELLED");
    expect(escalations).toMatchObject([{ n: 1, closedBy: "cancel, leaving things" }]);
  });
}

/** `a` has succeeded, `b` has failed for good: the undo of `a` is ready. */
async function undoing(store: EngineStore): Promise<Scheduled> {
  const undo = undoneBy("undo-a", { retry: [{ attempts: 1 }] });
  const run = await schedule(store, workflow({ a: { compensate: undo }, b: { needs: ["a"] } }));
  await pass(store, run, report(await claimOne(store, run), success));
  await pass(store, run, report(await claimOne(store, run), permanent));
  return run;
}

async function failedUndo(store: EngineStore): Promise<Scheduled> {
  const run = await undoing(store);
  await pass(store, run, report(await claimOne(store, run), permanent));
  return run;
}

/** The undo was lost three times, and a person is asked; its last agent may still report. */
async function lostUndo(store: EngineStore): Promise<{ run: Scheduled; undo: Granted }> {
  const run = await undoing(store);
  let undo = await claimOne(store, run);
  await pass(store, run, silence(undo), LATE);
  for (const _ of [2, 3]) {
    undo = await claimOne(store, run);
    await pass(store, run, silence(undo), LATE);
  }
  return { run, undo };
}
