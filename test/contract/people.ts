/**
 * Inputs of a run: signals in their order, each once; the last decision of each approver;
 * escalations by number, with their answers.
 */
import { describe, expect, test } from "vitest";
import type { Effect } from "../../server/core/model/effect.ts";
import type { EscalationReason } from "../../server/core/model/history.ts";
import type { RunDetail } from "../../server/store/reads.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { json, type Opened, ownPartition, type Scheduled } from "./fixture.ts";
import { beginAs, blankStep, DEADLINE, passAs } from "./hand-made.ts";

export function describePeople(opened: Opened): void {
  describe("signals", () => describeSignals(opened));
  describe("decisions", () => describeDecisions(opened));
  describe("escalations", () => describeEscalations(opened));
}

async function detailOf(store: EngineStore, { ref }: Scheduled): Promise<RunDetail> {
  const wanted = { attempts: false, interventions: false, escalations: true };
  const detail = await store.reads.runDetail(ref.runId, wanted);
  if (!detail) throw new Error(`run ${ref.runId} is not there`);
  return detail;
}

function sent(seq: number, name = "go", id = `signal-${seq}`): Effect {
  return { kind: "signal-stored", seq, id, name, payload: json(`{"no":${seq}}`) };
}

function describeSignals(opened: Opened): void {
  const load = (run: Scheduled) =>
    opened().store.transact({ name: "read" }, async (tx) => {
      await tx.lockRuns([run.ref], true);
      return (await tx.loadSignals([run.ref.runId])).get(run.ref.runId) ?? [];
    });

  test("signals are loaded in the order in which they came, with what they carry", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    const data = { kind: "data", contentType: "x/y", data: Buffer.from([0, 255]) } as const;
    await passAs(store, run, { effects: [sent(1), sent(2, "stop")] });
    await passAs(store, run, { effects: [{ ...sent(3), payload: data } as Effect] });
    expect(await load(run)).toEqual([
      { seq: 1, id: "signal-1", name: "go", taken: false, payload: json('{"no":1}') },
      { seq: 2, id: "signal-2", name: "stop", taken: false, payload: json('{"no":2}') },
      { seq: 3, id: "signal-3", name: "go", taken: false, payload: data },
    ]);
  });

  test("a run without signals and decisions has none", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    expect(await load(run)).toEqual([]);
    expect(await detailOf(store, run)).toMatchObject({ signals: [], decisions: [] });
  });

  test("a signal is taken by the step that waits for it, perhaps in the pass that brings it", async () => {
    const { store } = opened();
    const run = await beginAs(store, [blankStep(0)]);
    await passAs(store, run, { effects: [sent(1)] });
    const take = (seq: number): Effect => ({ kind: "signal-taken", step: 0, seq });
    await passAs(store, run, { effects: [sent(2), take(2), sent(3)] });
    await passAs(store, run, { effects: [take(1)] });
    expect((await load(run)).map(({ seq, taken }) => [seq, taken])).toEqual([
      [1, true],
      [2, true],
      [3, false],
    ]);
    const { signals } = await detailOf(store, run);
    expect(signals.map(({ takenBy }) => takenBy)).toEqual([0, 0, null]);
    for (const { at } of signals) expect(at).toBeGreaterThan(0);
  });

  test("a signal is not taken twice", async () => {
    const { store } = opened();
    const run = await beginAs(store, [blankStep(0), blankStep(1)]);
    await passAs(store, run, { effects: [sent(1), { kind: "signal-taken", step: 0, seq: 1 }] });
    const again = passAs(store, run, { effects: [{ kind: "signal-taken", step: 1, seq: 1 }] });
    await expect(again).rejects.toThrow();
    expect((await detailOf(store, run)).signals).toMatchObject([{ takenBy: 0 }]);
  });

  test("one name of a sender is one signal of a run, and free in any other run", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    await passAs(store, run, { effects: [sent(1, "go", "mine")] });
    await expect(passAs(store, run, { effects: [sent(2, "go", "mine")] })).rejects.toThrow();
    expect(await load(run)).toHaveLength(1);
    const other = await beginAs(store, []);
    await passAs(store, other, { effects: [sent(1, "go", "mine")] });
    expect(await load(other)).toHaveLength(1);
  });
}

function decided(approver: string, approved: boolean, at: number, step = 0): Effect {
  return {
    kind: "decision-stored",
    step,
    approver,
    verified: approver === "zoe",
    approved,
    at,
    comment: `comment of ${approver}`,
    form: json('{"limit":3}'),
  };
}

