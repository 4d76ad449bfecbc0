// Batches that form by themselves. Items are gathered into flights: one leaves at once if the last
// left `spacingMs` ago or more, so a lonely call waits for nobody; else when that time is over,
// `fullAt` items wait, or more than the sizes of one flight allow. Where calls come together, that
// time follows what flights take, so that a machine which is slow, or busy, is not made busier by
// many small ones.
//
//   item: waiting → in flight → settled, or waiting again ("again": somebody else holds its row;
//   "postponed": this flight did not try it)
//
// A flight that fails by a retryable code flies once more; else it is split in halves until the bad
// item fails alone. Items with the same key are in one flight at a time; after MISSES_MAX tries an
// item flies alone and may wait for the row. Who boards which flight: boarding.ts. The queue is
// bounded for callers, whom it refuses with OVERLOADED: they repeat their call.
import { type Board, createBoarding, type Share } from "./boarding.ts";
import type { Clock, Timer } from "./clock.ts";
import { DroverError } from "./errors.ts";

const MISSES_MAX = 3;
const OVERLOADED_RETRY_MS = 250;
/** Between flights that carry more than a lonely call, in what they take, and at most. */
const SPACING_PER_FLIGHT = 2;
const SPACING_MS_MAX = 12;
/** Items that flights carry on the average where each call is alone. */
const LONELY_BELOW = 1.05;
/** How much the last flight counts in what flights take and carry. */
const LAST_COUNTS = 0.2;

export type Landing<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly error: unknown }
  /** Somebody else holds its row: it flies again, and at last alone. */
  | { readonly kind: "again" }
  /** The flight had no room for it: it flies again, and that is no miss. */
  | { readonly kind: "postponed" };

export interface FlightsOptions<Item, Result> {
  readonly name: string;
  readonly clock: Clock;
  readonly spacingMs: number;
  readonly fullAt: number;
  /** Most items of one flight. */
  readonly itemsMax: number;
  /** Most of the sizes of its items together; a single item may be larger. Left out: no bound. */
  readonly sizeMax?: number;
  /** Flights out at a time that carry items of one share; of all shares together twice as many. */
  readonly outMax: number;
  /** Items that may wait before callers are refused; left out: there are no callers. */
  readonly waitingMax?: number;
  /** Items of one key never fly side by side; null: no such bond. */
  readonly keyOf?: (item: Item) => string;
  /** Left out: 1. */
  readonly sizeOf?: (item: Item) => number;
  /** Left out: all are of one share. */
  readonly shareOf?: (item: Item) => Share;
  /** The same flight may be tried again as it is. */
  readonly isRetryable: (error: unknown) => boolean;
  /** Hears of each flight that has landed, or failed: how many were on board, for how long. */
  readonly onFlown?: OnFlown | undefined;
  /** One landing for each item, in order. `wait`: a flight of its own, which may wait for locks. */
  readonly fly: (items: readonly Item[], wait: boolean) => Promise<readonly Landing<Result>[]>;
}

/** A flight of this name, `ms` long, with so many items. */
export type OnFlown = (name: string, items: number, ms: number) => void;

export interface Flights<Item, Result> {
  /**
   * Throws OVERLOADED where so many more items have no room to wait. What is submitted right after
   * it, before anything else is awaited, is not refused.
   */
  admit(count: number): void;
  submit(item: Item): Promise<Result>;
  /**
   * What the server does of its own accord. It is never refused, since nobody would repeat it in
   * time: while callers fill the queue, no silence would be noticed. Who submits it bounds it.
   */
  submitOwn(item: Item): Promise<Result>;
  /** Resolves when nothing waits and nothing is out. */
  idle(): Promise<void>;
}

