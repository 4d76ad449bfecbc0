/**
 * What the integrity sweep sees of a run that nobody has broken: nothing, in whatever state it is.
 * And were its open row lost, it would be put right from its steps, without breaking an invariant.
 */
import { expect } from "vitest";
import { decide } from "../../server/core/decide.ts";
import { examine } from "../../server/core/examine.ts";
import { brokenInvariants } from "../../server/core/invariants.ts";
import { isEnded } from "../../server/core/model.ts";
import type { StoredRun } from "../../server/core/stored.ts";
import type { Life } from "./random-life.ts";

export async function expectSound({ store, scheduled, run, aheadMs }: Life): Promise<void> {
  const { ref, rules } = scheduled;
  const { plan } = rules;
  const head = (await store.storedRuns([ref])).get(ref.runId);
  if (!head) throw new Error(`run ${ref.runId} is not there`);
  const { places, open, row } = head.stored;
  if (isEnded(run.state)) {
    const beside = places.filter(({ ready, lease, due }) => ready || lease || due);
    expect({ row, open, beside }).toEqual({ row: "ended", open: null, beside: [] });
    return;
  }
  const now = head.now + aheadMs;
  // Nobody gives it a slot here, or begins its children.
  const waits = run.state.kind === "PENDING" && run.state.on === "slot";
  const begins = run.state.kind === "PENDING" && run.state.on === "start";
  const slot = run.keyed && !begins ? (waits ? "waits" : "holds") : null;
  const stored: StoredRun = { ...head.stored, slot, untold: [] };
  expect(examine(plan, stored, now).findings).toEqual([]);
  const { keyed, parent, escalations } = run;
  const unopened = { createdAt: head.now - 1_000, keyed, parent, escalations };
  const found = examine(plan, { ...stored, open: null, unopened }, now);
  expect(found.findings.length).toBeGreaterThan(0);
  const steps = plan.steps.map(({ no }) => no);
  const facts = (await store.facts([{ runId: ref.runId, steps }])).get(ref.runId) ?? null;
  const event = { kind: "integrity", found } as const;
  const decision = decide(rules, { ...found.mended, facts }, now, [{ event, draw: 0 }]);
  const was = `${run.state.kind}, made again as ${found.mended.run.state.kind}`;
  expect(brokenInvariants(plan, decision.view), was).toEqual([]);
}
