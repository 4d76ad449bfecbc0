// A remote service that agents act upon: it takes idempotency keys, and knows what stands.
import type { TokenParts } from "./history.ts";
import type { Recorder } from "./recorder.ts";

export interface Remote {
  /** Whether an effect stands under the key. */
  stands(key: string): boolean;
  /** The same key again changes nothing. */
  make(key: string, token: TokenParts): void;
  /** Undoes what stands under the key, if anything does. */
  undo(key: string, token: TokenParts): void;
}

export function createRemote(recorder: Recorder): Remote {
  const standing = new Set<string>();
  const of = ({ runId, step, fence }: TokenParts) => ({ runId, step, fence });
  return Object.freeze({
    stands: (key: string) => standing.has(key),
    make(key: string, token: TokenParts) {
      if (standing.has(key)) return;
      standing.add(key);
      recorder.effect({ did: "made", key, ...of(token) });
    },
    undo(key: string, token: TokenParts) {
      if (standing.delete(key)) recorder.effect({ did: "undone", key, ...of(token) });
    },
  });
}
