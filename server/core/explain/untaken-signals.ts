// The signals of a run that no step has taken, and whether a step still may. They help to explain a
// run that is not moving: its signal may have come under another name, or too often.

import { nearestWord } from "../definition/nearest-word.ts";
import { signalNames } from "../events/on-signal.ts";
import type { EpochMs } from "../model/attempt.ts";
import type { RunState, Step } from "../model/model.ts";
import { type PublicStep, publicStep } from "../model/public-state.ts";
import { inWords } from "../pass.ts";
import type { Plan } from "../plan/plan.ts";

export interface SeenSignal {
  readonly id: string;
  readonly name: string;
  readonly at: EpochMs;
  /** null: no step has taken it. */
  readonly takenBy: number | null;
}

interface SignalledRun {
  readonly state: RunState;
  readonly steps: ReadonlyMap<number, Step>;
  readonly signals: readonly SeenSignal[];
}

/** A signal, and its explanation in a sentence for a person. */
interface UntakenSignal extends Pick<SeenSignal, "id" | "name" | "at"> {
  readonly sentence: string;
}

const EXPLAINED_MAX = 10;
const FINAL: ReadonlySet<PublicStep["state"]> = new Set([
  "SUCCEEDED",
  "FAILED",
  "SKIPPED",
  "CANCELLED",
]);

/** The newest ones, in the order of their arrival. */
export function untakenSignals(
  plan: Plan,
  seen: SignalledRun,
  now: EpochMs,
): readonly UntakenSignal[] {
  return seen.signals
    .filter(({ takenBy }) => takenBy === null)
    .slice(-EXPLAINED_MAX)
    .map(({ id, name, at }) => {
      const came = `The signal "${name}" came ${inWords(Math.max(0, now - at))} ago`;
      return { id, name, at, sentence: `${came}, and ${fateOf(plan, seen, name)}.` };
    });
}

function fateOf(plan: Plan, { state, steps }: SignalledRun, name: string): string {
  const takers = plan.steps.filter(({ work }) => work.kind === "signal" && work.name === name);
  if (takers.length === 0) return `no step takes a signal of this name${meantBy(plan, name)}`;
  const next = takers.find(
    ({ no, always }) => !FINAL.has(publicStep(steps.get(no), state, always).state),
  );
  if (next) return `"${next.id}" takes it as soon as it waits for one`;
  return "no step takes it any more";
}

/** Earlier versions of the server stored a signal with an unknown name, and did not refuse it. */
function meantBy(plan: Plan, name: string): string {
  const near = nearestWord(name, signalNames(plan));
  return near === null ? "" : ` (its sender may have meant "${near}")`;
}
