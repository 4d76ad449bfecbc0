// Run ids are UUIDv7: 48 bits of the database's time in milliseconds, then random bits. Only the
// server makes them, so their order is the order of creation, and everything that belongs to a run
// can be found by its day. The last byte names the partition (store/partition.ts). A run with a key
// has the last byte of its key: whoever starts a run under the same key finds it in the same shard.
import type { Random } from "../clock.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { placeOf } from "../store/partition.ts";
import { uuidText } from "../uuid.ts";

export function newRunId(now: EpochMs, random: Random): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Math.floor(now), 0, 6);
  bytes.set(random.bytes(10), 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(bytes);
}

/** The same id with another last byte. */
export function inPlace(runId: string, place: number): string {
  return runId.slice(0, -2) + place.toString(16).padStart(2, "0");
}

/** The last byte of the runs of a key. */
export type PlaceOfKey = (namespaceId: number, key: string) => number;

/** `partitions`: those that exist; left out: all. */
export function createPlaceOfKey(partitions?: readonly number[]): PlaceOfKey {
  const places = partitions && [...new Set(partitions.map(placeOf))];
  return (namespaceId, key) => {
    if (key.startsWith(BY_HAND)) return byteAt(key, BY_HAND.length + LAST_BYTE);
    const drawn = byteOf(`${namespaceId}/${key.replace(BACKFILL, "schedule/")}`);
    return places ? (places[drawn % places.length] ?? 0) : drawn;
  };
}

// All runs of a schedule are in its shard, so that each is recorded in the transaction that begins
// it, and one transaction decides whether the calendar or a backfill begins an occurrence.
const BACKFILL = /^backfill\//;
/** No caller can give such a key to a run: theirs have no control characters. */
const BY_HAND = "\u0001trigger ";
/** Of a UUID, in characters. */
const LAST_BYTE = 34;

/** The idempotency key of a run that a person starts by hand. */
export function keyByHand(scheduleId: string, requestId: string): string {
  return `${BY_HAND}${scheduleId} ${requestId}`;
}

function byteAt(text: string, at: number): number {
  return Number.parseInt(text.slice(at, at + 2), 16);
}

/** FNV-1a over UTF-16, folded: keys that differ in one character are spread evenly. */
function byteOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & 0xff;
}
