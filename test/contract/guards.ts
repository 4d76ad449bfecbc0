/**
 * Row guards: a pass that was decided about rows which have moved since writes nothing. The locks
 * of a batch make this impossible; if a bug or a fenced process gets there all the same, it fails
 * here.
 */
import { expect, test } from "vitest";
import type { RunEvent } from "../../server/core/model/event.ts";
import type { Step, WaitingFor } from "../../server/core/model/model.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  cancel,
  claim,
  claimOne,
  failure,
  LATE,
  type Opened,
  type Passed,
  type PassOptions,
  pass,
  prepare,
  readRun,
  report,
  type Scheduled,
  schedule,
  success,
} from "./fixture.ts";
import {
  beginAs,
  blankStep,
  endOf,
  type PassContent,
  passAs,
  readyFor,
  taskEnded,
} from "./hand-made.ts";

/** Decides a pass and writes it later, when nothing that it read is locked any more. */
async function decideOnly(
  store: EngineStore,
  run: Scheduled,
  event: RunEvent,
  options: PassOptions = {},
): Promise<Passed> {
  return store.transact({ name: "decide" }, (tx) => prepare(tx, run, [event], options));
}

function writeLate(store: EngineStore, run: Scheduled, { record }: Passed): Promise<void> {
  return store.transact({ name: "stale" }, async (tx) => {
    await tx.lockRuns([run.ref], true);
    await tx.write([record]);
  });
}

export function describeGuards(opened: Opened): void {
  async function expectRefused(
    run: Scheduled,
    stale: Passed,
    meanwhile: () => Promise<unknown>,
  ): Promise<void> {
    const { store } = opened();
    await meanwhile();
    const before = await readRun(store, run);
    await expect(writeLate(store, run, stale)).rejects.toThrow();
    expect(await readRun(store, run)).toEqual(before);
  }

  /** A pass that was decided about a step which is no longer so. */
  async function expectStale(run: Scheduled, was: Step, content: PassContent): Promise<void> {
    const { store } = opened();
    const before = await readRun(store, run);
    await expect(passAs(store, run, { ...content, was: [was] })).rejects.toThrow();
    expect(await readRun(store, run)).toEqual(before);
  }

  test("a lease that has gone cannot be ended a second time", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: {} }));
    const [task] = await claim(store, run);
    if (!task) throw new Error("nothing was ready");
    const stale = await decideOnly(store, run, report(task, success));
    await expectRefused(run, stale, () => pass(store, run, report(task, failure)));
  });

  test("a lease of another fence cannot be ended", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: {} }));
    const [task] = await claim(store, run);
    if (!task) throw new Error("nothing was ready");
    const stale = await decideOnly(store, run, report(task, success));
    await expectRefused(run, stale, async () => {
      await pass(store, run, report(task, { kind: "released" }));
      await claim(store, run);
    });
  });

  test("a ready row that was claimed cannot be taken out of its lane", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const stale = await decideOnly(store, run, cancel(true));
    await expectRefused(run, stale, () => claimOne(store, run));
  });

  test("a backoff that is over cannot be over again", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {}, b: {} }));
    const [task] = await claim(store, run);
    if (!task) throw new Error("nothing was ready");
    await pass(store, run, report(task, failure));
    const dueTimer: RunEvent = { kind: "due-timer", step: task.ready.step, on: "backoff" };
    const stale = await decideOnly(store, run, dueTimer, LATE);
    await expectRefused(run, stale, () => pass(store, run, dueTimer, LATE));
  });

  test("a lease of the same fence and task is not the one that a pass has seen", async () => {
    const { store } = opened();
    const verify = (attempt: number) =>
      blankStep(0, { fence: 1, forward: readyFor({ task: "verify", attempt }) });
    const run = await beginAs(store, [verify(1)]);
    const one = await claimOne(store, run);
    const { steps } = await readRun(store, run);
    const leased = steps.get(0);
    await passAs(store, run, { steps: [verify(2)] });
    await claimOne(store, run);
    if (!leased) throw new Error("the step should be leased");
    await expectStale(run, leased, {
      steps: [blankStep(0, { fence: 1 })],
      effects: [taskEnded(endOf(one, success))],
    });
  });

  test("a ready row of another attempt cannot be taken out of its lane", async () => {
    const { store } = opened();
    const ready = (attempt: number) =>
      blankStep(0, { fence: 1, forward: readyFor({ task: "verify", attempt }) });
    const run = await beginAs(store, [ready(2)]);
    await expectStale(run, ready(1), { steps: [blankStep(0)] });
  });

  test("a step that waits for something else now is not moved by what it waited for", async () => {
    const { store } = opened();
    const waiting = (on: WaitingFor) =>
      blankStep(0, { forward: { kind: "WAITING", on, wakeAt: 1_000 } });
    const run = await beginAs(store, [waiting("callback")]);
    await expectStale(run, waiting("signal"), { steps: [blankStep(0)] });
  });

  test("a ready row that is gone cannot be granted", async () => {
    const { store } = opened();
    const run = await schedule(store, workflow({ a: {} }));
    const { ready } = await claimOne(store, run);
    const before = await readRun(store, run);
    const again = store.transact({ name: "grant" }, (tx) =>
      tx.grant([
        { ready, secret: "cc".repeat(16), session: "dd".repeat(16), agentId: "x", pollSeq: 2 },
      ]),
    );
    await expect(again).rejects.toThrow();
    expect(await readRun(store, run)).toEqual(before);
  });

  test("one broken guard takes back all that its transaction wrote", async () => {
    const { store } = opened();
    const broken = await schedule(store, workflow({ a: {} }));
    const sound = await schedule(store, workflow({ a: {} }));
    const stale = await decideOnly(store, broken, cancel(true));
    const good = await decideOnly(store, sound, cancel(true));
    await claimOne(store, broken);
    const before = await readRun(store, sound);
    const failed = store.transact({ name: "both" }, async (tx) => {
      await tx.lockRuns([broken.ref, sound.ref], true);
      await tx.write([good.record, stale.record]);
    });
    await expect(failed).rejects.toThrow();
    expect(await readRun(store, sound)).toEqual(before);
  });
}
