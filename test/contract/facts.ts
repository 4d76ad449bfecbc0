/**
 * Facts: what expressions see of a run and of its final steps, and what a granted task carries of
 * the strategy that it is about.
 */
import { describe, expect, test } from "vitest";
import type { Attempt } from "../../server/core/model/attempt.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import type { Facts } from "../../server/core/model/facts.ts";
import type { Step } from "../../server/core/model/model.ts";
import type { EffectStatus, Strategy } from "../../server/core/model/strategy.ts";
import type { Granted } from "../../server/store/store.ts";
import { claimOne, json, type Opened, type Scheduled, SESSION } from "./fixture.ts";
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

export function describeFacts(opened: Opened): void {
  describe("of runs and steps", () => describeStepFacts(opened));
  describe("of granted tasks", () => describeTaskFacts(opened));
}

function describeStepFacts(opened: Opened): void {
  async function factsOf(run: Scheduled, steps: readonly number[]): Promise<Facts> {
    const { store } = opened();
    const { runId } = run.ref;
    const wanted = [{ runId, steps }];
    const inside = await store.transact({ name: "read" }, (tx) => tx.loadFacts(wanted));
    expect(await store.facts(wanted)).toEqual(inside);
    const facts = inside.get(runId);
    if (!facts) throw new Error(`run ${runId} has no facts`);
    return facts;
  }

  test("a run has the facts that it was scheduled with", async () => {
    const { store } = opened();
    const run = await beginAs(store, [], {
      workflow: "holiday",
      version: 3,
      key: "order-7",
      labels: { city: "Bern" },
      input: json('{"nights":2}'),
    });
    const { run: facts, steps } = await factsOf(run, []);
    expect(facts).toEqual({
      id: run.ref.runId,
      workflow: "holiday",
      version: 3,
      key: "order-7",
      labels: { city: "Bern" },
      input: json('{"nights":2}'),
      createdAt: expect.any(Number),
    });
    expect(steps).toEqual(new Map());
  });

  test("a step has facts once it is final, and an unknown run has none", async () => {
    const { store } = opened();
    const states: readonly Step["forward"][] = [
      { kind: "SKIPPED" },
      { kind: "CANCELLED" },
      { kind: "ESCALATED" },
      { kind: "BLOCKED", waitingFor: 1, ok: 0, skipped: 0 },
      { kind: "WAITING", on: "timer", wakeAt: 1_000 },
    ];
    const run = await beginAs(
      store,
      states.map((forward, no) => blankStep(no, { forward })),
    );
    const { steps } = await factsOf(run, [0, 1, 2, 3, 4, 5]);
    expect(steps).toEqual(
      new Map([
        [0, { status: "SKIPPED", output: null, error: null }],
        [1, { status: "CANCELLED", output: null, error: null }],
      ]),
    );
    expect(await store.facts([{ runId: `${run.ref.runId.slice(0, -4)}0000`, steps: [0] }])).toEqual(
      new Map(),
    );
    expect(await store.facts([])).toEqual(new Map());
  });

  test.each<[string, Partial<Attempt>]>([
    ["the attempt that performed it", { kind: "perform", fence: 2 }],
    ["the verify that found it, by its number", { kind: "verify", fence: 2, n: 3 }],
    ["a person's answer", { kind: "answer", fence: 2 }],
  ])("the output of a step is that of %s", async (_what, row) => {
    const { store } = opened();
    const run = await beginAs(store, []);
    const { kind = "perform", fence = 0, n = 0 } = row;
    const result = { kind, fence, n };
    await passAs(store, run, {
      steps: [blankStep(0, { forward: { kind: "SUCCEEDED" }, fence: 2, result })],
      effects: [
        attemptStored({ kind: "late", fence: 2, outcome: successOf('"late"') }),
        attemptStored({ kind: "engine", fence: 2, outcome: failed("drover.schema") }),
        attemptStored({ kind: "answer", fence: 1, outcome: successOf('"before"') }),
      ],
    });
    await writeRows(store, run, [rowOf({ ...row, outcome: successOf('"this"') })]);
    const { steps } = await factsOf(run, [0]);
    expect(steps.get(0)).toEqual({ status: "SUCCEEDED", output: json('"this"'), error: null });
  });

  test("the error of a failed step is that of its newest attempt, by fence and by end", async () => {
    const { store } = opened();
    const run = await beginAs(store, [blankStep(0, { forward: { kind: "FAILED" }, fence: 3 })]);
    const error = async () => (await factsOf(run, [0])).steps.get(0)?.error;
    expect(await error()).toBeNull();
    const rows: readonly [Partial<Attempt>, string][] = [
      [{ kind: "perform", fence: 1, outcome: failed("first") }, "first"],
      [{ kind: "perform", fence: 2, outcome: unknown("drover.lost") }, "drover.lost"],
      [{ kind: "compensate", fence: 3, outcome: failed("undo") }, "drover.lost"],
      [{ kind: "late", fence: 2, endedAt: 9_000, outcome: failed("late") }, "drover.lost"],
      [{ kind: "verify", fence: 2, n: 1, endedAt: 9_000, outcome: failed("none") }, "drover.lost"],
      [
        { kind: "engine", fence: 2, endedAt: 2_000, outcome: failed("drover.total") },
        "drover.total",
      ],
    ];
    for (const [row, code] of rows) {
      await writeRows(store, run, [rowOf(row)]);
      expect((await error())?.code).toBe(code);
    }
    expect(await error()).toEqual({ code: "drover.total", message: "it failed with drover.total" });
  });

  test("a step that has succeeded after a failure has no error", async () => {
    const { store } = opened();
    const step = blankStep(0, { forward: { kind: "SUCCEEDED" }, fence: 1 });
    const run = await beginAs(store, [step]);
    await writeRows(store, run, [rowOf({ kind: "perform", outcome: failed("first") })]);
    expect((await factsOf(run, [0])).steps.get(0)).toEqual({
      status: "SUCCEEDED",
      output: null,
      error: null,
    });
  });
}

