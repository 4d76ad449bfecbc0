// The remote services of a rehearsal, as one that keeps its promise: it does what is asked under an
// idempotency key once, undoes it by that key, and tells whether it has done it.
import type { Payload } from "../core/payload.ts";

export interface Outside {
  /** The step that it was done for, as `hotel` or `chunks[2]`. */
  make(key: string, step: string, output: Payload | null): void;
  undo(key: string): void;
  /** null: it was not done. */
  find(key: string): { readonly output: Payload | null } | null;
  /**
   * The effects that are there: each by its step, and by its strategy where that is not the first:
   * `hotel`, `hotel/1`.
   */
  left(): readonly string[];
}

export function createOutside(): Outside {
  const effects = new Map<string, { readonly step: string; readonly output: Payload | null }>();
  return Object.freeze({
    make(key: string, step: string, output: Payload | null) {
      if (!effects.has(key)) effects.set(key, { step, output });
    },
    undo: (key: string) => void effects.delete(key),
    find: (key: string) => effects.get(key) ?? null,
    left: () => [...effects].map(([key, { step }]) => step + strategyOf(key)).sort(),
  } satisfies Outside);
}

/** The last part of the key is the place of the strategy; of a gate it is none. */
function strategyOf(key: string): string {
  const place = key.slice(key.lastIndexOf("/"));
  return /^\/[1-9]\d*$/.test(place) ? place : "";
}
