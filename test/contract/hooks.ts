/** A hook, and what is due to it. */
import type { DueDelivery, OutboxKind } from "../../server/store/outbox.ts";
import { newNamespace, type Opened } from "./fixture.ts";
import { beginAs } from "./hand-made.ts";

/** Deliveries of escalations are in the partition of their cause. */
const EVERYWHERE = Array.from({ length: 256 }, (_, partition) => partition);
export const URL = "https://hooks.example.com/drover";
export const SECRET = { value: "a secret of sixteen", digest: "ab".repeat(32) };
export const ENDED = { state: { kind: "FAILED", reason: "STEP_FAILED" } } as const;

export function hooked(opened: Opened) {
  const store = () => opened().store;
  return {
    /** Returns its namespace: this one, or a new one. */
    async hook(events: readonly OutboxKind[], name = "ops", namespaceId?: number): Promise<number> {
      const of = namespaceId ?? (await newNamespace(store()));
      await store().outbox.putHook({ namespaceId: of, name, url: URL, events, secret: SECRET });
      return of;
    },
    async due(namespaceId: number, limit = 100): Promise<readonly DueDelivery[]> {
      const all = await store().outbox.due(EVERYWHERE, limit);
      return all.filter(({ run }) => run.namespaceId === namespaceId);
    },
    begin: (namespaceId: number, more = {}) =>
      beginAs(store(), [], { namespaceId, workflow: "ship", ...more }),
  };
}
