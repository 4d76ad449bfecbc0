/** What an agent does to the page of its task besides reporting: gets it, sends heartbeats. */
import { describe, expect, test } from "vitest";
import type { Lease } from "../../../../server/core/model/model.ts";
import type { Payload } from "../../../../server/core/model/payload.ts";
import {
  applyHeartbeat,
  type HandOut,
  type HeartbeatOfTask,
  handOut,
} from "../../../../server/core/page/hand-out.ts";
import type { PageStep, TaskTerms } from "../../../../server/core/page/page.ts";
import { START } from "../../../support/core-world.ts";
import {
  LANE,
  leasedStep,
  leaseFor,
  pageStepOf,
  readyFor,
  readyStep,
  SECRET,
  SESSION,
  TERMS,
} from "../../../support/hand-made-pages.ts";

const NOW = START + 60_000;

function leaseIn({ step }: PageStep): Lease {
  const state = step.forward.kind === "LEASED" ? step.forward : step.undo;
  if (state.kind !== "LEASED") throw new Error(`step ${step.no} is ${state.kind}`);
  return state;
}

describe("a task is handed out", () => {
  const to: HandOut = {
    secret: SECRET,
    session: SESSION,
    agentId: "worker-1",
    pollSeq: 4,
    lane: LANE,
  };
  const granted = (terms: Partial<TaskTerms> = {}, until: number | null = null) =>
    leaseIn(handOut({ ...readyStep({ until }), terms: { ...TERMS, ...terms } }, to, NOW));

  test("what was READY is LEASED to the poll that found it", () => {
    const was = readyStep({ fence: 3, attempt: 2, alarms: 1 });
    const { step, terms } = handOut(was, to, NOW);
    expect(step).toEqual({
      ...was.step,
      forward: leaseFor({
        fence: 3,
        attempt: 2,
        pollSeq: 4,
        grantedAt: NOW,
        progressAt: NOW,
        attemptBy: NOW + 900_000,
        wakeAt: NOW + 450_000,
      }),
    });
    expect(terms).toBe(was.terms);
  });

  test("an undo is handed out beside its step", () => {
    const undo = readyFor({ task: "compensate" });
    const was = pageStepOf({ forward: { kind: "SUCCEEDED" }, undo }, { terms: TERMS });
    const { step } = handOut(was, to, NOW);
    expect(step).toMatchObject({ forward: { kind: "SUCCEEDED" }, undo: { kind: "LEASED" } });
  });

  test("its attempt ends when its time is over, or that of the step or of the run before", () => {
    const known = { slowAfterMs: 1_000_000 };
    expect(granted(known)).toMatchObject({ attemptBy: NOW + 900_000, wakeAt: NOW + 900_000 });
    expect(granted(known, NOW + 5)).toMatchObject({ attemptBy: NOW + 5, wakeAt: NOW + 5 });
  });

  test("it is checked when it stalls, and when it is slow; its silence is its session's", () => {
    expect(granted({ stallMs: 100 })).toMatchObject({ wakeAt: NOW + 100, stallMs: 100 });
    expect(granted({ stallMs: 100, slowAfterMs: 70 }).wakeAt).toBe(NOW + 70);
    expect(granted({ slowAfterMs: 1_000_000, heartbeatMs: 10 }).wakeAt).toBe(NOW + 900_000);
  });

  test("while no typical duration is known, it is checked after half of its time", () => {
    expect(granted().wakeAt).toBe(NOW + 900_000 / 2);
  });

  test("what heartbeats reported of the task before is dropped", () => {
    const was = { ...readyStep(), progress: "half", details: { kind: "row" } as const };
    expect(handOut(was, to, NOW)).toMatchObject({ progress: null, details: null });
  });

  test("the lane in which it was found is stored: that of a version of agents is another", () => {
    expect(handOut(readyStep(), { ...to, lane: 12 }, NOW).terms).toEqual({ ...TERMS, lane: 12 });
  });

  test("a step that is not READY is not handed out", () => {
    expect(() => handOut(leasedStep(), to, NOW)).toThrow("step 0 is handed out and is not READY");
  });
});

