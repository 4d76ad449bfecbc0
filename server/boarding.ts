// Who waits for a flight, and who boards the next one. Items of one share (a namespace) wait in a
// line of their own. A share with much to carry flies alone; all that have little fly together. So
// who has little stands in no line of thousands, rides in no flight of hundreds, and finds a flight
// while those of a share with much are out. Of those that may leave, the one goes first whose item
// has waited longest: nobody starves. Who comes while another of its key waits stands in line
// behind it, so that they fly together.

/** A share with more items waiting flies alone. */
const LITTLE = 32;
/** Most items of a flight while other shares wait or fly: all of them share the process. */
const BESIDE_OTHERS_MAX = 128;

/** Whose items have a line of their own. */
export type Share = string | number | null;

export interface Passenger {
  readonly share: Share;
  /** Items of one key never fly side by side; null: no such bond. */
  readonly key: string | null;
  /** It flies alone, with those of its key, and may wait for locks. */
  readonly isPatient: boolean;
}

export interface BoardingOptions {
  /** Most items of one flight. */
  readonly itemsMax: number;
  /** Flights out at a time that carry items of one share; of all shares together twice as many. */
  readonly outMax: number;
}

export interface Board<One> {
  readonly passengers: readonly One[];
  /** In whose lines they stood. */
  readonly shares: ReadonlySet<Share>;
}

export interface Boarding<One extends Passenger> {
  wait(one: One): void;
  /** How many wait. */
  waiting(): number;
  /** How many wait whose share may leave now. */
  ready(): number;
  /** Those of the next flight, who wait no more; null: nobody can leave before a flight lands. */
  board(): Board<One> | null;
  landed(board: Board<One>): void;
  /** Flights that are out. */
  out(): number;
}

interface Waiting<One> {
  readonly one: One;
  /** Whose line. */
  readonly share: Share;
  /** By the order in which they came. */
  readonly since: number;
}

export function createBoarding<One extends Passenger>(options: BoardingOptions): Boarding<One> {
  const { itemsMax, outMax } = options;
  const lines = new Map<Share, Waiting<One>[]>();
  const outOf = new Map<Share, number>();
  const keysOut = new Set<string>();
  const keysWaiting = new Map<string, { readonly share: Share; count: number }>();
  let out = 0;
  let count = 0;
  let came = 0;

  /** Lines whose share has fewer flights out than it may. */
  function open(): readonly (readonly [Share, readonly Waiting<One>[]])[] {
    if (out >= 2 * outMax) return [];
    return [...lines].filter(([share]) => (outOf.get(share) ?? 0) < outMax);
  }

  /** Those that may fly together, whoever has waited longest first. */
  function groups(): readonly (readonly Waiting<One>[])[] {
    const all = open();
    const alone = all.flatMap(([, line]) => (line.length > LITTLE ? [line] : []));
    const together = all.flatMap(([, line]) => (line.length > LITTLE ? [] : line));
    together.sort((a, b) => a.since - b.since);
    const found = together.length > 0 ? [...alone, together] : alone;
    return found.sort(([a], [b]) => (a?.since ?? 0) - (b?.since ?? 0));
  }

  /** Of one group, who can leave now. */
  function boardOf(group: readonly Waiting<One>[]): readonly Waiting<One>[] {
    const free = group.filter(({ one: { key } }) => key === null || !keysOut.has(key));
    const patient = free.find(({ one }) => one.isPatient);
    if (!patient) return free.slice(0, most());
    const { key } = patient.one;
    const withIt = free.filter(
      (each) => each === patient || (key !== null && each.one.key === key),
    );
    return withIt.slice(0, itemsMax);
  }

  function most(): number {
    const shares = new Set([...lines.keys(), ...outOf.keys()]);
    return shares.size > 1 ? Math.min(itemsMax, BESIDE_OTHERS_MAX) : itemsMax;
  }

  function lineFor({ key, share }: One): Share {
    if (key === null) return share;
    const waiting = keysWaiting.get(key);
    if (!waiting) keysWaiting.set(key, { share, count: 1 });
    else waiting.count += 1;
    return waiting ? waiting.share : share;
  }

  function leaves(key: string): void {
    keysOut.add(key);
    const waiting = keysWaiting.get(key);
    if (waiting && waiting.count > 1) waiting.count -= 1;
    else keysWaiting.delete(key);
  }

  function leave(board: readonly Waiting<One>[]): Board<One> {
    const left = new Set(board);
    const shares = new Set(board.map(({ share }) => share));
    for (const share of shares) {
      const rest = (lines.get(share) ?? []).filter((each) => !left.has(each));
      if (rest.length > 0) lines.set(share, rest);
      else lines.delete(share);
      outOf.set(share, (outOf.get(share) ?? 0) + 1);
    }
    for (const { one } of board) if (one.key !== null) leaves(one.key);
    count -= board.length;
    out += 1;
    return { passengers: board.map(({ one }) => one), shares };
  }

  return Object.freeze({
    wait(one: One) {
      const share = lineFor(one);
      const line = lines.get(share);
      const waits = { one, share, since: came++ };
      if (line) line.push(waits);
      else lines.set(share, [waits]);
      count += 1;
    },
    waiting: () => count,
    ready: () => open().reduce((sum, [, line]) => sum + line.length, 0),
    board(): Board<One> | null {
      for (const group of groups()) {
        const board = boardOf(group);
        if (board.length > 0) return leave(board);
      }
      return null;
    },
    landed({ passengers, shares }: Board<One>) {
      out -= 1;
      for (const share of shares) {
        const left = (outOf.get(share) ?? 0) - 1;
        if (left > 0) outOf.set(share, left);
        else outOf.delete(share);
      }
      for (const { key } of passengers) if (key !== null) keysOut.delete(key);
    },
    out: () => out,
  });
}
