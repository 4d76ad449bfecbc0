/** A run of core-world.ts as a store returns it to a caller that asks why it is not moving. */

import type {
  Liveness,
  SeenAttempt,
  SeenEscalation,
  SeenRun,
} from "../../server/core/explain/explanation.ts";
import type { EpochMs } from "../../server/core/model/attempt.ts";
import { isEnded, type Step } from "../../server/core/model/model.ts";
import { START, type World } from "./core-world.ts";

export const NO_SIGNS: Liveness = Object.freeze({
  leases: new Map(),
  polls: new Map(),
  polledMs: 60_000,
  silent: new Set<number>(),
  unwatched: null,
  pauses: new Map(),
  circuits: new Map(),
  cordoned: new Map(),
  agentVersions: new Map(),
  queues: new Map(),
});

export function seenOf(world: World, liveness: Liveness = NO_SIGNS): SeenRun {
  const { run, steps, decisions } = world.view();
  const { state, pivoted } = run;
  const { attempts, escalations } = rowsOf(world);
  return {
    now: world.now(),
    state,
    pivoted,
    createdAt: START,
    steps,
    decisions,
    endedAt: isEnded(state) ? (world.effectsAt.at(-1) ?? START) : null,
    attempts: [...attempts.values()],
    escalations: [...escalations.values()],
    liveness,
  };
}

/**
 * When something happens to a side of a step by itself; null: it does not. A lease has times of its
 * own, and its session, of which no heartbeat is known, may fall silent before they come.
 */
export function nextTimeOf(state: Step["forward"] | Step["undo"]): EpochMs | null {
  if (!("wakeAt" in state)) return null;
  if (state.kind !== "LEASED" || state.cancel.kind === "received") return state.wakeAt;
  return Math.min(state.grantedAt + state.heartbeatMs, state.wakeAt);
}

/** What its effects have left as rows. */
function rowsOf(world: World) {
  const attempts = new Map<string, SeenAttempt>();
  const escalations = new Map<number, SeenEscalation>();
  const closed = new Map(world.escalations().map(({ n, closedBy }) => [n, closedBy !== null]));
  world.effects.forEach((effect, index) => {
    const at: EpochMs = world.effectsAt[index] ?? START;
    switch (effect.kind) {
      case "task-ended":
      case "attempt-settled":
      case "attempt-stored": {
        const { step, kind, fence, n } = effect.attempt;
        const key = [step, kind, fence, n].join("/");
        attempts.delete(key);
        attempts.set(key, effect.attempt);
        return;
      }
      case "escalated": {
        const { n, step, reason, message, deadlineAt } = effect;
        const closedAt = closed.get(n) ? at : null;
        escalations.set(n, { n, step, reason, message, deadlineAt, openedAt: at, closedAt });
      }
    }
  });
  return { attempts, escalations };
}