describe("a heartbeat", () => {
  const json = (text: string): Payload => ({ kind: "json", json: text });
  const reportWith = (more: Partial<HeartbeatOfTask> = {}): HeartbeatOfTask => ({
    fence: 1,
    secret: SECRET,
    progress: null,
    details: null,
    ...more,
  });
  const heartbeat = (was: PageStep, more: Partial<HeartbeatOfTask> = {}, session = SESSION) =>
    applyHeartbeat(was, session, reportWith(more), NOW);
  const accepted = (was: PageStep, more: Partial<HeartbeatOfTask> = {}) => {
    const answer = heartbeat(was, more);
    if (!answer) throw new Error("the session holds the task");
    return answer;
  };
  const CARRY_ON = { kind: "carry-on", leaseMs: 30_000 };

  test("that reports nothing leaves the page as it is", () => {
    const was = leasedStep();
    const { step, payloads, answer } = accepted(was);
    expect(step).toBe(was);
    expect({ payloads, answer }).toEqual({ payloads: [], answer: CARRY_ON });
  });

  test("with progress moves the time of the progress, and no wake-up: that may be too early", () => {
    const was = leasedStep({ stallMs: 100, wakeAt: START + 100 });
    const { step } = accepted(was, { progress: "half" });
    expect(step.progress).toBe("half");
    expect(leaseIn(step)).toEqual(leaseFor({ stallMs: 100, wakeAt: START + 100, progressAt: NOW }));
  });

  test("that repeats its progress is none, and leaves the page as it is", () => {
    const was = { ...leasedStep(), progress: "half" };
    expect(accepted(was, { progress: "half" }).step).toBe(was);
  });

  test("with details keeps them, and is no progress", () => {
    const { step, payloads } = accepted(leasedStep(), { details: json("[1]") });
    expect(step).toEqual({ ...leasedStep(), details: json("[1]") });
    expect(payloads).toEqual([]);
  });

  test("that repeats its details leaves the page as it is, JSON or bytes", () => {
    const bytes = (...data: number[]): Payload => ({
      kind: "data",
      contentType: "image/png",
      data: Uint8Array.from(data),
    });
    for (const details of [json("[1]"), bytes(1, 2)]) {
      const was = { ...leasedStep(), progress: "half", details };
      expect(accepted(was, { progress: "half", details: structuredClone(details) }).step).toBe(was);
    }
    const was = { ...leasedStep(), details: bytes(1, 2) };
    for (const details of [
      bytes(1, 3),
      bytes(1),
      { ...bytes(1, 2), contentType: "x" },
      json("[1]"),
    ])
      expect(accepted(was, { details }).step.details).toEqual(details);
  });

  test("with new details beside the same progress moves no progress", () => {
    const was = { ...leasedStep(), progress: "half" };
    const { step } = accepted(was, { progress: "half", details: json("[2]") });
    expect(step).toEqual({ ...was, details: json("[2]") });
  });

  test("keeps details of more than 256 bytes in a row of their own, named after the attempt", () => {
    const details = json(`"${"x".repeat(300)}"`);
    const { step, payloads } = accepted(leasedStep(), { details });
    expect(step.details).toEqual({ kind: "row" });
    const key = { step: 0, kind: "perform", fence: 1, n: 0, what: "details" };
    expect(payloads).toEqual([{ ...key, payload: details }]);
    // What is in the row is not known here: it is written again.
    expect(accepted(step, { details }).payloads).toEqual(payloads);
  });

  test("of a verify names them after the number of the verify", () => {
    const lease = leaseFor({ task: "verify" });
    const was = pageStepOf({ forward: lease, verifies: 2 }, { terms: TERMS });
    const { payloads } = accepted(was, { details: json(`"${"x".repeat(300)}"`) });
    expect(payloads).toMatchObject([{ kind: "verify", n: 2 }]);
  });

  test("of a task that is to stop is answered so, and ends the lease when its grace is over", () => {
    const was = leasedStep({ cancel: { kind: "asked", cause: "run", at: NOW - 5 } });
    const { step, answer } = accepted(was);
    expect(leaseIn(step)).toMatchObject({
      cancel: { kind: "received", cause: "run", by: NOW + 10_000 },
      wakeAt: NOW + 10_000,
    });
    expect(answer).toEqual({ kind: "cancel", withinMs: 10_000 });
  });

  test("of one that knows it is answered how much of its grace is left, and moves nothing", () => {
    const cancelNoticed = (by: number) =>
      leasedStep({ cancel: { kind: "received", cause: "run", by } });
    const was = cancelNoticed(NOW + 400);
    expect(accepted(was).step).toBe(was);
    expect(accepted(was).answer).toEqual({ kind: "cancel", withinMs: 400 });
    expect(accepted(cancelNoticed(NOW - 1)).answer).toEqual({ kind: "cancel", withinMs: 0 });
  });

  test("of a task that the session holds no more is answered so", () => {
    expect(heartbeat(leasedStep(), {}, "another session")).toBeNull();
    expect(heartbeat(leasedStep(), { secret: "guessed" })).toBeNull();
    expect(heartbeat(leasedStep(), { fence: 2 })).toBeNull();
    expect(heartbeat(readyStep())).toBeNull();
    expect(heartbeat(pageStepOf({ forward: { kind: "SUCCEEDED" } }))).toBeNull();
  });
});
