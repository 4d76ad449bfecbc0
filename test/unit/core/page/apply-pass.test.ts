/** A pass, applied to the pages of its run: what of it is in a page, in a row, or in the log. */
import { describe, expect, test } from "vitest";
import type { Attempt, Outcome } from "../../../../server/core/model/attempt.ts";
import type { Effect } from "../../../../server/core/model/effect.ts";
import { emptyView, type Step } from "../../../../server/core/model/model.ts";
import { stepKeyOf } from "../../../../server/core/model/step-key.ts";
import { pagesTouched } from "../../../../server/core/page/apply-pass.ts";
import type { PageStep } from "../../../../server/core/page/page.ts";
import { START } from "../../../support/core-world.ts";
import {
  afterPass,
  attemptAt,
  headOf,
  LANE,
  leasedStep,
  leaseFor,
  pageAttemptAt,
  pageOf,
  passOn,
  RUN,
  readyFor,
  readyStep,
  SECRET,
  stepIn,
  stepOf,
} from "../../../support/hand-made-pages.ts";

const json = (text: string) => ({ kind: "json", json: text }) as const;
const succeeded = (output: string): Outcome => ({ kind: "success", output: json(output) });
const UNKNOWN: Outcome = { kind: "unknown", code: "drover.lost", message: "no heartbeat" };
/** 256 bytes are stored in the page. */
const SMALL = `"${"x".repeat(254)}"`;
const LARGE = `"${"x".repeat(255)}"`;

const ended = (more: Partial<Attempt> = {}, counted = { policy: 0 }): Effect => ({
  kind: "task-ended",
  id: "a",
  attempt: attemptAt(more),
  counted,
  lost: false,
});
const attemptStored = (more: Partial<Attempt>): Effect => ({
  kind: "attempt-stored",
  attempt: attemptAt(more),
});
const settled = (more: Partial<Attempt>): Effect => ({
  kind: "attempt-settled",
  attempt: attemptAt(more),
  was: null,
  counted: { policy: 1 },
});

const DONE: Step = stepOf({ forward: { kind: "SUCCEEDED" }, fence: 1, attempt: 1 });

describe("steps", () => {
  test("a step that a pass has changed is in its page, and the others stay the same objects", () => {
    const page = pageOf(leasedStep(), readyStep({}, 1));
    const after = afterPass(page, { steps: [DONE], effects: [ended()] });
    expect(stepIn(after).step).toBe(DONE);
    expect(after.steps.get(1)).toBe(page.steps.get(1));
  });

  test("a step of which nothing was stored begins as one that was never tried", () => {
    const after = afterPass(pageOf(), { steps: [stepOf({ no: 2, forward: { kind: "SKIPPED" } })] });
    expect(stepIn(after, 2)).toMatchObject({ terms: null, attempts: [], logged: 0 });
  });

  test("a page that holds nothing of the pass is not written", () => {
    expect(passOn(pageOf(readyStep()), {}).pages).toEqual([]);
  });

  test("the pages of a pass are those of its steps and of their attempts, and page 0", () => {
    const later = 40;
    const item = stepKeyOf(3, 2);
    const before = emptyView(RUN);
    const after = { ...before, steps: new Map([[later, stepOf({ no: later })]]) };
    const effects = [ended({ step: item }), settled({ step: 70 })];
    expect(pagesTouched({ before, after, effects })).toEqual([0, 1, item, 2]);
  });
});

