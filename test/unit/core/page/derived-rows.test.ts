/** What is stored beside a page so that it can be found: computed from the page alone. */
import { describe, expect, test } from "vitest";
import type { Run } from "../../../../server/core/model/model.ts";
import {
  derivedChanges,
  derivedRows,
  storedWakeAt,
  timersOf,
  wakeAtOf,
} from "../../../../server/core/page/derived-rows.ts";
import type { Page, PageStep } from "../../../../server/core/page/page.ts";
import { START } from "../../../support/core-world.ts";
import {
  afterPass,
  headOf,
  LANE,
  leasedStep,
  leaseFor,
  pageOf,
  pageStepOf,
  RUN,
  readyFor,
  readyStep,
  SESSION,
  stepOf,
  TERMS,
} from "../../../support/hand-made-pages.ts";

const DEADLINE = START + 1_000_000;

function inState(state: Run["state"], ...steps: readonly PageStep[]): Page {
  return { ...pageOf(...steps), head: headOf({ run: { ...RUN, state } }) };
}

describe("the rows of a page", () => {
  test("a READY step has a ready row, in the lane of its task", () => {
    const { ready, leases } = derivedRows(pageOf(readyStep()));
    expect(ready).toMatchObject([{ step: 0, terms: { lane: LANE }, ready: { fence: 1 } }]);
    expect(leases).toEqual([]);
  });

  test("a LEASED step has a lease row, of its session and its lane", () => {
    const { ready, leases } = derivedRows(pageOf(leasedStep()));
    expect(leases).toMatchObject([{ step: 0, terms: { lane: LANE }, lease: { session: SESSION } }]);
    expect(ready).toEqual([]);
  });

  test("an undo has its rows as any other task", () => {
    const undo = readyFor({ task: "compensate", fence: 2 });
    const step = pageStepOf({ forward: { kind: "SUCCEEDED" }, undo }, { terms: TERMS });
    expect(derivedRows(pageOf(step)).ready).toMatchObject([{ ready: { task: "compensate" } }]);
  });

  test("a step that is HELD, waits or has ended has none", () => {
    const page = pageOf(
      pageStepOf({ no: 0, forward: { kind: "HELD", task: "perform" } }),
      pageStepOf({ no: 1, forward: { kind: "WAITING", on: "signal", wakeAt: START } }),
      pageStepOf({
        no: 2,
        forward: { kind: "BACKOFF", task: "perform", cause: "retry", wakeAt: START },
      }),
      pageStepOf({ no: 3, forward: { kind: "SUCCEEDED" } }),
    );
    expect(derivedRows(page)).toMatchObject({ ready: [], leases: [] });
  });

  test("a task without terms is refused", () => {
    expect(() => derivedRows(pageOf(pageStepOf({ no: 4, forward: readyFor() })))).toThrow(
      "step 4 has a task, and its terms are missing",
    );
  });
});

describe("from one version of a page to the next", () => {
  const NOTHING = {
    readyGone: [],
    readyNew: [],
    readyMoved: [],
    leasesGone: [],
    leasesNew: [],
    leasesCancelled: [],
  };
  const ready = pageOf(readyStep());
  const leased = pageOf(leasedStep());
  const withStep = (more: Parameters<typeof readyFor>[0]) =>
    afterPass(ready, { steps: [stepOf({ forward: readyFor(more) })] });

  test("a page that is new has all of its rows as new ones", () => {
    expect(derivedChanges(null, ready)).toMatchObject({ ...NOTHING, readyNew: [{ step: 0 }] });
    expect(derivedChanges(null, leased)).toMatchObject({ ...NOTHING, leasesNew: [{ step: 0 }] });
  });

  test("a task that is handed out is ready no more, and leased", () => {
    expect(derivedChanges(ready, leased)).toMatchObject({
      ...NOTHING,
      readyGone: [{ step: 0 }],
      leasesNew: [{ step: 0 }],
    });
  });

  test("a lease that ends with the next task has both changes", () => {
    const after = afterPass(leased, { steps: [stepOf({ forward: readyFor({ fence: 2 }) })] });
    expect(derivedChanges(leased, after)).toMatchObject({
      ...NOTHING,
      leasesGone: [{ lease: { fence: 1 } }],
      readyNew: [{ ready: { fence: 2 } }],
    });
  });

  test("a lease of which a heartbeat reports something new stays the row that it is", () => {
    const after = afterPass(leased, {
      steps: [stepOf({ forward: leaseFor({ progressAt: START + 5 }) })],
    });
    expect(derivedChanges(leased, after)).toEqual(NOTHING);
  });

  test("a lease that is to be cancelled is marked so in its row, and whether its agent knows", () => {
    const asked = { kind: "asked", cause: "run", at: START } as const;
    const noticed = { kind: "received", cause: "run", by: START + 9 } as const;
    const first = afterPass(leased, { steps: [stepOf({ forward: leaseFor({ cancel: asked }) })] });
    const then = afterPass(first, { steps: [stepOf({ forward: leaseFor({ cancel: noticed }) })] });
    expect(derivedChanges(leased, first)).toMatchObject({
      ...NOTHING,
      leasesCancelled: [{ step: 0 }],
    });
    expect(derivedChanges(first, then)).toMatchObject({
      ...NOTHING,
      leasesCancelled: [{ lease: { cancel: noticed } }],
    });
  });

  test("a task of the same fence that is handed out again has another lease", () => {
    const other = pageOf(leasedStep({ secret: "0ddba11".repeat(4) }));
    expect(derivedChanges(leased, other)).toMatchObject({
      ...NOTHING,
      leasesGone: [{ step: 0 }],
      leasesNew: [{ step: 0 }],
    });
  });

  test("where only the time for which a ready task may run has moved, its row keeps its position", () => {
    const after = withStep({ until: START + 9_000 });
    expect(derivedChanges(ready, after)).toMatchObject({
      ...NOTHING,
      readyMoved: [{ ready: { until: START + 9_000 } }],
    });
  });

  test("a ready task that was checked in vain keeps its row as it is", () => {
    const after = withStep({ alarms: 1, wakeAt: START + 600_000 });
    expect(derivedChanges(ready, after)).toEqual(NOTHING);
  });

  test("a task that a pause and a resume have made ready anew has a new row: it waits again", () => {
    const after = withStep({ readyAt: START + 1 });
    expect(derivedChanges(ready, after)).toMatchObject({
      ...NOTHING,
      readyGone: [{ step: 0 }],
      readyNew: [{ step: 0 }],
    });
  });

  test("a task that another session than the last should get has a new row", () => {
    const after = withStep({ avoid: { session: SESSION, until: START + 2_000 } });
    expect(derivedChanges(ready, after)).toMatchObject({
      ...NOTHING,
      readyGone: [{ step: 0 }],
      readyNew: [{ step: 0 }],
    });
  });

  test("a fallback moves the task to the lane of its own strategy", () => {
    const none = { changed: false, effectStatus: "NONE" } as const;
    const fallen = stepOf({
      forward: readyFor(),
      strategies: [
        { planned: 0, ...none },
        { planned: 1, ...none },
      ],
    });
    const after = afterPass(ready, { steps: [fallen], lane: 8 });
    expect(derivedChanges(ready, after)).toMatchObject({
      ...NOTHING,
      readyGone: [{ terms: { lane: LANE } }],
      readyNew: [{ terms: { lane: 8 } }],
    });
  });

  test("a step that is the same changes nothing, whatever else of the page does", () => {
    const one = readyStep();
    const before = pageOf(one, leasedStep({}, 1));
    const after = pageOf(one, pageStepOf({ no: 1, forward: { kind: "SUCCEEDED" } }));
    expect(derivedChanges(before, after)).toMatchObject({ ...NOTHING, leasesGone: [{ step: 1 }] });
  });
});

