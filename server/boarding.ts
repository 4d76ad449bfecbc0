// Who waits for a flight, and who boards the next one. Items of one share (a namespace) wait in a
// line of their own. A share with much to carry flies alone; all that have little fly together. So
// who has little stands in no line of thousands, rides in no flight of hundreds, and finds a flight
// while those of a share with much are out. Of those that may leave, the one goes first whose item
// has waited longest: nobody starves. Who comes while another of its key waits stands in line
// behind it, so that they fly together; while one of its key is out, it waits beside the lines, so
// that a thousand of one run are not gone through for each that comes.

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
  /** How much of `sizeMax` it takes. */
  readonly size: number;
}

export interface BoardingOptions {
  /** Most items of one flight. */
  readonly itemsMax: number;
  /** Most of the sizes of its items together; a single item may be larger. Left out: no bound. */
  readonly sizeMax?: number | undefined;
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
  /** How many wait whose share may leave now, and of whose key none is out. */
  ready(): number;
  /** Those who wait are more than one flight can carry by their sizes. */
  isLarge(): boolean;
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
  const { itemsMax, outMax, sizeMax = Number.POSITIVE_INFINITY } = options;
  const lines = new Map<Share, Waiting<One>[]>();
  const outOf = new Map<Share, number>();
  /** Of each key that is out, who waits for it to land. */
  const keysOut = new Map<string, Waiting<One>[]>();
  const keysWaiting = new Map<string, { readonly share: Share; count: number }>();
  let out = 0;
  let count = 0;
  let size = 0;
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
    const patient = group.find(({ one }) => one.isPatient);
    if (!patient) return withinSize(group.slice(0, most()));
    const { key } = patient.one;
    const withIt = group.filter(
      (each) => each === patient || (key !== null && each.one.key === key),
    );
    return withinSize(withIt.slice(0, itemsMax));
  }

  function withinSize(some: readonly Waiting<One>[]): readonly Waiting<One>[] {
    let sum = 0;
    const over = some.findIndex(({ one }) => {
      sum += one.size;
      return sum > sizeMax;
    });
    return over < 0 ? some : some.slice(0, Math.max(1, over));
  }

  function most(): number {
    const shares = new Set([...lines.keys(), ...outOf.keys()]);
    return shares.size > 1 ? Math.min(itemsMax, BESIDE_OTHERS_MAX) : itemsMax;
  }

  /** null: it waits beside the lines, as one of its key is out. */
  function inLine(each: Waiting<One>): Waiting<One> | null {
    const beside = each.one.key === null ? undefined : keysOut.get(each.one.key);
    beside?.push(each);
    return beside ? null : each;
  }

  /** Who has waited beside the lines stands in line again, by when he came. */
  function lineUp(back: readonly Waiting<One>[]): void {
    for (const [share, some] of Map.groupBy(back, (each) => each.share))
      lines.set(
        share,
        [...(lines.get(share) ?? []), ...some].sort((a, b) => a.since - b.since),
      );
  }

  function lineFor({ key, share }: One): Share {
    if (key === null) return share;
    const waiting = keysWaiting.get(key);
    if (!waiting) keysWaiting.set(key, { share, count: 1 });
    else waiting.count += 1;
    return waiting ? waiting.share : share;
  }

  function leaves(key: string): void {
    keysOut.set(key, []);
    const waiting = keysWaiting.get(key);
    if (waiting && waiting.count > 1) waiting.count -= 1;
    else keysWaiting.delete(key);
  }

  function leave(board: readonly Waiting<One>[]): Board<One> {
    const left = new Set(board);
    const shares = new Set(board.map(({ share }) => share));
    for (const { one } of board) if (one.key !== null) leaves(one.key);
    for (const share of shares) {
      const rest = (lines.get(share) ?? []).flatMap((each) =>
        left.has(each) ? [] : (inLine(each) ?? []),
      );
      if (rest.length > 0) lines.set(share, rest);
      else lines.delete(share);
      outOf.set(share, (outOf.get(share) ?? 0) + 1);
    }
    count -= board.length;
    for (const { one } of board) size -= one.size;
    out += 1;
    return { passengers: board.map(({ one }) => one), shares };
  }

  return Object.freeze({
    wait(one: One) {
      const share = lineFor(one);
      const waits = inLine({ one, share, since: came++ });
      count += 1;
      size += one.size;
      if (!waits) return;
      const line = lines.get(share);
      if (line) line.push(waits);
      else lines.set(share, [waits]);
    },
    waiting: () => count,
    ready: () => open().reduce((sum, [, line]) => sum + line.length, 0),
    isLarge: () => size > sizeMax,
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
      const keys = new Set(passengers.flatMap(({ key }) => key ?? []));
      const back = [...keys].flatMap((key) => keysOut.get(key) ?? []);
      for (const key of keys) keysOut.delete(key);
      lineUp(back);
    },
    out: () => out,
  });
}
