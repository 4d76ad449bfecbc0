import { describe, expect, test } from "vitest";
import { BROKEN_BEGINNINGS } from "./broken-beginnings.ts";
import { BROKEN_CALLS } from "./broken-calls.ts";
import { BROKEN_EFFECTS } from "./broken-effects.ts";
import { BROKEN_FAMILIES } from "./broken-families.ts";
import { BROKEN_PEOPLE } from "./broken-people.ts";
import { BROKEN_RERUNS } from "./broken-reruns.ts";
import { BROKEN_ROWS } from "./broken-rows.ts";
import { BROKEN_SCHEDULES } from "./broken-schedules.ts";
import { BROKEN_SLOTS } from "./broken-slots.ts";
import { BROKEN_WATCHING } from "./broken-watching.ts";
import { BROKEN_WEBHOOKS } from "./broken-webhooks.ts";
import { checkHistory } from "./checker/check-history.ts";
import { boundsFor, PROMISE_NAMES } from "./checker/violation.ts";
import { addFault, callsWith, type Mutable, must, refuse, runOf, waitLonger } from "./damage.ts";
import { createStory, failure, goodHistory } from "./good-history.ts";
import { peopleHistory } from "./good-history-people.ts";
import { rerunsHistory } from "./good-history-reruns.ts";
import { schedulesHistory } from "./good-history-schedules.ts";
import { slotsHistory } from "./good-history-slots.ts";
import { webhooksHistory } from "./good-history-webhooks.ts";
import { type History, historyOf, historyText } from "./history.ts";
import type { LostTail } from "./history-words.ts";

const BROKEN_HISTORIES = [
  ...[
    BROKEN_BEGINNINGS,
    BROKEN_CALLS,
    BROKEN_EFFECTS,
    BROKEN_FAMILIES,
    BROKEN_ROWS,
    BROKEN_WATCHING,
  ].flatMap((all) => all.map((broken) => ({ ...broken, good: goodHistory }))),
  ...BROKEN_PEOPLE.map((broken) => ({ ...broken, good: peopleHistory })),
  ...BROKEN_SCHEDULES.map((broken) => ({ ...broken, good: schedulesHistory })),
  ...BROKEN_SLOTS.map((broken) => ({ ...broken, good: slotsHistory })),
  ...BROKEN_WEBHOOKS.map((broken) => ({ ...broken, good: webhooksHistory })),
  ...BROKEN_RERUNS.map((broken) => ({ ...broken, good: rerunsHistory })),
];

function changed(
  change: (history: Mutable<History>) => void,
  good: () => History = goodHistory,
): History {
  const history = structuredClone(good()) as Mutable<History>;
  change(history);
  return history as History;
}

function brokenPromises(history: History): readonly string[] {
  return [...new Set(checkHistory(history).map(({ promise }) => promise))].sort();
}

describe("the checker", () => {
  test("finds nothing in a history as it should be", () => {
    expect(checkHistory(goodHistory())).toEqual([]);
    expect(checkHistory(peopleHistory())).toEqual([]);
    expect(checkHistory(slotsHistory())).toEqual([]);
    expect(checkHistory(rerunsHistory())).toEqual([]);
    expect(checkHistory(webhooksHistory())).toEqual([]);
    expect(checkHistory(schedulesHistory())).toEqual([]);
  });

  test("judges a history that was written to a file and read again as it judged it before", () => {
    expect(historyOf(historyText(goodHistory()))).toEqual(goodHistory());
  });

  test("has at least one broken history for each promise", () => {
    const broken = new Set(BROKEN_HISTORIES.map(({ promise }) => promise));
    expect(PROMISE_NAMES.filter((promise) => !broken.has(promise))).toEqual([]);
  });

  describe.each(PROMISE_NAMES)("refuses what breaks %s", (name) => {
    test.each(BROKEN_HISTORIES.filter(({ promise }) => promise === name))(
      "$what",
      ({ promise, break: damage, says, also, good }) => {
        const history = changed(damage, good);
        expect(brokenPromises(history)).toEqual([promise, ...(also ?? [])].sort());
        const sentences = checkHistory(history).filter((found) => found.promise === promise);
        expect(sentences.map(({ text }) => text).join("\n")).toMatch(says);
      },
    );
  });
});

/** Before anything else, so that it is near nothing. */
function afterALoss(history: History, lost: Partial<LostTail>): History {
  const nothing = { tables: [], runs: [], told: [], sessions: [], partitions: [] };
  const at = (history.records[0]?.at ?? 0) - 1_000_000;
  const fault = {
    ...({ kind: "store", did: "tail-lost" } as const),
    lost: { ...nothing, concurrencyKeys: [], ...lost },
  };
  const common = { kind: "fault", process: "driver", target: "store", server: false } as const;
  return { ...history, records: [{ ...common, at, fault }, ...history.records] };
}

