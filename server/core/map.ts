// A map: one task for each item of a list. Its items are steps of their own (step-key.ts). The map
// counts them, and its counters alone decide its next action, as with a run.
//
//   MAPPING   items move. As many begin as its concurrency and its wave allow
//   WAITING   for the pause between two waves; or on "items": a pass of its own ends the map, or
//             undoes its next items, since that pass has to load more than others
//   READY     and so on: its gate, a task like any other, which lets the next wave begin

import {
  type ItemOutputs,
  type Items,
  isFailed,
  itemsFailed,
  type MapPlan,
  TOO_MANY_FAILED,
} from "./model/items.ts";
import type { Payload } from "./model/payload.ts";
import { stepKeyOf } from "./model/step-key.ts";
import { nextStrategyIndex, strategyToUndo } from "./model/strategy.ts";
import { beginStrategy, recordAnswer, startsForward, succeed } from "./open.ts";
import { emit, makeReady, type Pass, planStep, stepOf } from "./pass.ts";
import { fail, recordFailure } from "./recovery/fail-step.ts";
import { advanceRunState, startUndos } from "./recovery/saga.ts";

/** Moves the run and its maps as far as their counters say. Called at the end of each event. */
export function advanceByCounters(pass: Pass): void {
  // Maps first: a run must not be suspended while one of its maps continues.
  do advanceMaps(pass);
  while (advanceRunState(pass));
}

function advanceMaps(pass: Pass): void {
  for (const no of pass.plan.maps.filter((map) => pass.view.steps.has(map))) {
    const { work } = planStep(pass, no);
    if (work.kind !== "map") continue;
    const { forward, undo } = stepOf(pass, no);
    if (forward.kind === "MAPPING" && startsForward(pass.view.run.state))
      continueMap(pass, no, work);
    if (undo.kind === "MAPPING" && pass.view.run.state.kind === "COMPENSATING")
      continueMapUndo(pass, no);
  }
}

/** Begins the next wave: its gate has allowed it, or there is no gate. */
export function beginWave(pass: Pass, no: number): void {
  emit(pass, { kind: "wave-started", step: no });
  const { work } = planStep(pass, no);
  if (work.kind !== "map" || !startsForward(pass.view.run.state)) return;
  beginItems(pass, no, Math.min(work.concurrency, waveOf(pass, no, work)));
}

/** The pause between two waves is over: asks the gate, or begins the wave. */
export function pauseOver(pass: Pass, no: number): void {
  const { work } = planStep(pass, no);
  if (work.kind === "map" && work.gate) askGate(pass, no);
  else beginWave(pass, no);
}

/**
 * The gate runs as defined: an input that a person gave to the last gate was for that one alone.
 */
function askGate(pass: Pass, no: number): void {
  const step = stepOf(pass, no);
  if (step.strategies.at(-1)?.changed) {
    const index = nextStrategyIndex(step);
    emit(pass, { kind: "strategy-started", step: no, index, planned: 0, input: null });
  }
  beginStrategy(pass, no, 0);
}

/** Whether a map that does not continue by itself waits at a gate, and not at its own end. */
export function isAtGate(pass: Pass, no: number): boolean {
  const { work } = planStep(pass, no);
  if (work.kind !== "map" || !work.gate || !startsForward(pass.view.run.state)) return false;
  const { items } = stepOf(pass, no);
  return items !== null && items.started < items.total && !isFailed(items, work);
}

/** The pass that ends a map, or undoes its next items. Everything that it needs is loaded. */
export function itemsDue(pass: Pass, no: number): void {
  const { work } = planStep(pass, no);
  if (work.kind !== "map") return;
  if (stepOf(pass, no).undo.kind === "WAITING") undoItems(pass, no, work);
  else endMap(pass, no, work);
}

