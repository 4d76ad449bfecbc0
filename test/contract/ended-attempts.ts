/**
 * Ended attempts, as later reports are evaluated by them: found by their fence, distinguished by
 * their numbers, with what they were charged to; settled in place, and evidence beside them.
 */
import { expect, test } from "vitest";
import type { Attempt, Counted, Outcome } from "../../server/core/model/attempt.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import type { AttemptKey } from "../../server/store/store.ts";
import { claimOne, type Opened, readStep, type Scheduled } from "./fixture.ts";
import {
  attemptStored,
  beginAs,
  blankStep,
  endOf,
  failed,
  passAs,
  readyFor,
  rowOf,
  successOf,
  taskEnded,
  unknown,
  writeRows,
} from "./hand-made.ts";

export function describeEndedAttempts(opened: Opened): void {
  async function attemptsOf({ ref }: Scheduled, fence: number, more: Partial<AttemptKey> = {}) {
    const key = { runId: ref.runId, step: 0, fence, ...more };
    const found = await opened().store.transact({ name: "read" }, (tx) => tx.loadAttempts([key]));
    return found.get(ref.runId) ?? [];
  }

  test("the tasks that ended with a fence are found, each verify by its number", async () => {
    const { store } = opened();
    const run = await beginAs(store, [blankStep(0)]);
    await writeRows(store, run, [
      rowOf({ kind: "perform", fence: 1, outcome: unknown("drover.timeout") }),
      rowOf({ kind: "verify", fence: 1, n: 1, outcome: unknown("cannot-tell") }),
      rowOf({ kind: "verify", fence: 1, n: 2, outcome: { kind: "superseded" } }),
      rowOf({ kind: "engine", fence: 1, outcome: failed("drover.total") }),
      rowOf({ kind: "late", fence: 1, secret: "ab".repeat(16), outcome: successOf("1") }),
      rowOf({ kind: "perform", fence: 2, outcome: successOf("2") }),
    ]);
    const found = await attemptsOf(run, 1);
    expect(found.map(({ kind, n, outcome }) => [kind, n, outcome])).toEqual([
      ["perform", 0, "unknown"],
      ["verify", 1, "unknown"],
      ["verify", 2, "superseded"],
    ]);
    expect(await attemptsOf(run, 3)).toEqual([]);
    expect(await attemptsOf(run, 1, { step: 1 })).toEqual([]);
  });

  test.each<[string, Outcome, Counted, boolean]>([
    ["a lost one", unknown("drover.lost"), null, false],
    ["a deferred one", { kind: "deferred" }, null, false],
    ["one to ask again", { kind: "again", afterMs: 7_000 }, null, false],
    ["an unknown one", unknown("drover.timeout"), { policy: 0 }, false],
    ["a permanent failure", failed("broken"), { policy: null }, false],
    [
      "a transient failure",
      { ...failed("busy"), class: "transient" } as Outcome,
      { policy: 2 },
      true,
    ],
  ])("%s has how it ended, and what it was charged to", async (_, outcome, counted, transient) => {
    const { store } = opened();
    const run = await beginAs(store, [blankStep(0, { forward: readyFor() })]);
    const granted = await claimOne(store, run, { agentId: "maria" });
    const { secret, grantedAt: startedAt, session } = granted;
    await passAs(store, run, {
      steps: [blankStep(0, { fence: 1 })],
      effects: [taskEnded(endOf(granted, outcome), counted)],
    });
    expect(await attemptsOf(run, 1)).toEqual([
      {
        step: 0,
        kind: "perform",
        fence: 1,
        n: 0,
        attempt: 1,
        secret,
        agentId: "maria",
        session,
        startedAt,
        outcome: outcome.kind,
        digest: null,
        counted,
        transient,
      },
    ]);
    const wanted = { attempts: true, interventions: false, escalations: false };
    const detail = await store.reads.runDetail(run.ref.runId, wanted);
    expect(detail?.attempts).toMatchObject([{ outcome, n: 0 }]);
    expect(detail?.steps).toEqual(new Map([[0, await readStep(store, run, 0)]]));
  });

  test("a deferred attempt is settled by its number, as a verify is", async () => {
    const { store } = opened();
    const verify = readyFor({ task: "verify", fence: 1, attempt: 2 });
    const run = await beginAs(store, [blankStep(0, { forward: verify })]);
    const granted = await claimOne(store, run);
    const ended = endOf(granted, { kind: "unknown", code: "cannot-tell", message: "no" });
    const step = blankStep(0, { fence: 1, forward: { kind: "ESCALATED" } });
    await passAs(store, run, { steps: [step], effects: [taskEnded(ended)] });
    const settled = { ...ended, outcome: successOf("1"), digest: "ab".repeat(32) };
    const settle = (attempt: Attempt): Effect => {
      return { kind: "attempt-settled", attempt, was: null, counted: { policy: 1 } };
    };
    await passAs(store, run, { effects: [settle(settled)] });
    const [row] = await attemptsOf(run, 1);
    expect(row).toMatchObject({ n: 2, outcome: "success", counted: { policy: 1 } });
    await expect(passAs(store, run, { effects: [settle({ ...settled, n: 3 })] })).rejects.toThrow();
  });

  test("of what no agent holds the last outcome counts, also within a pass", async () => {
    const { store } = opened();
    const run = await beginAs(store, [blankStep(0, { forward: { kind: "FAILED" } })]);
    const total = (code: string, endedAt: number) =>
      attemptStored({ kind: "engine", fence: 0, endedAt, outcome: failed(code) });
    await passAs(store, run, { effects: [total("drover.total", 1_000)] });
    await passAs(store, run, { effects: [total("drover.expired", 2_000), total("this", 3_000)] });
    const wanted = { attempts: true, interventions: false, escalations: false };
    const detail = await store.reads.runDetail(run.ref.runId, wanted);
    expect(detail?.attempts).toMatchObject([{ kind: "engine", endedAt: 3_000 }]);
    expect(
      (await store.facts([{ runId: run.ref.runId, steps: [0] }])).get(run.ref.runId),
    ).toMatchObject({
      steps: new Map([[0, { status: "FAILED", output: null, error: { code: "this" } }]]),
    });
  });

  test("late reports about an attempt and about its verify are stored side by side", async () => {
    const { store } = opened();
    const run = await beginAs(store, [blankStep(0, { fence: 1 })]);
    const secret = "ab".repeat(16);
    const late = (n: number, outcome: Outcome) =>
      attemptStored({ kind: "late", n, secret, outcome });
    const rows = [
      late(0, successOf("1")),
      late(0, failed("x")),
      late(1, successOf("2")),
      late(0, successOf("3")),
    ];
    for (const row of rows) await passAs(store, run, { effects: [row] });
    const wanted = { attempts: true, interventions: false, escalations: false };
    const attempts = (await store.reads.runDetail(run.ref.runId, wanted))?.attempts ?? [];
    const outputs = attempts.map(({ outcome }) => {
      return outcome.kind === "success" && outcome.output?.kind === "json" && outcome.output.json;
    });
    expect(outputs.sort()).toEqual(["1", "2", false]);
  });
}
