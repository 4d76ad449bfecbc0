// Registers workflows: what cannot be planned is refused before anything is stored.
import type { Definition } from "../core/definition.ts";
import { definitionProblems } from "../core/definition-check.ts";
import { DroverError } from "../errors.ts";
import type { Namespace, Store } from "../store/store.ts";
import type { Scheduler } from "./scheduler.ts";

export function createRegister(store: Store): Pick<Scheduler, "registerWorkflow"> {
  return {
    async registerWorkflow(namespace: Namespace, definition: Definition, keepDefault: boolean) {
      refuseProblems(definition);
      const definitionId = await store.internDefinition(namespace.id, definition);
      return store.registerWorkflow({
        namespaceId: namespace.id,
        name: definition.workflow,
        definitionId,
        keepDefault,
      });
    },
  };
}

/** Throws INVALID_DEFINITION with every problem of the definition as a whole. */
export function refuseProblems(definition: Definition): void {
  const fields = definitionProblems(definition);
  const [first] = fields;
  if (!first) return;
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : "";
  throw new DroverError(
    "INVALID_DEFINITION",
    `workflow "${definition.workflow}": ${first.message}${more}`,
    { fields },
  );
}
