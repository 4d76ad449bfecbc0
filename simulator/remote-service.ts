// A remote service as Drover wants it: it performs a request once for each idempotency key, undoes
// it by that key, and says whether it has performed it.
import type { Payload } from "@drover/server/core/model/payload.ts";

export interface RemoteService {
  /** `step`: the step that requested it, as `hotel` or `chunks[2]`. */
  make(key: string, step: string, output: Payload | null): void;
  undo(key: string): void;
  /** null: it was not performed. */
  find(key: string): { readonly output: Payload | null } | null;
  /**
   * The remaining effects, each named by its step, with the index of the strategy if that is not
   * the first: `hotel`, `hotel/1`.
   */
  left(): readonly string[];
}

export function createRemoteService(): RemoteService {
  const effects = new Map<string, { readonly step: string; readonly output: Payload | null }>();
  return Object.freeze({
    make(key: string, step: string, output: Payload | null) {
      if (!effects.has(key)) effects.set(key, { step, output });
    },
    undo: (key: string) => void effects.delete(key),
    find: (key: string) => effects.get(key) ?? null,
    left: () => [...effects].map(([key, { step }]) => step + strategyOf(key)).sort(),
  } satisfies RemoteService);
}

/** The last part of the key is the index of the strategy; a gate's key has none. */
function strategyOf(key: string): string {
  const place = key.slice(key.lastIndexOf("/"));
  return /^\/[1-9]\d*$/.test(place) ? place : "";
}
