// Histories in which the checker finds no violation, each beside a similar one in which it does.
import { describe, expect, test } from "vitest";
import { brokenPromises, changed } from "./changed-histories.ts";
import { checkHistory } from "./checker/check-history.ts";
import { boundsFor } from "./checker/violation.ts";
import {
  type Asked,
  addFault,
  callsWith,
  must,
  own,
  refuse,
  rowOf,
  runFault,
  runOf,
  tasksSeen,
  waitLonger,
} from "./damage.ts";
import { createStory, failure } from "./good-history.ts";
import { peopleHistory } from "./good-history-people.ts";
import { schedulesHistory } from "./good-history-schedules.ts";
import type { History } from "./history.ts";

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
      // The good history has no lost undo.
      must(runOf(history, "r6").steps[1], "hotel").forward = { kind: "SUCCEEDED" };
      const [lost] = runOf(history, "r6").interventions;
      const settled = { ...must(lost, "loss"), rule: "settle" as const, step: null };
      if (isLeftToItsRun) runOf(history, "r6").interventions.push(settled);
    },
    () => story.history(),
  );
}

/** "flight" is undone when it has failed, and once more when its run stops, after "hotel". */
function undoneTwiceHistory(resolvedAsSucceeded: boolean): History {
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
      const { steps, escalations, attempts } = runOf(history, "r7");
      // The good history numbers all tries of a step in sequence; an undo starts at 1.
      for (const undo of attempts.filter(({ kind }) => kind === "compensate")) undo.attempt = 1;
      must(steps[0], "flight").forward = { kind: "SUCCEEDED" };
      const question = must(escalations[0], "question");
      const answer = { answer: "succeed", by: "clerk-b", why: "" } as const;
      if (resolvedAsSucceeded) Object.assign(question, { closedAt: question.openedAt, answer });
    },
    () => story.history(),
  );
}

/** A task of a run has a time so long before the call that resumed its run. */
function runResumed(beforeMs: number): History {
  return changed((history) => {
    const { at } = must(callsWith(history, "ResumeRun")[0], "ResumeRun");
    rowOf(history, "p1", 1, 2).startedAt = at - beforeMs;
  }, peopleHistory);
}

/** The first task of a namespace has a time so long before the call that resumed the namespace. */
function namespaceResumed(beforeMs: number): History {
  return changed((history) => {
    const runs = history.final.runs.filter(({ namespace }) => namespace === "blue");
    const starts = runs.flatMap(({ attempts }) => attempts.map(({ startedAt }) => startedAt));
    const at = Math.min(...starts);
    const about = { namespace: "blue", held: { what: "namespace", name: "blue" } } as const;
    const answer = { kind: "done", run: null, repeated: false } as const;
    const paused = { at: at - 1, process: "holder", call: 900 };
    const resumed = { at: at + beforeMs, process: "holder", call: 901 };
    history.records.unshift(
      { kind: "call", server: "node-1", ...paused, request: { rpc: "Hold", ...about } },
      { kind: "answer", ...paused, answer, canaries: [] },
      { kind: "call", server: "node-1", ...resumed, request: { rpc: "LetGo", ...about } },
      { kind: "answer", ...resumed, answer, canaries: [] },
    );
  });
}

/** An occurrence has a time so long before the call that resumed its schedule. */
function scheduleResumed(beforeMs: number): History {
  return changed((history) => {
    const resume = callsWith(history, "ChangeSchedule").find(
      ({ request }) => "did" in request && request.did === "resume",
    );
    const [, , passed] = history.final.occurrences;
    const handledAt = must(resume, "resume").at - beforeMs;
    Object.assign(must(passed, "occurrence"), { outcome: "started", missed: null, handledAt });
  }, schedulesHistory);
}

