// A trigger's definition as it is stored. Its payloads are JSON: others are refused when it is put.
import type { TriggerDefinition } from "../core/trigger.ts";

export function triggerText(definition: TriggerDefinition): string {
  return JSON.stringify(definition);
}

/** Reads what `triggerText` wrote; nothing else may be given to it. */
export function triggerFromText(text: string): TriggerDefinition {
  return JSON.parse(text);
}
