// A trigger's definition as it is stored. Its payloads are JSON: a trigger with others is refused.
import type { TriggerDefinition } from "../core/definition/trigger.ts";

export function triggerText(definition: TriggerDefinition): string {
  return JSON.stringify(definition);
}

/** The text must come from `triggerText`. */
export function triggerFromText(text: string): TriggerDefinition {
  return JSON.parse(text);
}