/** What was not held back, where a transaction may last so long. */
function notHeldBack(history: History, transactionMs: number): readonly string[] {
  return checkHistory(history, { ...boundsFor("processes"), transactionMs }).flatMap(
    ({ promise, text }) => (promise === "G16" ? [text] : []),
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

  test("a supervisor asked to stop while suspended is away until another one begins", () => {
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

  test("a time that was written before the clock went back is as much later, and no more", () => {
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

  test("who took a partition after the clock went back may have taken it at an earlier time", () => {
    const swapped = (backMs: number): readonly unknown[] => {
      const history = changed((copy) => {
        const at = 5_000_000;
        own(copy, { at, node: "node-1", epoch: 9 });
        own(copy, { at: at + 500, node: "node-2", epoch: 8 });
        addFault(copy, { at, fault: { kind: "clock", did: "jump", byMs: -backMs } });
      });
      return checkHistory(history).filter(({ text }) => /with epoch 8, after epoch 9/.test(text));
    };
    expect(swapped(501)).toEqual([]);
    expect(swapped(500)).toHaveLength(1);
  });

  test.each([
    { what: "a task of a paused run", history: runResumed },
    { what: "a task of a paused namespace", history: namespaceResumed },
    { what: "an occurrence of a paused schedule", history: scheduleResumed },
  ])("$what may have a time before its resume, as much as a transaction may last", (broken) => {
    expect(notHeldBack(broken.history(3), 2)).toHaveLength(1);
    expect(notHeldBack(broken.history(3), 3)).toEqual([]);
  });

  test("a task that an agent had before the resume was handed out before it", () => {
    expect(notHeldBack(namespaceResumed(300), 6_000)).toEqual([
      expect.stringMatching(/^fence 1 of step "flight" of run r1 was handed out at \d+, though/),
    ]);
  });

  test("on a busy machine one timer in a hundred may be handled late", () => {
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

  test("the tasks of a run whose every pass failed may wait until it is tried again", () => {
    const history = (isFailing: boolean): History =>
      changed((copy) => {
        const at = waitLonger(copy);
        runFault(copy, { at, target: isFailing ? "r5" : "r1", did: "always-fails" });
      });
    expect(brokenPromises(history(false))).toEqual(["G15"]);
    expect(checkHistory(history(true))).toEqual([]);
  });

  test("a report about a run whose every pass failed may be refused as a defect", () => {
    const history = (isFailing: boolean): History =>
      changed((copy) => {
        const isOfR1 = ({ request }: { request: Asked }): boolean =>
          request.rpc === "Complete" && request.results[0]?.token.runId === "r1";
        const call = must(callsWith(copy, "Complete").find(isOfR1), "report");
        const target = isFailing ? "r1" : "r2";
        runFault(copy, { at: call.at, target, did: "always-fails" });
        for (const record of copy.records)
          if (record.kind === "answer" && record.call === call.call)
            if (record.answer.kind === "completed")
              record.answer.answers = [{ kind: "refused", reason: "INTERNAL" }];
      });
    expect(brokenPromises(history(false))).toEqual(["G20"]);
    expect(checkHistory(history(true))).toEqual([]);
  });

  test("a call that a fault has doubled may be taken although the answer was a refusal", () => {
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
    const history = (isDoubled: boolean, hasNext: boolean): History =>
      changed((copy) => {
        const call = must(callsWith(copy, "Complete").at(-1), "last report");
        const failed = { kind: "refused", reason: "INTERNAL" } as const;
        // The server hands out tasks in the batch of the report at which it failed.
        const tasks = hasNext ? tasksSeen(copy).slice(-1) : [];
        for (const record of copy.records)
          if (record.kind === "answer" && record.call === call.call)
            record.answer = { kind: "completed", answers: [failed], tasks };
        if (isDoubled) addFault(copy, { at: call.at, fault: doubled });
      });
    expect(brokenPromises(history(false, false))).toEqual(["G13"]);
    expect(checkHistory(history(true, false))).toEqual([]);
    expect(brokenPromises(history(false, true))).toEqual(["G13"]);
    expect(checkHistory(history(true, true))).toEqual([]);
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

  test("what was undone before a person resolved the step as succeeded was of a strategy", () => {
    const g11 = (isResolved: boolean) =>
      checkHistory(undoneTwiceHistory(isResolved)).filter(({ text }) => /may act until/.test(text));
    expect(g11(false).map(({ promise }) => promise)).toEqual(["G11"]);
    expect(g11(true)).toEqual([]);
  });

  test("the undo of what a person resolved as succeeded begins with its first try", () => {
    const g12 = (isResolved: boolean) =>
      checkHistory(undoneTwiceHistory(isResolved)).filter(({ text }) =>
        /is attempt 1, but/.test(text),
      );
    expect(g12(false).map(({ promise }) => promise)).toEqual(["G12"]);
    expect(g12(true)).toEqual([]);
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