const strategy = (effectStatus: EffectStatus, more: Partial<Strategy> = {}): Strategy => {
  return { planned: 0, changed: false, effectStatus, ...more };
};

function describeTaskFacts(opened: Opened): void {
  async function factsOf(granted: Granted) {
    const [facts] = await opened().store.taskFacts([granted]);
    return facts;
  }

  test("a task is about the current strategy, and follows that of the plan", async () => {
    const { store } = opened();
    const strategies = [strategy("UNSETTLED"), strategy("NONE", { planned: 2 })];
    const run = await beginAs(store, [blankStep(0, { forward: readyFor(), strategies })]);
    const granted = await claimOne(store, run);
    const { lane } = run.laneOf(0, "perform", 2);
    expect(granted.ready.lane).toBe(lane);
    expect(await factsOf(granted)).toMatchObject({
      strategy: 1,
      planned: 2,
      changedInput: null,
      output: null,
    });
  });

  test("a step that falls back while it is ready is found in the lane of its strategy alone", async () => {
    const { store } = opened();
    const step = blankStep(0, { forward: readyFor() });
    const run = await beginAs(store, [step]);
    const strategies = [...step.strategies, strategy("NONE", { planned: 1 })];
    await passAs(store, run, { steps: [{ ...step, strategies }] });
    const [first, second] = [0, 1].map((planned) => run.laneOf(0, "perform", planned).lane);
    expect((await store.pollQuery({ lanes: run.lanes, runs: [], watermarks: [] })).lanes).toEqual([
      second,
    ]);
    expect(first).not.toBe(second);
  });

  test("a changed input goes with the strategy for which it was given", async () => {
    const { store } = opened();
    const step = blankStep(0);
    const run = await beginAs(store, [step]);
    const changed = strategy("NONE", { changed: true });
    const started = (index: number, text: string | null): Effect => ({
      kind: "strategy-started",
      step: 0,
      index,
      planned: 0,
      input: text === null ? null : json(text),
    });
    const strategies = [...step.strategies, changed, strategy("NONE"), changed];
    await passAs(store, run, {
      steps: [{ ...step, strategies, forward: readyFor() }],
      effects: [started(1, '{"a":1}'), started(2, null), started(3, '{"a":3}')],
    });
    const granted = await claimOne(store, run);
    expect(await factsOf(granted)).toMatchObject({
      strategy: 3,
      changedInput: { payload: json('{"a":3}') },
    });
    // What is undone first is the last that may have left something.
    const undone = [
      strategy("MADE"),
      { ...changed, effectStatus: "UNSETTLED" as const },
      strategy("NONE"),
    ];
    const undo = readyFor({ task: "compensate", fence: 2 });
    const now = { forward: { kind: "SUCCEEDED" }, undo, strategies: undone, fence: 1 } as const;
    await passAs(store, run, { steps: [{ ...step, ...now }] });
    expect(await factsOf(await claimOne(store, run))).toMatchObject({
      strategy: 1,
      changedInput: { payload: json('{"a":1}') },
      output: null,
    });
  });

  test("a strategy that was dropped leaves its index, and its input, to the next", async () => {
    const { store } = opened();
    const step = blankStep(0);
    const run = await beginAs(store, [step]);
    const started = (text: string): Effect => ({
      kind: "strategy-started",
      step: 0,
      index: 1,
      planned: 0,
      input: json(text),
    });
    const dropped: Effect = { kind: "strategy-dropped", step: 0, attempt: 1 };
    await passAs(store, run, { effects: [started("1"), dropped, started("2")] });
    const strategies = [...step.strategies, strategy("NONE", { changed: true })];
    await passAs(store, run, { steps: [{ ...step, strategies }] });
    const forward = readyFor();
    await passAs(store, run, {
      steps: [{ ...step, forward, strategies }],
      effects: [dropped, started("3")],
    });
    const granted = await claimOne(store, run);
    expect(await factsOf(granted)).toMatchObject({ changedInput: { payload: json("3") } });
    // The next at this index has its input by the plan.
    const plain = [...step.strategies, strategy("NONE")];
    const second = readyFor({ fence: 2 });
    await passAs(store, run, {
      steps: [{ ...step, fence: 1, forward: second, strategies: plain }],
      effects: [dropped],
    });
    expect(await factsOf(await claimOne(store, run))).toMatchObject({ changedInput: null });
  });

  test("a verify carries the details of the attempt that it is about", async () => {
    const { store } = opened();
    const step = blankStep(0, { forward: readyFor() });
    const run = await beginAs(store, [step]);
    const first = await claimOne(store, run);
    await store.heartbeat([
      {
        namespaceId: run.namespaceId,
        session: SESSION,
        agentId: "x",
        agentVersion: "1",
        reports: [
          {
            runId: run.ref.runId,
            step: 0,
            fence: 1,
            secret: first.secret,
            progress: "booked",
            details: json('{"ref":7}'),
          },
        ],
      },
    ]);
    const verify = readyFor({ task: "verify", fence: 1 });
    await passAs(store, run, {
      steps: [{ ...step, fence: 1, forward: verify }],
      effects: [taskEnded(endOf(first, unknown("drover.lost")))],
    });
    const granted = await claimOne(store, run);
    expect(granted.ready).toMatchObject({ task: "verify", lane: run.laneOf(0, "verify", 0).lane });
    expect(await factsOf(granted)).toMatchObject({ lastDetails: json('{"ref":7}'), output: null });
  });

  test.each<[string, readonly EffectStatus[], number, boolean]>([
    ["the strategy that made it", ["UNSETTLED", "MADE"], 1, true],
    ["one before it, whose success came late", ["MADE", "NONE"], 0, true],
    ["no other strategy", ["UNSETTLED", "UNDONE"], 0, false],
  ])("an undo gets the output of the step for %s", async (_what, statuses, index, gets) => {
    const { store } = opened();
    const run = await beginAs(store, []);
    const strategies = statuses.map((status) => strategy(status));
    const step = blankStep(0, {
      forward: { kind: "SUCCEEDED" },
      strategies,
      fence: 1,
      result: { kind: "answer", fence: 1, n: 0 },
      undo: readyFor({ task: "compensate", fence: 2 }),
    });
    const outcome = successOf('"B-17"');
    await passAs(store, run, {
      steps: [step],
      effects: [attemptStored({ kind: "answer", outcome })],
    });
    const facts = await factsOf(await claimOne(store, run));
    expect(facts).toMatchObject({ strategy: index, output: gets ? json('"B-17"') : null });
  });

  test("a step that failed has no output for its undo", async () => {
    const { store } = opened();
    const step = blankStep(0, {
      forward: { kind: "FAILED" },
      strategies: [strategy("ATTEMPTED")],
      fence: 1,
      undo: readyFor({ task: "compensate", fence: 2 }),
    });
    const run = await beginAs(store, [step]);
    expect(await factsOf(await claimOne(store, run))).toMatchObject({ strategy: 0, output: null });
  });
}
