import { describe, expect, test } from "vitest";
import { BROKEN_BEGINNINGS } from "./broken-beginnings.ts";
import { BROKEN_CALLS } from "./broken-calls.ts";
import { BROKEN_EFFECTS } from "./broken-effects.ts";
import { BROKEN_FAMILIES } from "./broken-families.ts";
import { BROKEN_PEOPLE } from "./broken-people.ts";
import { BROKEN_PERMITS } from "./broken-permits.ts";
import { BROKEN_RERUNS } from "./broken-reruns.ts";
import { BROKEN_ROWS } from "./broken-rows.ts";
import { BROKEN_SCHEDULES } from "./broken-schedules.ts";
import { BROKEN_WATCHING } from "./broken-watching.ts";
import { BROKEN_WEBHOOKS } from "./broken-webhooks.ts";
import { brokenPromises, changed } from "./changed-histories.ts";
import { checkHistory } from "./checker/check-history.ts";
import { PROMISE_NAMES } from "./checker/violation.ts";
import { addFault, callsWith, must, refuse, runOf } from "./damage.ts";
import { goodHistory } from "./good-history.ts";
import { peopleHistory } from "./good-history-people.ts";
import { permitsHistory } from "./good-history-permits.ts";
import { rerunsHistory } from "./good-history-reruns.ts";
import { schedulesHistory } from "./good-history-schedules.ts";
import { webhooksHistory } from "./good-history-webhooks.ts";
import { type History, historyOf, historyText } from "./history.ts";
import type { LostTail } from "./history-facts.ts";

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
  ...BROKEN_PERMITS.map((broken) => ({ ...broken, good: permitsHistory })),
  ...BROKEN_WEBHOOKS.map((broken) => ({ ...broken, good: webhooksHistory })),
  ...BROKEN_RERUNS.map((broken) => ({ ...broken, good: rerunsHistory })),
];

describe("the checker", () => {
  test("finds nothing in a history as it should be", () => {
    expect(checkHistory(goodHistory())).toEqual([]);
    expect(checkHistory(peopleHistory())).toEqual([]);
    expect(checkHistory(permitsHistory())).toEqual([]);
    expect(checkHistory(rerunsHistory())).toEqual([]);
    expect(checkHistory(webhooksHistory())).toEqual([]);
    expect(checkHistory(schedulesHistory())).toEqual([]);
  });

  test("evaluates a history that was written to a file and read again with the same result", () => {
    expect(historyOf(historyText(goodHistory()))).toEqual(goodHistory());
  });

  test("has at least one broken history for each promise", () => {
    const broken = new Set(BROKEN_HISTORIES.map(({ promise }) => promise));
    expect(PROMISE_NAMES.filter((promise) => !broken.has(promise))).toEqual([]);
  });

  describe.each(PROMISE_NAMES)("refuses what breaks %s", (name) => {
    test.each(BROKEN_HISTORIES.filter(({ promise }) => promise === name))(
      "$what",
      ({ promise, break: damage, message, also, good }) => {
        const history = changed(damage, good);
        expect(brokenPromises(history)).toEqual([promise, ...(also ?? [])].sort());
        const sentences = checkHistory(history).filter((found) => found.promise === promise);
        expect(sentences.map(({ text }) => text).join("\n")).toMatch(message);
      },
    );
  });
});

