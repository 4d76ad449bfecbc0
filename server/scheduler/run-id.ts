// Run ids are UUIDv7: 48 bits of the database's time in milliseconds, then random bits. Only the
// server makes them, so their order is the order of creation, and everything that belongs to a run
// can be found by its day. The last byte names the partition (store/partition.ts). A run with a key
// has the last byte of its key: whoever starts a run under the same key finds it in the same shard.
import type { Random } from "../clock.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { PARTITIONS_PER_REGION } from "../store/partition.ts";
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
  const places = partitions && [...new Set(partitions.map((one) => one % PARTITIONS_PER_REGION))];
  return (namespaceId, key) => {
    const drawn = byteOf(`${namespaceId}/${besideSchedule(key)}`);
    return places ? (places[drawn % places.length] ?? 0) : drawn;
  };
}

/**
 * The runs of a backfill are where the runs of the calendar are, so that one transaction decides
 * which of the two begins an occurrence.
 */
function besideSchedule(key: string): string {
  const [, name, own] = BACKFILL_KEY.exec(key) ?? [];
  if (own !== undefined) return besideSchedule(own);
  return name === undefined ? key : `schedule/${name}`;
}

const BACKFILL_KEY = /^backfill\/(\S+)(?: for (.*))?$/s;

/** The concurrency key of a backfill. `own`: the key that runs of the calendar have by themselves. */
export function backfillKey(schedule: string, own: string | null): string {
  return `backfill/${schedule}${own === null ? "" : ` for ${own}`}`;
}

/** FNV-1a over UTF-16, folded: keys that differ in one character are spread evenly. */
function byteOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return (hash ^ (hash >>> 8) ^ (hash >>> 16) ^ (hash >>> 24)) & 0xff;
}