interface Passenger<Item, Result> {
  readonly item: Item;
  readonly share: Share;
  readonly key: string | null;
  readonly size: number;
  misses: number;
  isPatient: boolean;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export function createFlights<Item, Result>(
  options: FlightsOptions<Item, Result>,
): Flights<Item, Result> {
  const { clock } = options;
  const boarding = createBoarding<Passenger<Item, Result>>(options);
  const idlers: (() => void)[] = [];
  let leftAt = Number.NEGATIVE_INFINITY;
  let carries = 1;
  let takesMs = 0;
  let timer: Timer | null = null;

  function consider(): void {
    const ready = boarding.ready();
    if (ready === 0) return;
    const dueIn = leftAt + spacingMs() - clock.monotonicMs();
    if (dueIn > 0 && ready < options.fullAt && !boarding.isLarge()) {
      if (timer === null)
        timer = clock.after(dueIn, () => {
          timer = null;
          consider();
        });
      return;
    }
    const board = boarding.board();
    if (!board) return;
    leave(board);
    consider();
  }

  function spacingMs(): number {
    if (carries < LONELY_BELOW) return options.spacingMs;
    return Math.max(options.spacingMs, Math.min(takesMs * SPACING_PER_FLIGHT, SPACING_MS_MAX));
  }

  const isIdle = (): boolean => boarding.out() === 0 && boarding.waiting() === 0;

  function leave(board: Board<Passenger<Item, Result>>): void {
    const { passengers } = board;
    leftAt = clock.monotonicMs();
    carries += (passengers.length - carries) * LAST_COUNTS;
    const leftAtMs = leftAt;
    const wait = passengers.some(({ isPatient }) => isPatient);
    void fly(passengers, wait).finally(() => {
      const tookMs = clock.monotonicMs() - leftAtMs;
      takesMs += (tookMs - takesMs) * LAST_COUNTS;
      options.onFlown?.(options.name, passengers.length, tookMs);
      boarding.landed(board);
      consider();
      if (isIdle()) for (const idler of idlers.splice(0)) idler();
    });
  }

  async function fly(
    board: readonly Passenger<Item, Result>[],
    wait: boolean,
    tries = 0,
  ): Promise<void> {
    try {
      const landings = await options.fly(
        board.map(({ item }) => item),
        wait,
      );
      for (const [place, passenger] of board.entries()) land(passenger, landings[place]);
    } catch (error) {
      if (options.isRetryable(error) && tries === 0) return fly(board, wait, 1);
      if (board.length === 1 || isAway(error)) {
        const held = options.isRetryable(error) && !isAway(error);
        const told = held ? heldElsewhere(error) : error;
        for (const passenger of board) passenger.reject(told);
        return;
      }
      const half = Math.ceil(board.length / 2);
      await fly(board.slice(0, half), wait);
      await fly(board.slice(half), wait);
    }
  }

  function land(passenger: Passenger<Item, Result>, landing: Landing<Result> | undefined): void {
    if (landing?.kind === "done") passenger.resolve(landing.result);
    else if (landing?.kind === "failed") passenger.reject(landing.error);
    else if (landing?.kind === "postponed") boarding.wait(passenger);
    else if (landing?.kind === "again" && passenger.misses <= MISSES_MAX) {
      passenger.misses += 1;
      passenger.isPatient = passenger.misses >= MISSES_MAX;
      boarding.wait(passenger);
    } else passenger.reject(new Error(`flight ${options.name} landed without an answer`));
  }

  function admit(count: number): void {
    if (boarding.waiting() + count <= (options.waitingMax ?? Number.POSITIVE_INFINITY)) return;
    throw new DroverError(
      "OVERLOADED",
      `${boarding.waiting()} calls wait for the store already: try again a little later`,
      { retryAfterMs: OVERLOADED_RETRY_MS, metadata: { flight: options.name } },
    );
  }

  function submitOwn(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const [key, share] = [options.keyOf?.(item) ?? null, options.shareOf?.(item) ?? null];
      const size = options.sizeOf?.(item) ?? 1;
      boarding.wait({ item, share, key, size, misses: 0, isPatient: false, resolve, reject });
      consider();
    });
  }

  return Object.freeze({
    admit,
    async submit(item: Item): Promise<Result> {
      admit(1);
      return submitOwn(item);
    },
    submitOwn,
    idle(): Promise<void> {
      if (isIdle()) return Promise.resolve();
      return new Promise((resolve) => idlers.push(resolve));
    },
  });
}

/**
 * It was tried twice and somebody else held its rows: nothing has changed, and it may be repeated.
 */
function heldElsewhere(cause: unknown): DroverError {
  return new DroverError(
    "STORE_UNAVAILABLE",
    "another transaction holds what this call needs: repeat it",
    { retryAfterMs: OVERLOADED_RETRY_MS, cause },
  );
}

/** The store is away for all of them alike: halves would only ask it again. */
function isAway(error: unknown): boolean {
  return error instanceof DroverError && error.reason === "STORE_UNAVAILABLE";
}