describe("the checker after a fail-over that lost the last transactions", () => {
  test.each(BROKEN_HISTORIES)(
    "refuses all the same, of what was not lost: $promise, $what",
    ({ promise, break: damage, also, good }) => {
      const history = afterALoss(changed(damage, good), {});
      expect(brokenPromises(history)).toEqual([promise, ...(also ?? [])].sort());
    },
  );

  /** What is about all of the store, whatever it has lost. */
  const WHOLE = ["G7", "G10", "G14"];

  test.each(PROMISE_NAMES)("is silent about runs of which something was lost: %s", (name) => {
    for (const { promise, break: damage, good } of BROKEN_HISTORIES) {
      if (promise !== name) continue;
      const history = changed(damage, good);
      const found = checkHistory(history).filter((one) => one.promise === name);
      const runs = found.flatMap(({ runId }) => runId ?? []);
      const after = checkHistory(afterALoss(history, { runs, told: runs }));
      const left = after.filter((one) => one.promise === name && one.runId !== null);
      const isAlways = WHOLE.includes(name) || found.some(({ text }) => /one token/.test(text));
      expect(left.length > 0).toBe(isAlways && runs.length > 0);
    }
  });

  test("is silent about no run where a schedule, a take-over or a registration was lost", () => {
    const silent = { G1: "workflow", G2: "idempotency", G8: "schedule", G9: "partition_lease" };
    for (const [promise, table] of Object.entries({ ...silent, G15: "fire", G16: "schedule" }))
      for (const { break: damage, good, ...broken } of BROKEN_HISTORIES) {
        if (broken.promise !== promise) continue;
        const after = checkHistory(afterALoss(changed(damage, good), { tables: [table] }));
        expect(after.filter((one) => one.promise === promise && one.runId === null)).toEqual([]);
      }
  });

  test("takes a version whose number was given out again for what either registration said", () => {
    const broken = must(
      BROKEN_CALLS.find(({ what }) => what.startsWith("a run is of another version")),
      "history of another version",
    );
    const history = (isAsked: boolean): History =>
      changed((copy) => {
        broken.break(copy);
        const call = must(callsWith(copy, "RegisterWorkflow")[0], "RegisterWorkflow");
        const unheard = { ...structuredClone(call), call: 9_000 };
        if (unheard.request.rpc === "RegisterWorkflow")
          unheard.request.definition.timeoutMs = 90_000;
        if (isAsked) copy.records.push(unheard);
      });
    const lost = { tables: ["workflow"] };
    expect(brokenPromises(history(true))).toContain("G1");
    expect(brokenPromises(afterALoss(history(false), lost))).toContain("G1");
    expect(checkHistory(afterALoss(history(true), lost))).toEqual([]);
  });

  test("is silent about the runs of a moment one of which was lost", () => {
    const broken = must(
      BROKEN_SCHEDULES.find(({ what }) => what === "a moment has two runs"),
      "history of two runs",
    );
    const g2 = (lost: Partial<LostTail>) =>
      checkHistory(afterALoss(changed(broken.break, schedulesHistory), lost)).filter(
        ({ promise, text }) => promise === "G2" && text.startsWith("moment"),
      );
    expect(g2({ runs: ["q1"] })).toEqual([]);
    expect(g2({ runs: ["q2"] })).toHaveLength(1);
  });

  test("is silent about what is held back where a pause, a cordon or a circuit was lost", () => {
    for (const { promise, break: damage, good } of BROKEN_HISTORIES) {
      if (promise !== "G16") continue;
      const after = checkHistory(afterALoss(changed(damage, good), { tables: ["queue"] }));
      expect(after.filter((one) => one.promise === "G16")).toEqual([]);
    }
  });
});

/** An undo of "hotel" is lost, and the next one waits for 5 s, while an agent polls. */
function undoLostHistory(isLeftToItsRun: boolean): History {
  const story = createStory();
  story.schedule("clerk-b", { runId: "r6", namespace: "blue", key: null });
  for (const step of [0, 1]) {
    story.poll("agent-2", "r6", step);
    story.complete("agent-2", "r6", step, { kind: "success" });
  }
  story.poll("agent-2", "r6", 2);
  story.complete("agent-2", "r6", 2, failure("permanent", "no-address"));
  story.stop("r6", "STEP_FAILED");
  story.poll("agent-1", "r6", 1, "compensate");
  story.lose("r6", 1);
  story.wait(5_000);
  story.poll("agent-2", "r6", 1, "compensate");
  story.complete("agent-2", "r6", 1, { kind: "success" });
  return changed(
    (history) => {
      const poll = must(callsWith(history, "PollTask").at(-1), "last poll");
      poll.at -= 5_000;
      // The story knows no undo that is lost.
      must(runOf(history, "r6").steps[1], "hotel").forward = { kind: "SUCCEEDED" };
      const [lost] = runOf(history, "r6").interventions;
      const settled = { ...must(lost, "loss"), rule: "settle" as const, step: null };
      if (isLeftToItsRun) runOf(history, "r6").interventions.push(settled);
    },
    () => story.history(),
  );
}

