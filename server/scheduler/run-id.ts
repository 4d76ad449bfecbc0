// Run ids are UUIDv7: 48 bits of the database's time in milliseconds, then random bits. Only the
// server makes them, so their order is the order of creation, and everything that belongs to a run
// can be found by its day.
import type { Random } from "../clock.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { uuidText } from "../uuid.ts";

export function newRunId(now: EpochMs, random: Random): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Math.floor(now), 0, 6);
  bytes.set(random.bytes(10), 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidText(bytes);
}
