// What the edge is handed of triggers: this is what `rpc` sees of them.
import type { TriggerDefinition } from "../core/trigger.ts";
import type { CompiledTrigger, TriggerFacts } from "../expressions/trigger-mapping.ts";
import type { Refused } from "../store/triggers.ts";
import type { EndedRun } from "./mappings.ts";

export interface TriggerWork {
  /** Everything that is wrong with a definition, or what it does. */
  compile(definition: TriggerDefinition): CompiledTrigger;
  /** What a trigger sees of a run that has ended. */
  factsOfEnd(ended: EndedRun): Promise<TriggerFacts>;
  /** Lists it with its reason, within seconds. */
  refused(refused: Omit<Refused, "count">): void;
}
