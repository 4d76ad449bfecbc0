// A remote service that agents act upon: it takes idempotency keys, and knows which effects exist.
import type { TokenParts } from "./history.ts";
import type { Recorder } from "./recorder.ts";

export interface Remote {
  /** Whether the key has an effect. */
  hasEffect(key: string): boolean;
  /** The same key again changes nothing. */
  make(key: string, token: TokenParts): void;
  /** Whether the key has no effect; then it refuses whatever this task asks for later. */
  refuse(key: string, token: TokenParts): boolean;
  /** Undoes the effect of the key, if there is one. */
  undo(key: string, token: TokenParts): void;
}

export function createRemote(recorder: Recorder): Remote {
  const effects = new Set<string>();
  const refused = new Set<string>();
  const taskOf = (key: string, { fence }: TokenParts): string => `${key} ${fence}`;
  const of = ({ runId, step, fence }: TokenParts) => ({ runId, step, fence });
  return Object.freeze({
    hasEffect: (key: string) => effects.has(key),
    make(key: string, token: TokenParts) {
      if (effects.has(key) || refused.has(taskOf(key, token))) return;
      effects.add(key);
      recorder.effect({ did: "made", key, ...of(token) });
    },
    refuse(key: string, token: TokenParts) {
      if (effects.has(key)) return false;
      refused.add(taskOf(key, token));
      return true;
    },
    undo(key: string, token: TokenParts) {
      if (effects.delete(key)) recorder.effect({ did: "undone", key, ...of(token) });
    },
  });
}