function describeDecisions(opened: Opened): void {
  test("what each approver has decided is found by step, in order of time", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    await passAs(store, run, { effects: [decided("zoe", true, 1_000), decided("a", true, 9, 1)] });
    await passAs(store, run, { effects: [decided("adam", false, 2_000)] });
    const found = await store.transact({ name: "read" }, (tx) => tx.loadDecisions([run.ref.runId]));
    expect(found.get(run.ref.runId)).toEqual([
      { step: 0, approver: "zoe", approved: true },
      { step: 0, approver: "adam", approved: false },
      { step: 1, approver: "a", approved: true },
    ]);
    const { decisions } = await detailOf(store, run);
    expect(decisions[0]).toEqual({
      step: 0,
      approver: "zoe",
      verified: true,
      approved: true,
      comment: "comment of zoe",
      form: json('{"limit":3}'),
      at: 1_000,
    });
  });

  test("an approver who decides again replaces the first decision", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    await passAs(store, run, { effects: [decided("zoe", true, 1_000)] });
    await passAs(store, run, { effects: [decided("zoe", false, 2_000)] });
    const { decisions } = await detailOf(store, run);
    expect(decisions).toMatchObject([{ approver: "zoe", approved: false, at: 2_000 }]);
  });
}

/** No person is reminded within the tests. */
const NEVER = { wakeAt: DEADLINE, deadlineAt: null };

export function asked(n: number, reason: EscalationReason = "poison", step = 0): Effect {
  return {
    kind: "escalated",
    step,
    id: "s",
    n,
    reason,
    code: "broken",
    message: `question ${n}`,
    ...NEVER,
  };
}
export const closed = (step = 0): Effect => ({
  kind: "escalation-closed",
  step,
  by: "a late report",
});

function answered(n: number, step = 0): Effect {
  const given = { answer: "retry", by: "Maria", verified: true, why: "it is back" } as const;
  return { kind: "escalation-answered", step, n, ...given };
}
const ANSWER = { answer: "retry", by: "Maria", verified: true, why: "it is back" };

