/** Pins a queue of the workflow `test` to one version of agents, as an operator would. */
import type { Definition } from "../../server/core/definition/definition.ts";
import { type Opened, type Scheduled, schedule } from "./fixture.ts";

export type OfNamespace = Pick<Scheduled, "namespaceId">;

/** `version` 0: every version of the workflow. */
export function pinning(opened: Opened) {
  const of = ({ namespaceId }: OfNamespace, version: number, queue: string) => {
    return { namespaceId, queue, workflow: "test", version };
  };
  return {
    pin: (run: OfNamespace, agentVersion: string, version = 0, queue = "default") =>
      opened().store.pins.pin(of(run, version, queue), agentVersion),
    unpin: (run: OfNamespace, version = 0, queue = "default") =>
      opened().store.pins.unpin(of(run, version, queue)),
    /** The definition as the next version of the workflow; a run of it. */
    async versionOf({ namespaceId }: OfNamespace, definition: Definition): Promise<Scheduled> {
      const { store } = opened();
      const definitionId = await store.internDefinition(namespaceId, definition);
      const registered = { namespaceId, name: "test", definitionId, keepDefault: false };
      const { version } = await store.registerWorkflow(registered);
      return schedule(store, definition, { namespaceId, version });
    },
  };
}
