/**
 * Any state of a run and its steps is read back as it was written, whatever was there before: the
 * codes, the columns and the rows beside a step lose nothing.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import { isMoving, type Lease, movingSide, type Step } from "../../server/core/model/model.ts";
import { nextSlowCheck } from "../../server/core/model/typical-duration.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { openRuns, stepAt } from "../support/random-states.ts";
import { claimIn, type Opened, readRun, type Scheduled } from "./fixture.ts";
import { beginAs, passAs } from "./hand-made.ts";

const SEED = 20_260_211;
/** Step 0 of the definition is the one that has every task. */
const change = fc.record({ run: openRuns, step: stepAt(0), claims: fc.boolean() });

export function describeStates(opened: Opened, count: number): void {
  test("any state of a run and a step is read back as it was written, after any other", async () => {
    const { store } = opened();
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 5 }), async (changes) => {
        const run = await beginAs(store, []);
        for (const { run: state, step, claims } of changes) {
          await passAs(store, run, { run: state, steps: [step] });
          const { run: stored, steps } = await readRun(store, run);
          expect(stored).toEqual({ ...state, version: stored.version });
          expect(steps).toEqual(new Map([[0, step]]));
          const detail = await store.reads.runDetail(run.ref.runId, WHOLE);
          expect(detail?.steps).toEqual(steps);
          if (claims) await claimReady(store, run, step);
        }
      }),
      { seed: SEED, numRuns: count },
    );
  }, 120_000);
}

const WHOLE = { attempts: false, interventions: false, escalations: false };

/** What is ready becomes a lease, which the next state replaces. */
async function claimReady(store: EngineStore, run: Scheduled, step: Step): Promise<void> {
  const side = movingSide(step);
  if (side?.state.kind !== "READY") return;
  const { task, fence, attempt } = side.state;
  const { lane, task: plan } = run.laneOf(0, task, step.strategies.at(-1)?.planned ?? 0);
  const [granted] = await store.transact({ name: "claim" }, (tx) => claimIn(tx, [lane]));
  if (!granted) throw new Error("what is ready could not be claimed");
  const { secret, session, agentId, pollSeq, grantedAt, attemptBy } = granted;
  const { heartbeatMs, cancelMs, stallMs } = plan.timeouts;
  const lease: Lease = {
    kind: "LEASED",
    task,
    fence,
    attempt,
    secret,
    session,
    agentId,
    pollSeq,
    grantedAt,
    attemptBy,
    heartbeatMs,
    cancelMs,
    stallMs,
    progressAt: grantedAt,
    cancel: { kind: "none" },
    suspectAt: null,
    wakeAt: task === "perform" ? nextSlowCheck({ grantedAt, attemptBy }, grantedAt) : attemptBy,
  };
  const { steps } = await readRun(store, run);
  const after = isMoving(step.forward) ? { ...step, forward: lease } : { ...step, undo: lease };
  expect(steps).toEqual(new Map([[0, after]]));
}