describe("the terms of a task", () => {
  test("a task that becomes ready has those of its plan, in its lane", () => {
    const after = afterPass(pageOf(), { steps: [stepOf({ forward: readyFor() })], slowAfterMs: 9 });
    expect(stepIn(after).terms).toEqual({
      lane: LANE,
      attemptMs: 900_000,
      heartbeatMs: 30_000,
      cancelMs: 10_000,
      stallMs: null,
      slowAfterMs: 9,
      isFirstTry: true,
    });
  });

  test("an undo or a verify is never slow, since nothing is learned of it", () => {
    const undo = readyFor({ task: "compensate", fence: 2 });
    const step = stepOf({ forward: { kind: "SUCCEEDED" }, undo });
    expect(
      stepIn(afterPass(pageOf(), { steps: [step], slowAfterMs: 9 })).terms?.slowAfterMs,
    ).toBeNull();
  });

  test("a task is plain where it is the first try of the step as planned", () => {
    const plain = (more: Partial<Step>) =>
      stepIn(afterPass(pageOf(), { steps: [stepOf({ forward: readyFor(), ...more })] })).terms
        ?.isFirstTry;
    expect(plain({})).toBe(true);
    expect(plain({ forward: readyFor({ fence: 2 }) })).toBe(false);
    expect(plain({ strategies: [{ planned: 0, changed: true, effectStatus: "NONE" }] })).toBe(
      false,
    );
    expect(plain({ strategies: [{ planned: 1, changed: false, effectStatus: "NONE" }] })).toBe(
      false,
    );
  });

  test("a task that stays ready or out keeps the very same terms", () => {
    for (const [was, forward] of [
      [readyStep(), readyFor({ alarms: 1, wakeAt: START + 9 })],
      [leasedStep(), leaseFor({ progressAt: START + 1 })],
    ] as const) {
      const after = afterPass(pageOf(was), { steps: [stepOf({ forward })], lane: 99 });
      expect(stepIn(after).terms).toBe(was.terms);
    }
  });

  test("a step without a task has none", () => {
    const held = stepOf({ forward: { kind: "HELD", task: "perform" } });
    expect(stepIn(afterPass(pageOf(readyStep()), { steps: [held] })).terms).toBeNull();
  });
});

describe("an attempt that ends", () => {
  const reported = { progress: "half", details: json('{"n":1}') };

  test("is in the page, with what its heartbeats reported last, which the step has no more", () => {
    const page = pageOf({ ...leasedStep(), ...reported });
    const after = stepIn(afterPass(page, { steps: [DONE], effects: [ended()] }));
    expect(after.attempts).toMatchObject([
      { fence: 1, secret: SECRET, counted: { policy: 0 }, ...reported },
    ]);
    expect(after).toMatchObject({ progress: null, details: null });
  });

  test("what no agent held has no heartbeats to record", () => {
    const page = pageOf({ ...leasedStep(), ...reported });
    const engine = attemptStored({ kind: "engine", secret: null, outcome: { kind: "superseded" } });
    const { attempts } = stepIn(afterPass(page, { effects: [engine] }));
    expect(attempts).toMatchObject([{ kind: "engine", progress: null, details: null }]);
  });

  test("is refused where its step is not there", () => {
    expect(() => passOn(pageOf(), { effects: [ended({ step: 5 })] })).toThrow(
      "an attempt at step 5 ends, and the step is not there",
    );
  });

  test("an output of 256 bytes is in the page, and a larger one in a row of its own", () => {
    const outcomeOf = (output: string) => {
      const applied = passOn(pageOf(leasedStep()), {
        steps: [DONE],
        effects: [ended({ outcome: succeeded(output) })],
      });
      const [page] = applied.pages;
      return { payloads: applied.payloads, outcome: page && stepIn(page).attempts[0]?.outcome };
    };
    expect(outcomeOf(SMALL)).toEqual({ payloads: [], outcome: succeeded(SMALL) });
    expect(outcomeOf(LARGE)).toEqual({
      payloads: [
        { step: 0, kind: "perform", fence: 1, n: 0, what: "output", payload: json(LARGE) },
      ],
      outcome: { kind: "success", output: { kind: "row" } },
    });
    // What counts are bytes, not characters.
    expect(outcomeOf(`"${"☃".repeat(100)}"`).outcome).toMatchObject({ output: { kind: "row" } });
  });

  test("a report that is known already changes nothing, and leaves no row", () => {
    const late = { kind: "late", outcome: succeeded(SMALL) } as const;
    const before = afterPass(pageOf(readyStep({ fence: 2 })), { effects: [attemptStored(late)] });
    const again = passOn(before, {
      effects: [attemptStored({ ...late, outcome: succeeded(LARGE) })],
    });
    expect(again).toEqual({ pages: [], payloads: [], logged: [], updatedInLog: [] });
  });

  test("a late success is stored beside a late failure of the same attempt", () => {
    const failed = { kind: "late", outcome: UNKNOWN } as const;
    const page = afterPass(pageOf(readyStep({ fence: 2 })), { effects: [attemptStored(failed)] });
    const after = afterPass(page, {
      effects: [attemptStored({ ...failed, outcome: succeeded("1") })],
    });
    expect(stepIn(after).attempts.map(({ outcome }) => outcome.kind)).toEqual([
      "unknown",
      "success",
    ]);
  });

  test("of what no agent held the last outcome counts, within a pass and after it", () => {
    const engine = (code: string): Effect =>
      attemptStored({
        kind: "engine",
        secret: null,
        outcome: { kind: "unknown", code, message: "" },
      });
    const codes = (step: PageStep) =>
      step.attempts.map(({ outcome }) => (outcome.kind === "unknown" ? outcome.code : ""));
    const first = afterPass(pageOf(readyStep()), { effects: [engine("a"), engine("b")] });
    expect(codes(stepIn(first))).toEqual(["b"]);
    expect(codes(stepIn(afterPass(first, { effects: [engine("c")] })))).toEqual(["c"]);
  });
});

