// Which pending items are in the next batch. The items of one share (a namespace) wait in a queue
// of their own. A share with many items has batches of its own; the shares with few items are
// batched together. So a share with few items never waits behind thousands of another share, is not
// part of a batch of hundreds, and can be flushed while the batches of a busy share are in flight.
// Of the batches that may be formed, the one with the item that has waited longest is next: no
// share starves. An item whose key is pending joins the queue of that item, so that they are in one
// batch; an item whose key is in flight waits beside the queues, so that a thousand items of one
// run are not scanned for each item that arrives.

/** A share with more pending items has batches of its own. */
const FEW = 32;
/** Most items of a batch while other shares have items pending or in flight. */
const BESIDE_OTHERS_MAX = 128;

/** The owner of a queue: a namespace, or null for the server itself. */
export type Share = string | number | null;

export interface QueuedItem {
  readonly share: Share;
  /** Items with one key are never in two batches in flight; null: no such bond. */
  readonly key: string | null;
  /** It has a batch to itself and to those with its key, and may wait for locks. */
  readonly isPatient: boolean;
  /** How much of `sizeMax` it takes. */
  readonly size: number;
}

interface BatchQueueOptions {
  /** Most items of one batch. */
  readonly itemsMax: number;
  /** Most of the sizes of its items together; a single item may be larger. Left out: no bound. */
  readonly sizeMax?: number | undefined;
  /** Batches in flight with items of one share; of all shares together twice as many. */
  readonly inFlightMax: number;
}

export interface FormedBatch<Item> {
  readonly items: readonly Item[];
  /** The shares in whose queues they waited. */
  readonly shares: ReadonlySet<Share>;
}

export interface BatchQueue<Item extends QueuedItem> {
  add(item: Item): void;
  /** Items that are pending. */
  pending(): number;
  /** Pending items whose share may have another batch, and whose key is not in flight. */
  ready(): number;
  /** The pending items are more than one batch can hold by their sizes. */
  exceedsOneBatch(): boolean;
  /** Removes the items of the next batch; null: none can be formed until a batch has finished. */
  next(): FormedBatch<Item> | null;
  finished(batch: FormedBatch<Item>): void;
  /** Batches in flight. */
  inFlight(): number;
}

interface Waiting<Item> {
  readonly item: Item;
  /** The share in whose queue it waits. */
  readonly share: Share;
  /** Its number in the order of arrival. */
  readonly no: number;
}

interface State<Item> {
  readonly itemsMax: number;
  /** Infinity: no bound. */
  readonly sizeMax: number;
  readonly inFlightMax: number;
  /** The items that wait in the queue of each share, in the order of arrival. */
  readonly queues: Map<Share, Waiting<Item>[]>;
  /** Batches in flight with items of each share. */
  readonly batchesOf: Map<Share, number>;
  /** By key in flight, the items that wait for its batch to finish. */
  readonly besideKey: Map<string, Waiting<Item>[]>;
  /** By key, the queue that its pending items join, and how many they are. */
  readonly pendingKeys: Map<string, { readonly share: Share; count: number }>;
  /** Batches in flight. */
  batches: number;
  /** Pending items, and the sum of their sizes. */
  count: number;
  size: number;
  /** Items that were ever added. */
  arrived: number;
}

export function createBatchQueue<Item extends QueuedItem>({
  itemsMax,
  sizeMax = Number.POSITIVE_INFINITY,
  inFlightMax,
}: BatchQueueOptions): BatchQueue<Item> {
  const state: State<Item> = {
    itemsMax,
    sizeMax,
    inFlightMax,
    queues: new Map(),
    batchesOf: new Map(),
    besideKey: new Map(),
    pendingKeys: new Map(),
    batches: 0,
    count: 0,
    size: 0,
    arrived: 0,
  };
  return Object.freeze({
    add: (item) => add(state, item),
    pending: () => state.count,
    ready: () => open(state).reduce((sum, [, queue]) => sum + queue.length, 0),
    exceedsOneBatch: () => state.size > sizeMax,
    next: () => next(state),
    finished: (batch) => finished(state, batch),
    inFlight: () => state.batches,
  } satisfies BatchQueue<Item>);
}

function add<Item extends QueuedItem>(state: State<Item>, item: Item): void {
  const { queues } = state;
  const share = queueFor(state, item);
  const waits = unlessKeyInFlight(state, { item, share, no: state.arrived++ });
  state.count += 1;
  state.size += item.size;
  if (!waits) return;
  const queue = queues.get(share);
  if (queue) queue.push(waits);
  else queues.set(share, [waits]);
}

function queueFor<Item>({ pendingKeys }: State<Item>, { key, share }: QueuedItem): Share {
  if (key === null) return share;
  const pending = pendingKeys.get(key);
  if (!pending) pendingKeys.set(key, { share, count: 1 });
  else pending.count += 1;
  return pending ? pending.share : share;
}

