// What `api/` uses of triggers.
import type { TriggerDefinition } from "../../core/definition/trigger.ts";
import type { CompiledTrigger, TriggerFacts } from "../../expressions/trigger-mapping.ts";
import type { Refused } from "../../store/triggers.ts";
import type { EndedRun } from "./mappings.ts";

export interface TriggerWork {
  /** What the definition does, or everything that is wrong with it. */
  compile(definition: TriggerDefinition): CompiledTrigger;
  /** What a trigger sees of a run that has ended. null: the run exists no more. */
  factsOfEnd(ended: EndedRun): Promise<TriggerFacts | null>;
  /** Lists a refusal with its reason, within seconds. */
  refused(refused: Omit<Refused, "count">): void;
}
