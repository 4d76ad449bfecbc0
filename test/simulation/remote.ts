// A remote service that agents act upon: it takes idempotency keys, and knows what stands.
import type { TokenParts } from "./history.ts";
import type { Recorder } from "./recorder.ts";

export interface Remote {
  /** Whether an effect stands under the key. */
  stands(key: string): boolean;
  /** The same key again changes nothing. */
  make(key: string, token: TokenParts): void;
  /** Whether nothing stands under the key; then it refuses whatever this task asks for later. */
  refuse(key: string, token: TokenParts): boolean;
  /** Undoes what stands under the key, if anything does. */
  undo(key: string, token: TokenParts): void;
}

export function createRemote(recorder: Recorder): Remote {
  const standing = new Set<string>();
  const refused = new Set<string>();
  const taskOf = (key: string, { fence }: TokenParts): string => `${key} ${fence}`;
  const of = ({ runId, step, fence }: TokenParts) => ({ runId, step, fence });
  return Object.freeze({
    stands: (key: string) => standing.has(key),
    make(key: string, token: TokenParts) {
      if (standing.has(key) || refused.has(taskOf(key, token))) return;
      standing.add(key);
      recorder.effect({ did: "made", key, ...of(token) });
    },
    refuse(key: string, token: TokenParts) {
      if (standing.has(key)) return false;
      refused.add(taskOf(key, token));
      return true;
    },
    undo(key: string, token: TokenParts) {
      if (standing.delete(key)) recorder.effect({ did: "undone", key, ...of(token) });
    },
  });
}