/** null: its key is in flight, and it waits beside the queues. */
function unlessKeyInFlight<Item extends QueuedItem>(
  { besideKey }: State<Item>,
  each: Waiting<Item>,
): Waiting<Item> | null {
  const beside = each.item.key === null ? undefined : besideKey.get(each.item.key);
  beside?.push(each);
  return beside ? null : each;
}

function next<Item extends QueuedItem>(state: State<Item>): FormedBatch<Item> | null {
  for (const group of groups(state)) {
    const batch = batchOf(state, group);
    if (batch.length > 0) return form(state, batch);
  }
  return null;
}

/** Queues whose share has fewer batches in flight than it may have. */
function open<Item>(state: State<Item>): readonly (readonly [Share, readonly Waiting<Item>[]])[] {
  const { inFlightMax, queues, batchesOf, batches } = state;
  if (batches >= 2 * inFlightMax) return [];
  return [...queues].filter(([share]) => (batchesOf.get(share) ?? 0) < inFlightMax);
}

/** Items that may be in one batch, the group with the oldest item first. */
function groups<Item>(state: State<Item>): readonly (readonly Waiting<Item>[])[] {
  const all = open(state);
  const alone = all.flatMap(([, queue]) => (queue.length > FEW ? [queue] : []));
  const together = all.flatMap(([, queue]) => (queue.length > FEW ? [] : queue));
  together.sort((a, b) => a.no - b.no);
  const found = together.length > 0 ? [...alone, together] : alone;
  return found.sort(([a], [b]) => (a?.no ?? 0) - (b?.no ?? 0));
}

/** The items of one group that are in its next batch. */
function batchOf<Item extends QueuedItem>(
  state: State<Item>,
  group: readonly Waiting<Item>[],
): readonly Waiting<Item>[] {
  const { itemsMax, sizeMax } = state;
  const patient = group.find(({ item }) => item.isPatient);
  if (!patient) return withinSize(group.slice(0, mostItems(state)), sizeMax);
  const { key } = patient.item;
  const withIt = group.filter(
    (each) => each === patient || (key !== null && each.item.key === key),
  );
  return withinSize(withIt.slice(0, itemsMax), sizeMax);
}

function mostItems<Item>({ itemsMax, queues, batchesOf }: State<Item>): number {
  const shares = new Set([...queues.keys(), ...batchesOf.keys()]);
  return shares.size > 1 ? Math.min(itemsMax, BESIDE_OTHERS_MAX) : itemsMax;
}

function withinSize<Item extends QueuedItem>(
  some: readonly Waiting<Item>[],
  sizeMax: number,
): readonly Waiting<Item>[] {
  let sum = 0;
  const over = some.findIndex(({ item }) => {
    sum += item.size;
    return sum > sizeMax;
  });
  return over < 0 ? some : some.slice(0, Math.max(1, over));
}

/** Takes the items of the batch out of their queues. */
function form<Item extends QueuedItem>(
  state: State<Item>,
  batch: readonly Waiting<Item>[],
): FormedBatch<Item> {
  const { queues, batchesOf } = state;
  const left = new Set(batch);
  const shares = new Set(batch.map(({ share }) => share));
  for (const { item } of batch) if (item.key !== null) keyLeaves(state, item.key);
  for (const share of shares) {
    const rest = (queues.get(share) ?? []).flatMap((each) =>
      left.has(each) ? [] : (unlessKeyInFlight(state, each) ?? []),
    );
    if (rest.length > 0) queues.set(share, rest);
    else queues.delete(share);
    batchesOf.set(share, (batchesOf.get(share) ?? 0) + 1);
  }
  state.count -= batch.length;
  for (const { item } of batch) state.size -= item.size;
  state.batches += 1;
  return { items: batch.map(({ item }) => item), shares };
}

function keyLeaves<Item>({ besideKey, pendingKeys }: State<Item>, key: string): void {
  besideKey.set(key, []);
  const pending = pendingKeys.get(key);
  if (pending && pending.count > 1) pending.count -= 1;
  else pendingKeys.delete(key);
}

function finished<Item extends QueuedItem>(
  state: State<Item>,
  { items, shares }: FormedBatch<Item>,
): void {
  const { batchesOf, besideKey } = state;
  state.batches -= 1;
  for (const share of shares) {
    const left = (batchesOf.get(share) ?? 0) - 1;
    if (left > 0) batchesOf.set(share, left);
    else batchesOf.delete(share);
  }
  const keys = new Set(items.flatMap(({ key }) => key ?? []));
  const back = [...keys].flatMap((key) => besideKey.get(key) ?? []);
  for (const key of keys) besideKey.delete(key);
  putBack(state, back);
}

/** Puts items that waited beside the queues back into them, in the order of arrival. */
function putBack<Item>({ queues }: State<Item>, back: readonly Waiting<Item>[]): void {
  for (const [share, some] of Map.groupBy(back, (each) => each.share))
    queues.set(
      share,
      [...(queues.get(share) ?? []), ...some].sort((a, b) => a.no - b.no),
    );
}
