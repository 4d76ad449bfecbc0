// Task tokens: opaque to agents, and all that a report needs to find its task again. base64url of
//   version (1) · kind (1) · run id (16) · step (2) · item (4) · fence (4) · secret (16) ·
//   namespace
// A callback token is the same with the SHA-256 of the secret (32 bytes), so it cannot be turned
// into a task token by whoever was given it.
import type { TaskKind } from "../core/attempt.ts";
import { ITEMS_MAX, itemOf, numberOf, placeOf } from "../core/place.ts";
import { secretDigest } from "../secret.ts";
import { uuidText } from "../uuid.ts";

export interface TaskToken {
  readonly namespace: string;
  /** UUID as text. */
  readonly runId: string;
  /** Its place: the step, and which item of it. */
  readonly step: number;
  readonly task: TaskKind;
  readonly fence: number;
  /** 16 random bytes of the hand-out, hex. */
  readonly secret: string;
}

/** What a callback token says: enough to know the attempt, too little to speak as its agent. */
export interface CallbackToken extends Omit<TaskToken, "secret"> {
  /** SHA-256 of the hand-out's secret, hex. */
  readonly secretDigest: string;
}

const VERSION = 1;
const CALLBACK_VERSION = 2;
const HEAD_BYTES = 28;
const SECRET_BYTES = 16;
const DIGEST_BYTES = 32;
const NAMESPACE = /^[A-Za-z0-9._-]{1,128}$/;
/** By their number in tokens, which outlive servers: append, never reorder. */
const KINDS: readonly TaskKind[] = ["perform", "compensate", "verify"];

export function formatTaskToken(token: TaskToken): string {
  return format(VERSION, token, Buffer.from(token.secret, "hex"));
}

export function formatCallbackToken(token: TaskToken): string {
  return format(CALLBACK_VERSION, token, Buffer.from(secretDigest(token.secret), "hex"));
}

function format(version: number, token: TaskToken, secret: Buffer): string {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(version, 0);
  head.writeUInt8(KINDS.indexOf(token.task), 1);
  head.write(token.runId.replaceAll("-", ""), 2, "hex");
  head.writeUInt16BE(numberOf(token.step), 18);
  head.writeInt32BE(itemOf(token.step), 20);
  head.writeInt32BE(token.fence, 24);
  return Buffer.concat([head, secret, Buffer.from(token.namespace, "utf8")]).toString("base64url");
}

/** The token, or null where the text is none of ours. */
export function parseTaskToken(text: string): TaskToken | null {
  const parsed = parse(text, VERSION, SECRET_BYTES);
  return parsed && { ...parsed.head, secret: parsed.secret };
}

/** The callback token, or null where the text is none of ours. */
export function parseCallbackToken(text: string): CallbackToken | null {
  const parsed = parse(text, CALLBACK_VERSION, DIGEST_BYTES);
  return parsed && { ...parsed.head, secretDigest: parsed.secret };
}

function parse(text: string, version: number, secretBytes: number) {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return null;
  const bytes = Buffer.from(text, "base64url");
  const namespaceAt = HEAD_BYTES + secretBytes;
  const namespace = bytes.toString("utf8", namespaceAt);
  if (!NAMESPACE.test(namespace)) return null;
  const task = KINDS[bytes.readUInt8(1)];
  const item = bytes.readInt32BE(20);
  if (bytes.readUInt8(0) !== version || !task || item < 0 || item > ITEMS_MAX) return null;
  const fence = bytes.readInt32BE(24);
  if (fence < 1) return null;
  const head = {
    namespace,
    runId: uuidText(bytes.subarray(2, 18)),
    step: placeOf(bytes.readUInt16BE(18), item),
    task,
    fence,
  };
  return { head, secret: bytes.toString("hex", HEAD_BYTES, namespaceAt) };
}
