// The mappings of triggers, compiled once for each definition, and the facts of ended runs that
// they use.

import type { TriggerDefinition } from "../../core/definition/trigger.ts";
import type { EndKind, Reason } from "../../core/model/model.ts";
import type { Payload } from "../../core/model/payload.ts";
import { type Json, parseJson } from "../../expressions/json.ts";
import {
  type CompiledTrigger,
  compileTrigger,
  type TriggerFacts,
} from "../../expressions/trigger-mapping.ts";
import { firstFailure, lastSteps, outputOf } from "../../scheduler/children.ts";
import type { Plans } from "../../store/plans.ts";
import type { EngineStore, RunId } from "../../store/store.ts";
import { triggerText } from "../../store/trigger-text.ts";

const KEPT_MAX = 1_000;

/** Compiling a definition may take a second, so each definition is compiled once. */
export function createMappings(): (definition: TriggerDefinition) => CompiledTrigger {
  const known = new Map<string, CompiledTrigger>();
  return (definition) => {
    const text = triggerText(definition);
    const compiled = known.get(text) ?? compileTrigger(definition);
    if (known.size >= KEPT_MAX) known.clear();
    known.set(text, compiled);
    return compiled;
  };
}

/** A run that has ended, as a trigger sees it. */
export interface EndedRun {
  readonly namespaceId: number;
  readonly runId: RunId;
  readonly definitionId: number;
  readonly state: EndKind;
  readonly reason: Reason;
}

/**
 * null: the run exists no more. It was erased since its end was read, or a fail-over has lost it;
 * its row in `trigger_end` has gone with it.
 */
export async function factsOfEnd(
  { store, plans }: { readonly store: Pick<EngineStore, "facts">; readonly plans: Plans },
  { namespaceId, runId, definitionId, state, reason }: EndedRun,
): Promise<TriggerFacts | null> {
  const { plan } = await plans.get(namespaceId, definitionId);
  const done = state === "COMPLETED";
  const steps = (done ? lastSteps(plan) : plan.steps).map(({ no }) => no);
  const facts = (await store.facts([{ runId, steps }])).get(runId);
  if (!facts) return null;
  const { id, workflow, version, labels, key, input } = facts.run;
  return {
    kind: "run-end",
    run: { id, workflow, version, labels, key: key ?? "", state, reason },
    input: jsonOf(input),
    output: jsonOf(outputOf(plan, facts)),
    why: done ? "" : firstFailure(plan, facts),
  };
}

/** null: it is not JSON. */
function jsonOf(payload: Payload | null): Json {
  if (payload?.kind !== "json") return null;
  const parsed = parseJson(payload.json);
  return parsed.ok ? parsed.value : null;
}
