// Time that nobody waits for. Whatever is to happen later lies in one heap, by moment and then in
// the order in which it was put there; between two happenings all promises that can settle do, so
// the order of everything follows from the heap alone.
import type { Timer } from "../../server/clock.ts";

export interface VirtualTime {
  /** Whole milliseconds. */
  now(): number;
  after(ms: number, fn: () => void): Timer;
  /** Lets time pass to `untilMs`, or until `isOver` says so. */
  run(untilMs: number, isOver: () => boolean): Promise<void>;
}

interface Entry {
  readonly atMs: number;
  readonly number: number;
  fn: (() => void) | null;
}

export function createVirtualTime(startMs: number): VirtualTime {
  const heap: Entry[] = [];
  let nowMs = startMs;
  let count = 0;

  function push(entry: Entry): void {
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (!above || isBefore(above, entry)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = entry;
  }

  function pop(): Entry | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [one, other] = [heap[left], heap[left + 1]];
      if (!one) break;
      const isRight = other !== undefined && isBefore(other, one);
      const least = isRight ? other : one;
      if (isBefore(last, least)) break;
      heap[at] = least;
      at = isRight ? left + 1 : left;
    }
    heap[at] = last;
    return first;
  }

  return Object.freeze({
    now: () => nowMs,
    after(ms: number, fn: () => void): Timer {
      if (Number.isNaN(ms)) throw new RangeError("A timer was asked to wait NaN milliseconds.");
      const entry: Entry = { atMs: nowMs + Math.ceil(Math.max(ms, 0)), number: count++, fn };
      push(entry);
      return {
        cancel() {
          entry.fn = null;
        },
      };
    },
    async run(untilMs: number, isOver: () => boolean) {
      for (;;) {
        await turn();
        if (isOver()) return;
        const next = heap[0];
        if (!next || next.atMs > untilMs) {
          nowMs = Math.max(nowMs, untilMs);
          return;
        }
        pop();
        nowMs = next.atMs;
        next.fn?.();
      }
    },
  } satisfies VirtualTime);
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);
}

/** Node runs the next tick only when no promise is left to settle. */
function turn(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
