// Time that nobody waits for. Whatever is to happen later lies in one heap, by moment and then in
// the order in which it was put there; between two happenings all promises that can settle do, so
// the order of everything follows from the heap alone.
//
// What is patient lies in a heap of its own: it would only look whether something has happened. It
// comes before the next happening, and where none comes for long, less and less often: a quiet day
// has some hundred looks in it and not a million, and nobody who looks at a happening can tell.
import type { Timer } from "../clock.ts";

export interface VirtualTime {
  /** Whole milliseconds. */
  now(): number;
  after(ms: number, fn: () => void): Timer;
  /** After so long, and later the longer nothing else has happened. */
  patient(ms: number, fn: () => void): Timer;
  /** Lets time pass to what happens next, and lets it happen. */
  step(untilMs: number): Promise<Stepped>;
  /** Lets time pass to `untilMs`, or until `isOver` says so. */
  run(untilMs: number, isOver: () => boolean): Promise<void>;
}

/**
 * `nothing`: nothing does until then. `aside`: something patient came, and what it came with comes
 * next, in the same millisecond.
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

/** Where nothing else happens, what is patient comes so much later than it asked for. */
const [PATIENCE_MS_MIN, PATIENCE_MS_MAX] = [30_000, 600_000];

export function createVirtualTime(startMs: number): VirtualTime {
  const [events, patient] = [createHeap(), createHeap()];
  let nowMs = startMs;
  /** When something last happened that is not patient. */
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

  /** When something patient comes if nothing else does before. */
  function comesAlone({ atMs }: Entry): number {
    return atMs + Math.min(Math.max(atMs - movedMs, PATIENCE_MS_MIN), PATIENCE_MS_MAX);
  }

  /** What happens next, and when; null: nothing does until then. */
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
  /** The least that was not cancelled. */
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
