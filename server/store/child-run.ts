// The id of a child run follows from its parent, the step that begins it and the fence under which
// it does: whoever knows these three knows the child, and no child begins twice. It has the time of
// its parent and its last byte, which names the partition: a family is of one range and of one
// owner, and what begins a child changes one partition.
import { createHash } from "node:crypto";
import { uuidText } from "../uuid.ts";
import type { RunId, RunRef } from "./run-head.ts";

/** The 48 bits of a UUIDv7 that are time. */
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
