// Gathers what triggers refuse: refusals with the same reason are one row with a count, written at
// most four times a second, so that refused callers cost the database next to nothing.
import type { Clock } from "../../clock.ts";
import { createLoop, type Loop } from "../../loop.ts";
import type { Refused, Triggers } from "../../store/triggers.ts";

const EVERY_MS = 250;
/** Reasons that wait to be written; further ones are not counted. */
const WAITING_MAX = 1_000;
const MESSAGE_CHARACTERS_MAX = 1_000;

interface Refusals extends Loop {
  add(refused: Omit<Refused, "count">): void;
}

export function createRefusals(options: {
  readonly triggers: Pick<Triggers, "refuse">;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}): Refusals {
  const waiting = new Map<string, Refused>();

  function add(refused: Refused): void {
    const { namespaceId, trigger, reason, message } = refused;
    const of = JSON.stringify([namespaceId, trigger, reason, message]);
    const before = waiting.get(of);
    if (!before && waiting.size >= WAITING_MAX) return;
    waiting.set(of, { ...refused, count: refused.count + (before?.count ?? 0) });
  }

  async function runOnce(): Promise<void> {
    if (waiting.size === 0) return;
    const gathered = [...waiting.values()];
    waiting.clear();
    try {
      await options.triggers.refuse(gathered);
    } catch (error) {
      for (const one of gathered) add(one);
      throw error;
    }
  }

  const loop = createLoop({
    clock: options.clock,
    everyMs: EVERY_MS,
    runOnce,
    onError: options.onError,
  });
  return Object.freeze({
    ...loop,
    add(refused: Omit<Refused, "count">) {
      const message = storable(refused.message);
      add({ ...refused, message, count: 1 });
    },
    async stop() {
      await loop.stop();
      await loop.runOnce();
    },
  });
}

/** The text is from a caller: the database stores no NUL. */
function storable(message: string): string {
  return message.slice(0, MESSAGE_CHARACTERS_MAX).toWellFormed().replaceAll("\0", "\uFFFD");
}