describe("the attempt log", () => {
  const eight = Array.from({ length: 8 }, (_, at) => pageAttemptAt({ fence: at + 1 }));
  const full = pageOf({ ...leasedStep({ fence: 9 }), attempts: eight, logged: 2 });
  const ninth = { steps: [DONE], effects: [ended({ fence: 9 })] };
  const fences = (attempts: readonly { readonly fence: number }[]) =>
    attempts.map((one) => one.fence);

  test("eight attempts stay in the page", () => {
    const seven = pageOf({ ...leasedStep({ fence: 8 }), attempts: eight.slice(0, 7) });
    const applied = passOn(seven, { steps: [DONE], effects: [ended({ fence: 8 })] });
    expect(applied.logged).toEqual([]);
    expect(applied.pages.map((page) => fences(stepIn(page).attempts))).toEqual([
      [1, 2, 3, 4, 5, 6, 7, 8],
    ]);
  });

  test("with the ninth the oldest moves to the log, as it was", () => {
    const applied = passOn(full, ninth);
    expect(applied.logged).toEqual([{ ...eight[0], step: 0 }]);
    const [page] = applied.pages;
    expect(page && fences(stepIn(page).attempts)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    expect(page && stepIn(page).logged).toBe(3);
  });

  test("an attempt of the page that counts as its agent reports is settled there", () => {
    const outcome = { kind: "success", output: json("1") } as const;
    const open = { ...pageAttemptAt({ outcome: UNKNOWN, digest: null }), progress: "half" };
    const page = pageOf({ ...readyStep({ fence: 2 }), attempts: [open] });
    const applied = passOn(page, { effects: [settled({ outcome, digest: "5a1d" })] });
    expect(applied.updatedInLog).toEqual([]);
    expect(applied.pages.map((one) => stepIn(one).attempts)).toEqual([
      [{ ...open, outcome, digest: "5a1d", counted: { policy: 1 } }],
    ]);
  });

  test("one that is in the log is recorded as settled there, and the page stays as it is", () => {
    const attempt = { fence: 0, outcome: succeeded(LARGE) };
    const applied = passOn(full, { effects: [settled(attempt)] });
    expect(applied.pages).toEqual([]);
    expect(applied.updatedInLog).toMatchObject([
      { step: 0, fence: 0, outcome: { output: { kind: "row" } }, counted: { policy: 1 } },
    ]);
    expect(applied.payloads).toMatchObject([{ fence: 0, what: "output", payload: json(LARGE) }]);
  });

  test("an attempt that ends and is settled in one pass is there once", () => {
    const effects = [
      ended({ outcome: UNKNOWN, digest: null }),
      settled({ outcome: succeeded("1") }),
    ];
    const { attempts } = stepIn(afterPass(pageOf(leasedStep()), { steps: [DONE], effects }));
    expect(attempts).toMatchObject([{ outcome: succeeded("1"), counted: { policy: 1 } }]);
  });
});

describe("a pass that was decided on something else is refused", () => {
  const refused = (page: PageStep, seen: Step) => () =>
    passOn(pageOf(page), { seen: [seen], steps: [DONE] });

  test("another hand-out holds the task", () => {
    const seen = stepOf({ forward: leaseFor({ secret: "0ther" }) });
    expect(refused(leasedStep(), seen)).toThrow(
      `step 0 is leased for perform 1 under ${SECRET}, and a pass that expects leased for perform 1 under 0ther is written`,
    );
  });

  test("it was handed out meanwhile", () => {
    expect(refused(leasedStep(), readyStep().step)).toThrow(
      "a pass that expects ready for perform 1, attempt 1",
    );
  });

  test("it waits for something else, or has ended", () => {
    const waits = stepOf({ forward: { kind: "WAITING", on: "signal", wakeAt: START } });
    expect(refused({ ...readyStep(), step: waits }, readyStep().step)).toThrow(
      "step 0 is waiting for signal",
    );
    expect(refused({ ...readyStep(), step: DONE }, readyStep().step)).toThrow(
      "step 0 is SUCCEEDED, NONE",
    );
  });

  test("a task whose times alone have moved is the same one", () => {
    const seen = stepOf({ forward: leaseFor({ progressAt: START + 9, wakeAt: START + 9 }) });
    expect(refused(leasedStep(), seen)).not.toThrow();
  });
});

describe("the head", () => {
  const COMPLETED = { kind: "COMPLETED", reason: "DONE" } as const;

  test("the run is as the pass leaves it, and has ended when it ends", () => {
    const run = { ...RUN, state: COMPLETED, version: 2 };
    expect(afterPass(pageOf(), { run, endedAt: START + 5 }).head).toMatchObject({
      run,
      endedAt: START + 5,
    });
  });

  test("the note of its cancel is stored, and a later pass leaves it", () => {
    const note: Effect = { kind: "command-noted", command: "cancel", note: "enough" };
    const cancelled = afterPass(pageOf(), { effects: [note] });
    expect(cancelled.head?.cancelNote).toBe("enough");
    const later = afterPass(cancelled, { run: { ...RUN, version: 2 } });
    expect(later.head).toMatchObject({ cancelNote: "enough", run: { version: 2 } });
  });

  test("notes of other commands are no state of the run", () => {
    const note: Effect = { kind: "command-noted", command: "pause", note: "wait" };
    expect(passOn(pageOf(), { effects: [note] }).pages).toEqual([]);
  });

  test("a run that has ended stays as it ended, and is asked one more question", () => {
    const endedRun = { ...RUN, state: COMPLETED, version: 5, escalations: 2 };
    const page = { ...pageOf(), head: headOf({ run: endedRun, endedAt: START + 5 }) };
    const asked: Effect = {
      kind: "escalated",
      id: "s",
      step: 0,
      n: 3,
      reason: "doubled",
      code: "",
      message: "twice",
      wakeAt: START,
      deadlineAt: null,
    };
    const run = { ...endedRun, version: 6, asking: 1, escalations: 3 };
    const { head } = afterPass(page, { run, effects: [asked] });
    expect(head).toEqual(headOf({ run: { ...endedRun, escalations: 3 }, endedAt: START + 5 }));
  });
});