describe("the timers of a page", () => {
  test("are the run's own, and one of each step that moves", () => {
    const page = pageOf(
      readyStep({ wakeAt: START + 1 }, 0),
      leasedStep({ wakeAt: START + 2, fence: 3 }, 1),
      pageStepOf({
        no: 2,
        forward: { kind: "BACKOFF", task: "perform", cause: "retry", wakeAt: START + 3 },
      }),
      pageStepOf({ no: 3, forward: { kind: "WAITING", on: "approval", wakeAt: START + 4 } }),
    );
    expect(timersOf(page)).toEqual([
      { kind: "run", step: -1, fence: 0, wakeAt: DEADLINE, lane: null },
      { kind: "ready", step: 0, fence: 1, wakeAt: START + 1, lane: LANE },
      { kind: "lease", step: 1, fence: 3, wakeAt: START + 2, lane: null },
      { kind: "backoff", step: 2, fence: 0, wakeAt: START + 3, lane: null },
      { kind: "approval", step: 3, fence: 0, wakeAt: START + 4, lane: null },
    ]);
    expect(wakeAtOf(page)).toBe(START + 1);
  });

  test("a step that is HELD has none: it becomes ready when its run is resumed", () => {
    const held = pageStepOf({ forward: { kind: "HELD", task: "perform" } });
    expect(
      timersOf(inState({ kind: "PAUSED", leftMs: 5, since: START, stopReason: null }, held)),
    ).toEqual([]);
  });

  test("a page of later steps has no timer of the run", () => {
    const page: Page = { no: 1, head: null, steps: new Map([[40, leasedStep({}, 40)]]) };
    expect(timersOf(page).map(({ kind }) => kind)).toEqual(["lease"]);
  });

  test("a run that has ended has none, whatever has been added to it since", () => {
    const ended = inState(
      { kind: "COMPLETED", reason: "DONE" },
      pageStepOf({ forward: { kind: "WAITING", on: "signal", wakeAt: START } }),
    );
    expect(timersOf(ended)).toEqual([]);
    expect(derivedRows(ended).wakeAt).toBeNull();
  });
});

describe("the stored wake-up may be too early and is never too late", () => {
  const page = pageOf(leasedStep({ wakeAt: START + 50 }));

  test("it is lowered at once", () => {
    expect(storedWakeAt(START + 51, page, START)).toBe(START + 50);
  });

  test("no write raises it while it is to come", () => {
    expect(storedWakeAt(START + 49, page, START)).toBe(START + 49);
  });

  test("a write raises it once it has come: a scan begins where the one before left nothing", () => {
    expect(storedWakeAt(START + 49, page, START + 49)).toBe(START + 50);
  });

  test("a page that has none yet gets that of its timers", () => {
    expect(storedWakeAt(null, page, START)).toBe(START + 50);
  });

  test("it goes with the last timer, as at the end of the run", () => {
    const ended = inState({ kind: "COMPLETED", reason: "DONE" });
    expect(storedWakeAt(START + 50, ended, START)).toBeNull();
  });
});