/** "flight" is undone when it has failed, and once more when its run stops, after "hotel". */
function undoneTwiceHistory(saidToHaveSucceeded: boolean): History {
  const story = createStory();
  const last = failure("permanent", "no-seat");
  story.schedule("clerk-b", { runId: "r7", namespace: "blue", key: null });
  story.poll("agent-2", "r7", 0);
  story.complete("agent-2", "r7", 0, last);
  story.poll("agent-2", "r7", 0, "compensate");
  story.complete("agent-2", "r7", 0, { kind: "success" });
  story.ask("r7", 0);
  story.wait(1_000);
  story.poll("agent-2", "r7", 1);
  story.complete("agent-2", "r7", 1, last);
  story.poll("agent-2", "r7", 0, "compensate");
  story.complete("agent-2", "r7", 0, { kind: "success" });
  return changed(
    (history) => {
      const { steps, escalations } = runOf(history, "r7");
      must(steps[0], "flight").forward = { kind: "SUCCEEDED" };
      const question = must(escalations[0], "question");
      const answer = { answer: "succeed", by: "clerk-b", why: "" } as const;
      if (saidToHaveSucceeded) Object.assign(question, { closedAt: question.openedAt, answer });
    },
    () => story.history(),
  );
}

describe("the checker is silent where nothing is proven", () => {
  test("a supervisor that was killed has 3 s until its partitions are watched again", () => {
    const late = (ms: number): History =>
      changed((history) => {
        const act = must(runOf(history, "r1").interventions[0], "intervention");
        addFault(history, { at: act.dueAt + 100, fault: { kind: "process", did: "crash" } });
        act.actedAt = act.dueAt + 100 + ms;
      });
    const bounds = { ...boundsFor("processes"), detectShare: 1 };
    expect(checkHistory(late(3_000), bounds)).toEqual([]);
    expect(checkHistory(late(3_001), bounds).map(({ promise }) => promise)).toEqual(["G8"]);
  });

  test("a supervisor that is told to stop while it stands still is away until another one begins", () => {
    const late = (ms: number): History =>
      changed((history) => {
        const act = must(runOf(history, "r1").interventions[0], "intervention");
        const did = (at: number, what: "pause" | "stop" | "start") =>
          addFault(history, { at: act.dueAt + at, fault: { kind: "process", did: what } });
        did(100, "pause");
        did(200, "stop");
        did(9_000, "start");
        act.actedAt = act.dueAt + ms;
      });
    const bounds = { ...boundsFor("processes"), detectShare: 1 };
    const g8 = (history: History): readonly unknown[] =>
      checkHistory(history, bounds).filter(({ promise }) => promise === "G8");
    expect(g8(late(14_000))).toEqual([]);
    expect(g8(late(14_001))).toHaveLength(1);
  });

  test("a moment that was written before the clock went back comes as much later, and no more", () => {
    const late = (backMs: number, ms: number, jumpedMsBefore = 100): History =>
      changed((history) => {
        const act = must(runOf(history, "r1").interventions[0], "intervention");
        const fault = { kind: "clock", did: "jump", byMs: -backMs } as const;
        addFault(history, { at: act.dueAt - jumpedMsBefore, fault });
        act.actedAt = act.dueAt + ms;
      });
    const bounds = { ...boundsFor("processes"), detectShare: 1 };
    const g8 = (history: History): readonly unknown[] =>
      checkHistory(history, bounds).filter(({ promise }) => promise === "G8");
    expect(g8(late(8_000, 9_000))).toEqual([]);
    expect(g8(late(8_000, 9_001))).toHaveLength(1);
    expect(g8(late(8_000, 1_001, 37_000))).toEqual([]);
    expect(g8(late(8_000, 1_001, 38_001))).toHaveLength(1);
  });

  test("on a busy machine one moment in a hundred may be met late", () => {
    const history = changed((copy) => {
      must(runOf(copy, "r1").interventions[0], "intervention").actedAt += 1_500;
    });
    const bounds = { ...boundsFor("processes"), detectShare: 0.5 };
    expect(checkHistory(history, bounds)).toEqual([]);
  });

  test("a waiter may miss ready work while a server is paused", () => {
    const history = changed((copy) => {
      const at = waitLonger(copy);
      addFault(copy, { at, fault: { kind: "process", did: "pause" } });
    });
    expect(checkHistory(history)).toEqual([]);
  });

  test("a call that a fault has doubled may have been taken, though its caller heard of no room", () => {
    const refused = { kind: "refused", code: "RESOURCE_EXHAUSTED", reason: "OVERLOADED" } as const;
    const history = (isDoubled: boolean): History =>
      changed((copy) => {
        const call = must(callsWith(copy, "Complete").at(-1), "last report");
        for (const record of copy.records)
          if (record.kind === "answer" && record.call === call.call) record.answer = refused;
        const fault = { kind: "network", did: "repeated" } as const;
        if (isDoubled) addFault(copy, { at: call.at, fault });
      });
    expect(brokenPromises(history(false))).toEqual(["G13"]);
    expect(checkHistory(history(true))).toEqual([]);
  });

  const doubled = { kind: "network", did: "repeated" } as const;

  test("a copy of a report may have been taken, though the server failed at the report", () => {
    const history = (isDoubled: boolean): History =>
      changed((copy) => {
        const call = must(callsWith(copy, "Complete").at(-1), "last report");
        const failed = { kind: "refused", reason: "INTERNAL" } as const;
        for (const record of copy.records)
          if (record.kind === "answer" && record.call === call.call)
            record.answer = { kind: "completed", answers: [failed], tasks: [] };
        if (isDoubled) addFault(copy, { at: call.at, fault: doubled });
      });
    expect(brokenPromises(history(false))).toEqual(["G13"]);
    expect(checkHistory(history(true))).toEqual([]);
  });

  test("a copy of a Schedule may have found the workflow that was not there at first", () => {
    const history = (reason: string, isDoubled: boolean): History =>
      changed((copy) => {
        refuse(copy, "Schedule", "r3", reason);
        const call = callsWith(copy, "Schedule").find(
          ({ request }) => "mark" in request && request.mark === "order r3",
        );
        if (isDoubled) addFault(copy, { at: must(call, "Schedule").at, fault: doubled });
      });
    expect(brokenPromises(history("WORKFLOW_NOT_FOUND", false))).toEqual(["G13"]);
    expect(checkHistory(history("WORKFLOW_NOT_FOUND", true))).toEqual([]);
    expect(brokenPromises(history("INVALID_DEFINITION", true))).toEqual(["G13"]);
  });

  test("an undo that was lost while its run stopped follows in the run's own order", () => {
    const g15 = (isLeft: boolean) =>
      checkHistory(undoLostHistory(isLeft)).filter(({ promise }) => promise === "G15");
    expect(g15(false)).toHaveLength(1);
    expect(g15(true)).toEqual([]);
  });

  test("what was undone before a person said that the step has succeeded was of a strategy", () => {
    const g11 = (isSaid: boolean) =>
      checkHistory(undoneTwiceHistory(isSaid)).filter(({ text }) => /may act until/.test(text));
    expect(g11(false).map(({ promise }) => promise)).toEqual(["G11"]);
    expect(g11(true)).toEqual([]);
  });

  test("a call without an answer may have taken effect or not", () => {
    const history = changed((copy) => {
      for (const record of copy.records)
        if (record.kind === "answer" && record.answer.kind === "completed")
          record.answer = { kind: "unknown", code: "UNAVAILABLE" };
    });
    expect(checkHistory(history)).toEqual([]);
  });
});

describe("no row can be taken away, doubled or moved unnoticed", () => {
  const good = goodHistory();
  const rows = good.final.runs.flatMap(({ runId, attempts }) =>
    attempts.map((row, place) => ({ ...row, runId, place })),
  );

  test.each(rows)("$kind fence $fence of step $step of $runId", ({ runId, place, kind }) => {
    const gone = changed((copy) => runOf(copy, runId).attempts.splice(place, 1));
    expect(checkHistory(gone)).not.toEqual([]);
    const earlier = changed((copy) => {
      must(runOf(copy, runId).attempts[place], "row").startedAt = 0;
    });
    const doubled = changed((copy) => {
      const { attempts } = runOf(copy, runId);
      attempts.push(structuredClone(must(attempts[place], "row")));
    });
    // Evidence changes no state, so neither its number nor its time matters.
    if (kind === "late") return;
    expect(checkHistory(doubled)).not.toEqual([]);
    expect(checkHistory(earlier)).not.toEqual([]);
  });

  test.each(good.final.runs)("run $runId", ({ runId }) => {
    const gone = changed((copy) => {
      copy.final.runs = copy.final.runs.filter((run) => run.runId !== runId);
    });
    expect(brokenPromises(gone)).toContain("G1");
  });
});
