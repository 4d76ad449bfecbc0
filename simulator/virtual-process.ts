// A process of the simulation: an agent, a client or a server from its start to its crash.
//
//   up → paused (its timers and messages wait) → up (all arrive, late) → dead (none arrives)
//
// In a dead process, a promise that waits for a timer or a message never settles: nothing of the
// process's memory reaches the outside any more. A pause does not stop the process's clock.
import { type Clock, sleepBy, type Timer } from "@drover/server/clock.ts";
import type { Chance } from "./chance.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface VirtualProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly chance: Chance;
  state(): "up" | "paused" | "dead";
  /** Runs `fn` in the process, after `ms`. */
  post(ms: number, fn: () => void): Timer;
  pause(): void;
  resume(): void;
  crash(): void;
  onCrash(listener: () => void): () => void;
}

export function createVirtualProcess(
  name: string,
  time: VirtualTime,
  chance: Chance,
): VirtualProcess {
  let state: "up" | "paused" | "dead" = "up";
  let held: { fn: (() => void) | null }[] = [];
  const listeners = new Set<() => void>();
  /** The monotonic clocks of different processes are unrelated. */
  const startedAtMs = chance.between(0, 1_000_000) - time.now();

  function post(ms: number, fn: () => void): Timer {
    const mail: { fn: (() => void) | null } = { fn };
    const timer = time.after(ms, () => {
      if (state === "paused") held.push(mail);
      else if (state === "up") mail.fn?.();
    });
    return {
      cancel() {
        timer.cancel();
        mail.fn = null;
      },
    };
  }

  return Object.freeze({
    name,
    chance,
    clock: Object.freeze({
      monotonicMs: () => startedAtMs + time.now(),
      wallMs: () => time.now(),
      after: post,
      sleep: sleepBy(post),
    }),
    state: () => state,
    post,
    pause() {
      if (state === "up") state = "paused";
    },
    resume() {
      if (state !== "paused") return;
      state = "up";
      const mail = held;
      held = [];
      for (const { fn } of mail) if (fn) post(0, fn);
    },
    crash() {
      if (state === "dead") return;
      state = "dead";
      held = [];
      for (const listener of listeners) listener();
      listeners.clear();
    },
    onCrash(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  } satisfies VirtualProcess);
}