function describeEscalations(opened: Opened): void {
  const load = (run: Scheduled, ...numbers: number[]) =>
    opened().store.transact({ name: "read" }, async (tx) => {
      const { runId } = run.ref;
      const found = await tx.loadEscalations(numbers.map((n) => ({ runId, n })));
      return found.get(runId) ?? [];
    });

  test("a question has the number that the rules gave it", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    await passAs(store, run, { effects: [asked(4, "expired", 2), asked(5)] });
    expect(await load(run, 4, 5, 6)).toEqual([
      { n: 4, step: 2, reason: "expired", closedBy: null, ...NEVER, claimed: false },
      { n: 5, step: 0, reason: "poison", closedBy: null, ...NEVER, claimed: false },
    ]);
  });

  test("an answer closes the question of its number, and is stored with person and reason", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    await passAs(store, run, { effects: [asked(1), asked(2, "doubled")] });
    await passAs(store, run, { effects: [answered(1)] });
    const { escalations } = await detailOf(store, run);
    expect(escalations).toMatchObject([
      { n: 1, code: "broken", closedBy: 'answered "retry" by Maria', answer: ANSWER },
      { n: 2, closedAt: null, closedBy: null, answer: null },
    ]);
    expect(await load(run, 1)).toMatchObject([{ closedBy: 'answered "retry" by Maria' }]);
  });

  test("a question that is not open cannot be answered", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    await passAs(store, run, { effects: [asked(1), closed()] });
    await expect(passAs(store, run, { effects: [answered(1)] })).rejects.toThrow();
    await expect(passAs(store, run, { effects: [answered(7)] })).rejects.toThrow();
    const { escalations } = await detailOf(store, run);
    expect(escalations).toMatchObject([{ closedBy: "a late report", answer: null }]);
  });

  test("what moves a step closes its open questions, but not that its effect may be doubled", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    const questions = [asked(1), asked(2, "doubled"), asked(3, "pickup"), asked(4, "poison", 1)];
    await passAs(store, run, { effects: questions });
    await passAs(store, run, { effects: [closed()] });
    const by = (await load(run, 1, 2, 3, 4)).map(({ closedBy }) => closedBy);
    expect(by).toEqual(["a late report", null, "a late report", null]);
    await passAs(store, run, { effects: [answered(2)] });
    expect(await load(run, 2)).toMatchObject([{ closedBy: 'answered "retry" by Maria' }]);
  });

  test("one pass may answer a question, close the others of its step and ask the next", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    await passAs(store, run, { effects: [asked(1), asked(2, "pickup")] });
    await passAs(store, run, { effects: [answered(1), closed(), asked(3)] });
    const by = (await load(run, 1, 2, 3)).map(({ closedBy }) => closedBy);
    expect(by).toEqual(['answered "retry" by Maria', "a late report", null]);
  });

  test("a question that one pass asks and answers, or asks and closes, is closed", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    const effects = [asked(1), answered(1), asked(2, "poison", 1), asked(3, "doubled", 1)];
    await passAs(store, run, { effects: [...effects, closed(1)] });
    const by = (await load(run, 1, 2, 3)).map(({ closedBy }) => closedBy);
    expect(by).toEqual(['answered "retry" by Maria', "a late report", null]);
  });

  test("a run that has ended keeps the count of its questions, and may get one more", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    await passAs(store, run, { effects: [asked(1)], run: { escalations: 1 } });
    const state = { kind: "FAILED", reason: "STEP_FAILED" } as const;
    await passAs(store, run, { run: { state, warnings: 2 } });
    const ended = () =>
      store.transact({ name: "read" }, async (tx) => (await tx.endedRuns([run.ref]))[0]?.run);
    expect(await ended()).toMatchObject({ state, version: 3, escalations: 1, warnings: 2 });
    await passAs(store, run, { effects: [asked(2, "doubled")] });
    expect(await ended()).toMatchObject({ state, version: 3, escalations: 2 });
    await passAs(store, run, { effects: [answered(2)] });
    expect(await load(run, 2)).toMatchObject([{ closedBy: 'answered "retry" by Maria' }]);
  });

  test("a question is due at its time while it is open, and a reminder moves it", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await beginAs(store, [], { partition });
    const wakeAt = 1_000_000;
    const soon = (n: number, step = 0) => ({ ...asked(n, "poison", step), wakeAt });
    await passAs(store, run, { effects: [soon(1), soon(2, 1), asked(3), soon(4, 2)] });
    const closed4: Effect = { kind: "escalation-closed", step: 2, by: "a late report" };
    await passAs(store, run, { effects: [closed4] });
    const due = async () => {
      const found = await store.dueRows([partition], 10);
      return found.due.map(({ kind, step, fence, wakeAt: at }) => [kind, step, fence, at]);
    };
    expect((await due()).sort()).toEqual([
      ["escalation", 0, 1, wakeAt],
      ["escalation", 1, 2, wakeAt],
    ]);
    const reminded = { kind: "escalation-reminded", n: 1, tell: true } as const;
    await passAs(store, run, { effects: [{ ...reminded, wakeAt: DEADLINE }, answered(2, 1)] });
    expect(await due()).toEqual([]);
    expect(await load(run, 1)).toMatchObject([{ wakeAt: DEADLINE, closedBy: null }]);
    expect(await load(run, 2)).toMatchObject([{ wakeAt: null }]);
    const late = passAs(store, run, { effects: [{ ...reminded, n: 2, wakeAt: DEADLINE }] });
    await expect(late).rejects.toThrow();
  });

  test("one person at a time takes a question, until it is closed", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    const { runId } = run.ref;
    const claim = (by: string, anyway = false) =>
      store.claimEscalation({ runId, n: 1, by, anyway });
    const release = (by: string, anyway = false) =>
      store.releaseEscalation({ runId, n: 1, by, anyway });
    const held = async () => (await detailOf(store, run)).escalations[0]?.claim;
    await passAs(store, run, { effects: [asked(1)] });
    expect(await held()).toBeNull();
    expect(await claim("Maria")).toBeNull();
    const marias = await held();
    expect(marias).toEqual({ by: "Maria", at: expect.any(Number) });
    expect(await claim("Maria")).toBeNull();
    expect(await held()).toEqual(marias);
    expect(await claim("Jan")).toEqual({ by: "Maria" });
    expect(await release("Jan")).toEqual({ by: "Maria" });
    expect(await claim("Jan", true)).toBeNull();
    expect(await held()).toMatchObject({ by: "Jan" });
    expect(await release("Jan")).toBeNull();
    expect(await release("Maria")).toBeNull();
    expect(await held()).toBeNull();
    expect(await claim("Maria")).toBeNull();
    await passAs(store, run, { effects: [answered(1)] });
    expect(await claim("Jan", true)).toEqual({ by: null });
    expect(await release("Maria")).toEqual({ by: null });
    expect(await held()).toMatchObject({ by: "Maria" });
  });

  test("the note of a cancel is stored", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    const noted = (command: "pause" | "cancel"): Effect => {
      return { kind: "command-noted", command, note: `${command}, please` };
    };
    await passAs(store, run, { effects: [noted("pause")] });
    expect((await detailOf(store, run)).run.cancelNote).toBeNull();
    await passAs(store, run, { effects: [noted("cancel")] });
    expect((await detailOf(store, run)).run.cancelNote).toBe("cancel, please");
  });
}