/** Begins more items of the wave. If no item is open then: the next wave, or the end of the map. */
function continueMap(pass: Pass, no: number, work: MapPlan): void {
  const before = itemsOf(pass, no);
  if (!isFailed(before, work)) {
    const size = waveOf(pass, no, work);
    const ofWave = before.started % size;
    const left = before.started > 0 && ofWave === 0 ? 0 : size - ofWave;
    beginItems(pass, no, Math.min(work.concurrency - before.open, left));
  }
  const { now } = pass.time;
  const items = itemsOf(pass, no);
  if (items.open > 0) return;
  if (isFailed(items, work) || items.started === items.total)
    emit(pass, { kind: "items-due", step: no, side: "forward", wakeAt: now });
  else if (work.waves && work.waves.pauseMs > 0)
    emit(pass, {
      kind: "began-waiting",
      step: no,
      on: "timer",
      at: now,
      wakeAt: now + work.waves.pauseMs,
    });
  else pauseOver(pass, no);
}

function beginItems(pass: Pass, no: number, most: number): void {
  const { started, total } = itemsOf(pass, no);
  const count = Math.min(most, total - started);
  if (count <= 0) return;
  emit(pass, { kind: "items-started", step: no, count });
  for (let item = started + 1; item <= started + count; item++)
    beginStrategy(pass, stepKeyOf(no, item), 0);
}

function endMap(pass: Pass, no: number, work: MapPlan): void {
  const items = itemsOf(pass, no);
  if (isFailed(items, work)) {
    const message = itemsFailed(items, work);
    recordFailure(pass, stepOf(pass, no), TOO_MANY_FAILED, message);
    fail(pass, no, { code: TOO_MANY_FAILED, message });
    return;
  }
  if (items.failed > 0) emit(pass, { kind: "warned", step: no });
  const output = gathered(items, pass.view.outputs.get(no));
  succeed(pass, no, recordAnswer(pass, no, 0, "map", output), output);
}

/** The counts, and the outputs in the order of the list if they fit into a payload. */
function gathered(
  { total, succeeded, failed, skipped }: Items,
  outputs: ItemOutputs | undefined,
): Payload {
  const counts = JSON.stringify({ counts: { total, succeeded, failed, skipped } });
  if (outputs?.kind === "too-large") return { kind: "json", json: counts };
  const list = Array.from({ length: total }, (_, at) => outputs?.json.get(at + 1) ?? "null");
  return { kind: "json", json: `${counts.slice(0, -1)},"items":[${list.join(",")}]}` };
}

/** Undoes from the last started item to the first, `concurrency` items at a time. */
function undoItems(pass: Pass, no: number, work: MapPlan): void {
  const { undoFrom: from, undosLeft } = itemsOf(pass, no);
  if (from === 0 && undosLeft === 0) {
    emit(pass, { kind: "undone", step: no });
    startUndos(pass);
    return;
  }
  const to = Math.max(0, from - work.concurrency);
  emit(pass, { kind: "items-undoing", step: no, undoFrom: to });
  for (let item = from; item > to; item--) {
    const itemKey = stepKeyOf(no, item);
    if (strategyToUndo(stepOf(pass, itemKey)) === null) continue;
    emit(pass, { kind: "undo-planned", step: itemKey });
    makeReady(pass, itemKey, "compensate");
  }
}

/** An undo that failed waits for a person, and does not keep other items from being undone. */
function continueMapUndo(pass: Pass, no: number): void {
  const { undosMoving, undosLeft, undoFrom } = itemsOf(pass, no);
  if (undosMoving > 0 || (undoFrom === 0 && undosLeft > 0)) return;
  const wakeAt = pass.time.now;
  emit(pass, { kind: "items-due", step: no, side: "undo", wakeAt });
}

function itemsOf(pass: Pass, no: number): Items {
  const { items } = stepOf(pass, no);
  if (!items) throw new Error(`step ${no} is a map that has not started`);
  return items;
}

/** The number of items of a wave; all items without waves. */
function waveOf(pass: Pass, no: number, { waves }: MapPlan): number {
  const { total } = itemsOf(pass, no);
  if (!waves) return Math.max(1, total);
  const { size } = waves;
  return Math.max(1, size.kind === "count" ? size.count : Math.ceil((total * size.percent) / 100));
}
