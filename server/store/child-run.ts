// The id of a child run is computed from its parent's id, the step that begins it and the fence of
// that beginning. So every process computes the same id, and no child begins twice. The child's id
// has the time of its parent's id and the same last byte, which names the partition. So parent and
// child are in one range of ids and have one owner, and a pass that begins a child changes one
// partition only.
import { createHash } from "node:crypto";
import { uuidText } from "../uuid.ts";
import type { RunId, RunRef } from "./run-head.ts";

/** The first 48 bits of a UUIDv7 are a time. */
const TIME_BYTES = 6;
const LAST = 15;

export function childRunId(parent: RunId, step: number, fence: number): RunId {
  const above = Buffer.from(parent.replaceAll("-", ""), "hex");
  const bytes = createHash("sha256").update(`${parent}/${step}/${fence}`).digest().subarray(0, 16);
  bytes.set(above.subarray(0, TIME_BYTES));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  bytes.set(above.subarray(LAST), LAST);
  return uuidText(bytes);
}

export function childRef({ runId, partition }: RunRef, step: number, fence: number): RunRef {
  return { runId: childRunId(runId, step, fence), partition };
}