/** Before anything else, so that it is near nothing. */
function afterALoss(history: History, lost: Partial<LostTail>): History {
  const nothing = { tables: [], runs: [], allRuns: [], sessions: [], partitions: [] };
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

  /** Violations about the whole store, whatever it has lost. */
  const WHOLE = ["G7", "G10", "G14"];

  test.each(PROMISE_NAMES)("is silent about runs of which something was lost: %s", (name) => {
    for (const { promise, break: damage, good } of BROKEN_HISTORIES) {
      if (promise !== name) continue;
      const history = changed(damage, good);
      const found = checkHistory(history).filter((one) => one.promise === name);
      const runs = found.flatMap(({ runId }) => runId ?? []);
      const after = checkHistory(afterALoss(history, { runs, allRuns: runs }));
      const left = after.filter((one) => one.promise === name && one.runId !== null);
      const isAlways = WHOLE.includes(name) || found.some(({ text }) => /one token/.test(text));
      expect(left.length > 0).toBe(isAlways && runs.length > 0);
    }
  });

  test("is silent about no run where a schedule, a take-over or a registration was lost", () => {
    const silent = { G1: "workflow", G2: "idempotency", G8: "schedule", G9: "partition_lease" };
    for (const [promise, table] of Object.entries({
      ...silent,
      G15: "occurrence",
      G16: "schedule",
    }))
      for (const { break: damage, good, ...broken } of BROKEN_HISTORIES) {
        if (broken.promise !== promise) continue;
        const after = checkHistory(afterALoss(changed(damage, good), { tables: [table] }));
        expect(after.filter((one) => one.promise === promise && one.runId === null)).toEqual([]);
      }
  });

  test("takes a version whose number was given out again for what either registration had", () => {
    const broken = must(
      BROKEN_CALLS.find(({ what }) => what.startsWith("a run is of another version")),
      "history of another version",
    );
    const history = (isAsked: boolean): History =>
      changed((copy) => {
        broken.break(copy);
        const call = must(callsWith(copy, "RegisterWorkflow")[0], "RegisterWorkflow");
        const unanswered = { ...structuredClone(call), call: 9_000 };
        if (unanswered.request.rpc === "RegisterWorkflow")
          unanswered.request.definition.timeoutMs = 90_000;
        if (isAsked) copy.records.push(unanswered);
      });
    const lost = { tables: ["workflow"] };
    expect(brokenPromises(history(true))).toContain("G1");
    expect(brokenPromises(afterALoss(history(false), lost))).toContain("G1");
    expect(checkHistory(afterALoss(history(true), lost))).toEqual([]);
  });

  test("lets a run have a key that its shard has lost, though no call was answered with it", () => {
    const history = changed((copy) => {
      const key = must(
        copy.final.keys.find(({ runId }) => runId === "r2"),
        "key of r2",
      );
      copy.final.keys.push({ ...key, runId: "r3" });
    });
    expect(brokenPromises(history)).toEqual(["G2"]);
    expect(brokenPromises(afterALoss(history, { keys: ["another"] }))).toEqual(["G2"]);
    expect(checkHistory(afterALoss(history, { keys: ["k2"] }))).toEqual([]);
  });

  test("takes a copy of a Schedule for accepted, where the run that had its key is lost", () => {
    const history = (isDoubled: boolean): History =>
      changed((copy) => {
        refuse(copy, "Schedule", "r3", "KEY_REUSED");
        const call = callsWith(copy, "Schedule").find(
          ({ request }) => "mark" in request && request.mark === "order r3",
        );
        const fault = { kind: "network", did: "repeated" } as const;
        if (isDoubled) addFault(copy, { at: must(call, "Schedule").at, fault });
      });
    const lost = { tables: ["idempotency"] };
    expect(brokenPromises(history(true))).toContain("G13");
    expect(brokenPromises(afterALoss(history(false), lost))).toContain("G13");
    expect(brokenPromises(afterALoss(history(true), lost))).not.toContain("G13");
  });

  test("is silent about the runs of an occurrence one of which was lost", () => {
    const broken = must(
      BROKEN_SCHEDULES.find(({ what }) => what === "an occurrence has two runs"),
      "history of two runs",
    );
    const g2 = (lost: Partial<LostTail>) =>
      checkHistory(afterALoss(changed(broken.break, schedulesHistory), lost)).filter(
        ({ promise, text }) => promise === "G2" && text.startsWith("occurrence"),
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

describe("no row can be taken away, doubled or moved unnoticed", () => {
  const good = goodHistory();
  const rows = good.final.runs.flatMap(({ runId, attempts }) =>
    attempts.map((row, index) => ({ ...row, runId, index })),
  );

  test.each(rows)("$kind fence $fence of step $step of $runId", ({ runId, index, kind }) => {
    const gone = changed((copy) => runOf(copy, runId).attempts.splice(index, 1));
    expect(checkHistory(gone)).not.toEqual([]);
    const earlier = changed((copy) => {
      must(runOf(copy, runId).attempts[index], "row").startedAt = 0;
    });
    const doubled = changed((copy) => {
      const { attempts } = runOf(copy, runId);
      attempts.push(structuredClone(must(attempts[index], "row")));
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
