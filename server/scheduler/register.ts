// Registers workflows and changes their default versions. A definition that cannot be planned was
// refused before (definition-source.ts), with the paths and lines of the form in which it came.
import type { EngineStore } from "../store/store.ts";
import type { Scheduler } from "./scheduler.ts";

export function createRegister(
  store: EngineStore,
): Pick<Scheduler, "registerWorkflow" | "setDefaultVersion"> {
  return {
    async registerWorkflow(namespace, definition, keepDefault) {
      const definitionId = await store.internDefinition(namespace.id, definition);
      return store.registerWorkflow({
        namespaceId: namespace.id,
        name: definition.workflow,
        definitionId,
        keepDefault,
      });
    },
    setDefaultVersion: (namespace, name, version) =>
      store.setDefaultVersion(namespace.id, name, version),
  };
}
