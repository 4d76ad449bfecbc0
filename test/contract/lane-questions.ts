/** Questions about lanes: one is open for each, until its escalation is closed. */
import { expect, test } from "vitest";
import type { LaneQuestion } from "../../server/store/queues.ts";
import { workflow } from "../support/core-world.ts";
import { LATE, type Opened, pass, type Scheduled, schedule } from "./fixture.ts";

const UNPOLLED = { kind: "ready-timer", step: 0, fence: 1, polled: false } as const;

export function describeLaneQuestions(opened: Opened): void {
  const open = (lanes: readonly number[]) =>
    opened().store.transact({ name: "read" }, (tx) => tx.lockLaneQuestions(lanes));
  const write = (question: LaneQuestion) =>
    opened().store.transact({ name: "ask" }, async (tx) => {
      await tx.lockLaneQuestions([question.lane]);
      await tx.writeLaneQuestions([question]);
    });

  /** Its one step has asked a person. */
  async function asking(): Promise<Scheduled> {
    const run = await schedule(opened().store, workflow({ a: { onPickup: "escalate" } }));
    await pass(opened().store, run, UNPOLLED, LATE);
    return run;
  }

  test("a lane without an escalation has none", async () => {
    const run = await schedule(opened().store, workflow({ a: {} }));
    expect(await open(run.lanes)).toEqual([]);
    expect(await open([])).toEqual([]);
  });

  test("one is open until its escalation is answered, and then another may be", async () => {
    const { store } = opened();
    const run = await asking();
    const [lane = 0] = run.lanes;
    await write({ lane, runId: run.ref.runId, n: 1 });
    expect(await open([lane, lane + 1_000_000])).toEqual([lane]);
    const answer = { kind: "answer", n: 1, answer: "retry", by: "ada", why: "" } as const;
    await pass(store, run, { ...answer, payload: null }, LATE);
    expect(await open([lane])).toEqual([]);
    const other = await asking();
    await write({ lane, runId: other.ref.runId, n: 1 });
    expect(await open([lane])).toEqual([lane]);
  });
}
