// Which rows of the state table a run of the simulation took, from what was committed.
// Each effect of a pass is followed by itself; a way that the table does not have is a violation.
import { isDeepStrictEqual } from "node:util";
import type { Plan } from "../../server/core/definition.ts";
import type { Effect } from "../../server/core/effect.ts";
import { evolve, untouchedStep } from "../../server/core/evolve.ts";
import type { Step, View } from "../../server/core/model.ts";
import { nextRunState } from "../../server/core/saga.ts";
import {
  FORWARD_EDGES,
  findEdge,
  RUN_EDGES,
  type RunTrigger,
  type StepTrigger,
  UNDO_EDGES,
} from "../../server/core/state-table.ts";
import type { PassRecord } from "../../server/store/changes.ts";

/** As `forward: LEASED -succeeded-> SUCCEEDED`. */
export type EdgeName = string;

export interface Edges {
  readonly taken: ReadonlyMap<EdgeName, number>;
  /** Ways that are not in the table. */
  readonly strange: readonly string[];
  pass(record: PassRecord, plan: Plan, now: number): void;
  /** A ready row became a lease, or an agent heard that it should stop. */
  step(side: "forward" | "undo", on: "claim" | "beat"): void;
}

export const EVERY_EDGE: readonly EdgeName[] = [
  ...RUN_EDGES.map((edge) => nameOf("run", edge)),
  ...FORWARD_EDGES.map((edge) => nameOf("forward", edge)),
  ...UNDO_EDGES.map((edge) => nameOf("undo", edge)),
];

const KNOWN: ReadonlySet<EdgeName> = new Set(EVERY_EDGE);

interface Way {
  readonly from: string;
  readonly on: string;
  readonly to: string;
}

function nameOf(of: "run" | "forward" | "undo", { from, on, to }: Way): EdgeName {
  return `${of}: ${from} -${on}-> ${to}`;
}

export function createEdges(): Edges {
  const taken = new Map<EdgeName, number>();
  const strange: string[] = [];

  function take(of: "run" | "forward" | "undo", way: Way): void {
    const name = nameOf(of, way);
    if (!KNOWN.has(name)) strange.push(`not in the state table: ${name}`);
    taken.set(name, (taken.get(name) ?? 0) + 1);
  }

  function moved(was: Step | undefined, step: Step, needs: number, on: StepTrigger): void {
    const before = was ?? untouchedStep(step.no, needs);
    for (const side of ["forward", "undo"] as const) {
      // A first row says nothing new about the side that did not move.
      const same = was ? was[side] === step[side] : isDeepStrictEqual(before[side], step[side]);
      if (!same) take(side, { from: before[side].kind, on, to: step[side].kind });
    }
  }

  return Object.freeze({
    taken,
    strange,
    pass(record: PassRecord, plan: Plan, now: number) {
      const needsOf = (no: number): number => plan.steps[no]?.needs.length ?? 0;
      let view: View = record.before;
      for (const [place, effect] of record.effects.entries()) {
        const after = evolve(view, effect, needsOf);
        if (effect.kind === "run-moved")
          take("run", runWay(view, effect, record.effects.slice(0, place), now));
        else if ("step" in effect || "attempt" in effect)
          for (const step of after.steps.values())
            if (view.steps.get(step.no) !== step)
              moved(view.steps.get(step.no), step, needsOf(step.no), effect.kind);
        view = after;
      }
      // A new run is its own past: there is nothing to follow.
      const isNew = record.before.run === record.after.run;
      if (
        !isNew &&
        !isDeepStrictEqual({ ...view.run, version: 0 }, { ...record.after.run, version: 0 })
      )
        strange.push(`the effects alone do not make the run ${record.head.runId}`);
    },
    step(side: "forward" | "undo", on: "claim" | "beat") {
      take(side, { from: on === "claim" ? "READY" : "LEASED", on, to: "LEASED" });
    },
  } satisfies Edges);
}

function runWay(
  view: View,
  { state }: Extract<Effect, { kind: "run-moved" }>,
  before: readonly Effect[],
  now: number,
): Way {
  const way = { from: view.run.state.kind, to: state.kind };
  if (isDeepStrictEqual(nextRunState(view.run, now), state)) return { ...way, on: "counters" };
  const possible = triggers(state.kind === "STOPPING" ? state.verdict.reason : null, before);
  const on = possible.find((one) => findEdge(RUN_EDGES, { ...way, on: one })) ?? possible[0] ?? "";
  return { ...way, on };
}

/** The event that gave a verdict is not in the record of its pass: what it did tells which. */
function triggers(reason: string | null, before: readonly Effect[]): readonly RunTrigger[] {
  if (reason === null || reason === "CANCELLED_BY_USER") return ["cancel"];
  if (reason === "TIMED_OUT") return ["run-moment"];
  const cause = before.findLast(({ kind }) => kind === "task-ended" || kind === "attempt-settled");
  if (cause?.kind === "attempt-settled") return ["report"];
  const byAgent = cause?.kind === "task-ended" && cause.attempt.digest !== null;
  if (cause) return byAgent ? ["report"] : ["lease-moment"];
  return ["ready-moment"];
}
