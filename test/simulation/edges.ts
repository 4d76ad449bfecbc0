// Which rows of the state table a run of the simulation took, from what was committed.
// Each effect of a pass is applied by itself; a transition that the table lacks is a violation.
// Steps that a run reuses of another one start in their final state.
import { isDeepStrictEqual } from "node:util";
import { evolve, untouchedStep } from "../../server/core/evolve.ts";
import type { Step, View } from "../../server/core/model/model.ts";
import {
  FORWARD_EDGES,
  RUN_EDGES,
  type StepTrigger,
  UNDO_EDGES,
} from "../../server/core/model/state-table.ts";
import { shapeOf } from "../../server/core/pass.ts";
import { type Plan, planStepAt } from "../../server/core/plan/plan.ts";
import type { PassRecord } from "../../server/store/pass-record.ts";

/** As `forward: LEASED -succeeded-> SUCCEEDED`. */
export type EdgeName = string;

export interface Edges {
  readonly taken: ReadonlyMap<EdgeName, number>;
  /** Transitions that are not in the table. */
  readonly strange: readonly string[];
  pass(record: PassRecord, plan: Plan): void;
  /** A ready row became a lease, or a heartbeat was answered with a cancel. */
  step(side: "forward" | "undo", on: "claim" | "heartbeat"): void;
}

export const EVERY_EDGE: readonly EdgeName[] = [
  ...RUN_EDGES.map((edge) => nameOf("run", edge)),
  ...FORWARD_EDGES.map((edge) => nameOf("forward", edge)),
  ...UNDO_EDGES.map((edge) => nameOf("undo", edge)),
];

/**
 * A report that comes late, about a strategy that is being left, while the step waits or its run is
 * paused; or a child that is left for another one, and undone. The seeds take each of these about
 * once in a thousand.
 */
export const RARE_EDGES: ReadonlySet<EdgeName> = new Set([
  "forward: BACKOFF -strategy-undoing-> UNDOING",
  "forward: HELD -strategy-undoing-> UNDOING",
  "forward: UNDOING -child-began-> WAITING",
  "undo: FAILED -held-> HELD",
  "undo: HELD -backed-off-> BACKOFF",
  "undo: HELD -undo-failed-> FAILED",
]);

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
      // A new row says nothing about the side that did not change.
      const same = was ? was[side] === step[side] : isDeepStrictEqual(before[side], step[side]);
      if (!same) take(side, { from: before[side].kind, on, to: step[side].kind });
    }
  }

  return Object.freeze({
    taken,
    strange,
    pass(record: PassRecord, plan: Plan) {
      const shape = (no: number) => {
        const step = planStepAt(plan, no);
        if (!step) throw new Error(`the plan of ${plan.workflow} has no step ${no}`);
        return shapeOf(step);
      };
      // A new run has no state before: there is only its start to follow.
      const isNew = record.before.run === record.after.run;
      const first = { ...record.before.run, state: { kind: "RUNNING", deadline: null } } as const;
      let view: View = isNew ? { ...record.before, run: first } : record.before;
      for (const effect of record.effects) {
        const after = evolve(view, effect, shape);
        if (effect.kind === "run-moved")
          take("run", { from: view.run.state.kind, on: effect.by, to: effect.state.kind });
        else if (effect.kind !== "reused" && ("step" in effect || "attempt" in effect))
          for (const step of after.steps.values())
            if (view.steps.get(step.no) !== step)
              moved(view.steps.get(step.no), step, shape(step.no).needs, effect.kind);
        view = after;
      }
      if (
        !isNew &&
        !isDeepStrictEqual({ ...view.run, version: 0 }, { ...record.after.run, version: 0 })
      )
        strange.push(`the effects alone do not make the run ${record.head.runId}`);
    },
    step(side: "forward" | "undo", on: "claim" | "heartbeat") {
      take(side, { from: on === "claim" ? "READY" : "LEASED", on, to: "LEASED" });
    },
  } satisfies Edges);
}
