// Which steps of an ended run a new one reuses, when the run is retried or run again. The old run
// is final and does not change; the new run begins with steps that have ended already.
//
//   reused    ended well and was not undone, and so did all of its needs
//   again     everything else: failed, never ran, or comes after a step that runs again
//
// The effect of a reused step belongs to the run that made it: its undo gets the key and the input
// with which the effect was made.
import { currentEffectStatus } from "../evolve.ts";
import type { Step } from "../model/model.ts";
import type { Payload } from "../model/payload.ts";
import type { EffectStatus, Strategy } from "../model/strategy.ts";
import { addFacts, emit, type Pass, stepOf } from "../pass.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";

/** From where a run is repeated; `failed`: from every step that did not succeed. */
export type From =
  | { readonly kind: "start" }
  | { readonly kind: "failed" }
  | { readonly kind: "step"; readonly no: number };

export interface ReusedStep {
  readonly no: number;
  readonly as: "SUCCEEDED" | "SKIPPED";
  readonly strategies: readonly Strategy[];
  readonly fence: number;
  readonly output: Payload | null;
  /**
   * By index of a strategy: the input with which it made an effect. A strategy that is absent has
   * none to undo.
   */
  readonly inputs: ReadonlyMap<number, Payload | null>;
  /** The run that made the effect. */
  readonly of: string;
}

/** A run that has ended. */
interface EndedSteps {
  readonly plan: Plan;
  readonly steps: ReadonlyMap<number, Step>;
}

/** For each step that the new plan reuses, its number in the old plan. Steps are matched by id. */
export function stepsToReuse(
  ended: EndedSteps,
  plan: Plan,
  from: From,
): ReadonlyMap<number, number> {
  const before = new Map(ended.plan.steps.map((step) => [step.id, step]));
  const known = new Map<number, number | null>();
  const reusedAs = (no: number): number | null => {
    const found = known.get(no);
    if (found !== undefined) return found;
    const step = plan.steps[no];
    const old = step && before.get(step.id);
    const reuses =
      step &&
      old &&
      mayReuse(step, old, ended.steps.get(old.no), from) &&
      step.needs.every(isReused);
    known.set(no, reuses ? old.no : null);
    return reuses ? old.no : null;
  };
  const isReused = (no: number): boolean => reusedAs(no) !== null;
  if (from.kind === "start") return new Map();
  return new Map(
    plan.steps.flatMap(({ no }) => {
      const was = reusedAs(no);
      return was === null ? [] : [[no, was] as const];
    }),
  );
}

const OPEN_STATUSES: readonly EffectStatus[] = ["UNSETTLED", "UNDONE"];

function mayReuse(step: PlanStep, old: PlanStep, ended: Step | undefined, from: From): boolean {
  if (!ended || step.always || (from.kind === "step" && from.no === step.no)) return false;
  if (old.work.kind !== step.work.kind || ended.undo.kind !== "NONE") return false;
  if (ended.forward.kind === "SKIPPED") return true;
  return ended.forward.kind === "SUCCEEDED" && !OPEN_STATUSES.includes(currentEffectStatus(ended));
}

/** Part of the first pass of a run: the reused steps have ended before any step begins. */
export function reuseSteps(pass: Pass, reused: readonly ReusedStep[]): void {
  for (const one of reused) keep(pass, one);
  for (const { no, as } of reused)
    for (const successor of pass.plan.steps[no]?.successors ?? [])
      if (stepOf(pass, successor).forward.kind === "BLOCKED")
        emit(pass, {
          kind: "need-ended",
          step: successor,
          how: as === "SUCCEEDED" ? "ok" : "skipped",
        });
}

function keep(pass: Pass, { no, as, strategies, fence, output, inputs, of }: ReusedStep): void {
  const { now } = pass.time;
  const result = as === "SUCCEEDED" ? ({ fence, kind: "answer", n: 0 } as const) : null;
  emit(pass, { kind: "reused", step: no, as, strategies, fence, result, inputs, of });
  addFacts(pass, no, { status: as, output, error: null });
  if (result === null) return;
  emit(pass, {
    kind: "attempt-stored",
    attempt: {
      step: no,
      kind: "answer",
      fence,
      n: 0,
      attempt: 0,
      agentId: `run ${of}`,
      session: null,
      secret: null,
      startedAt: now,
      endedAt: now,
      outcome: { kind: "success", output },
      digest: null,
    },
  });
}
