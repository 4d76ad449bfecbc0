// Virtual time: it passes without waiting. Events lie in one heap, ordered by time and then by
// insertion. Between two events all promises that can settle do so, and the order of everything
// follows from the heap alone.
//
// Patient timers lie in a second heap: they only poll for changes. They run before the next event;
// if none comes for long, they run less and less often. So a quiet day has some hundred polls and
// not a million, and code that polls for events cannot notice the difference.
import type { Timer } from "@drover/server/clock.ts";

export interface VirtualTime {
  /** Whole milliseconds. */
  now(): number;
  after(ms: number, fn: () => void): Timer;
  /** After `ms`, and later the longer no other event has happened. */
  patient(ms: number, fn: () => void): Timer;
  /** Advances time to the next event, and runs it. */
  step(untilMs: number): Promise<Stepped>;
  /** Advances time to `untilMs`, or until `isOver` returns true. */
  run(untilMs: number, isOver: () => boolean): Promise<void>;
}

/**
 * `nothing`: there is no event until `untilMs`. `aside`: a patient timer ran, and the event that it
 * was run before follows in the same millisecond.
 */
export type Stepped = "nothing" | "aside" | "happened";

interface Entry {
  readonly atMs: number;
  readonly number: number;
  fn: (() => void) | null;
}

interface Happening {
  readonly entry: Entry;
  readonly atMs: number;
  readonly isAside: boolean;
}

/** Bounds of the delay of a patient timer if no other event happens. */
const PATIENCE_MS_MIN = 30_000;
const PATIENCE_MS_MAX = 600_000;

export function createVirtualTime(startMs: number): VirtualTime {
  const events = createHeap();
  const patient = createHeap();
  let nowMs = startMs;
  /** When the last event that was not patient happened. */
  let movedMs = startMs;
  let count = 0;

  function put(into: Heap, ms: number, fn: () => void): Timer {
    if (Number.isNaN(ms)) throw new RangeError("A timer was asked to wait NaN milliseconds.");
    const entry: Entry = { atMs: nowMs + Math.ceil(Math.max(ms, 0)), number: count++, fn };
    into.push(entry);
    return {
      cancel() {
        entry.fn = null;
      },
    };
  }

  /** When a patient timer runs if no event happens before. */
  function comesAlone({ atMs }: Entry): number {
    return atMs + Math.min(Math.max(atMs - movedMs, PATIENCE_MS_MIN), PATIENCE_MS_MAX);
  }

  /** The next event and its time; null: there is none until `untilMs`. */
  function next(untilMs: number): Happening | null {
    const first = events.first();
    const waiting = patient.first();
    const eventMs = first && first.atMs <= untilMs ? first.atMs : Number.POSITIVE_INFINITY;
    if (waiting && waiting.atMs <= Math.min(eventMs, untilMs)) {
      const atMs = Math.min(eventMs, comesAlone(waiting));
      if (atMs > untilMs) return null;
      patient.pop();
      return { entry: waiting, atMs, isAside: atMs === eventMs };
    }
    if (!first || first.atMs > untilMs) return null;
    events.pop();
    movedMs = first.atMs;
    return { entry: first, atMs: first.atMs, isAside: false };
  }

  function happen(untilMs: number): Stepped {
    const happening = next(untilMs);
    nowMs = Math.max(nowMs, happening?.atMs ?? untilMs);
    happening?.entry.fn?.();
    if (happening === null) return "nothing";
    return happening.isAside ? "aside" : "happened";
  }

  return Object.freeze({
    now: () => nowMs,
    after: (ms: number, fn: () => void) => put(events, ms, fn),
    patient: (ms: number, fn: () => void) => put(patient, ms, fn),
    async step(untilMs: number) {
      const stepped = happen(untilMs);
      await turn();
      return stepped;
    },
    async run(untilMs: number, isOver: () => boolean) {
      let isLast = false;
      await turn();
      while (!isLast && !isOver()) {
        isLast = happen(untilMs) === "nothing";
        await turn();
      }
    },
  } satisfies VirtualTime);
}

interface Heap {
  push(entry: Entry): void;
  /** The first entry that was not cancelled. */
  first(): Entry | undefined;
  pop(): void;
}

function createHeap(): Heap {
  const heap: Entry[] = [];

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

  function pop(): void {
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const one = heap[left];
      if (!one) break;
      const other = heap[left + 1];
      const isRight = other !== undefined && isBefore(other, one);
      const least = isRight ? other : one;
      if (isBefore(last, least)) break;
      heap[at] = least;
      at = isRight ? left + 1 : left;
    }
    heap[at] = last;
  }

  return {
    push,
    first() {
      while (heap[0]?.fn === null) pop();
      return heap[0];
    },
    pop,
  };
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.number < b.number);
}

/** Node runs the next tick only when no promise is left to settle. */
function turn(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
