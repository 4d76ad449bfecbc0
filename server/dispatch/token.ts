// Task tokens: opaque to agents, and all that a report needs to find its task. base64url of (sizes
// in bytes):
//   version (1) · kind (1) · run id (16) · step (2) · item (4) · fence (4) · secret (16) ·
//   length of the namespace (1) · namespace
// A callback token has the SHA-256 of the secret (32 bytes) instead, so its holder cannot turn it
// into a task token. By the length, a token that was cut or extended is refused as such, and is not
// taken for one of another namespace. Tokens of versions 1 and 2 have no length. They are still
// read, because agents may hold such tasks during an upgrade.
import type { TaskKind } from "../core/model/attempt.ts";
import { ITEMS_MAX, itemOf, numberOf, stepKeyOf } from "../core/model/step-key.ts";
import { secretDigest } from "../store/task-secret.ts";
import { uuidText } from "../uuid.ts";

export interface TaskToken {
  readonly namespace: string;
  /** UUID as text. */
  readonly runId: string;
  /** The step key: the step, and which item of it. */
  readonly step: number;
  readonly task: TaskKind;
  readonly fence: number;
  /** 16 random bytes of the hand-out, hex. */
  readonly secret: string;
}

/**
 * What a callback token contains: enough to find the attempt, too little to report as its agent.
 */
export interface CallbackToken extends Omit<TaskToken, "secret"> {
  /** SHA-256 of the hand-out's secret, hex. */
  readonly secretDigest: string;
}

/** What a token of this version contains between its head and its namespace. */
interface Layout {
  readonly version: number;
  readonly secretBytes: number;
  readonly saysLength: boolean;
}

const HEAD_BYTES = 28;
const TASK: Layout = { version: 3, secretBytes: 16, saysLength: true };
const CALLBACK: Layout = { version: 4, secretBytes: 32, saysLength: true };
/** The first version is written; the others are only read. */
const TASK_LAYOUTS = [TASK, { version: 1, secretBytes: 16, saysLength: false }] as const;
const CALLBACK_LAYOUTS = [CALLBACK, { version: 2, secretBytes: 32, saysLength: false }] as const;
const NAMESPACE = /^[A-Za-z0-9._-]{1,128}$/;
/** By their number in tokens, which outlive servers: append, never reorder. */
const KINDS: readonly TaskKind[] = ["perform", "compensate", "verify"];

export function formatTaskToken(token: TaskToken): string {
  return format(TASK, token, Buffer.from(token.secret, "hex"));
}

export function formatCallbackToken(token: TaskToken): string {
  return format(CALLBACK, token, Buffer.from(secretDigest(token.secret), "hex"));
}

function format({ version }: Layout, token: TaskToken, secret: Buffer): string {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(version, 0);
  head.writeUInt8(KINDS.indexOf(token.task), 1);
  head.write(token.runId.replaceAll("-", ""), 2, "hex");
  head.writeUInt16BE(numberOf(token.step), 18);
  head.writeInt32BE(itemOf(token.step), 20);
  head.writeInt32BE(token.fence, 24);
  const namespace = Buffer.from(token.namespace, "utf8");
  const length = Buffer.from([namespace.length]);
  return Buffer.concat([head, secret, length, namespace]).toString("base64url");
}

/** null: the text is no task token. */
export function parseTaskToken(text: string): TaskToken | null {
  const parsed = parse(text, TASK_LAYOUTS);
  return parsed && { ...parsed.head, secret: parsed.secret };
}

/** null: the text is no callback token. */
export function parseCallbackToken(text: string): CallbackToken | null {
  const parsed = parse(text, CALLBACK_LAYOUTS);
  return parsed && { ...parsed.head, secretDigest: parsed.secret };
}

function parse(text: string, layouts: readonly Layout[]) {
  const bytes = Buffer.from(text, "base64url");
  // Node decodes invalid base64url as far as it can: a token has to encode to the same text again.
  if (bytes.length === 0 || bytes.toString("base64url") !== text) return null;
  const layout = layouts.find(({ version }) => version === bytes.readUInt8(0));
  if (!layout) return null;
  const secretEnd = HEAD_BYTES + layout.secretBytes;
  const namespace = namespaceOf(bytes.subarray(secretEnd), layout);
  if (namespace === null) return null;
  const task = KINDS[bytes.readUInt8(1)];
  const item = bytes.readInt32BE(20);
  const fence = bytes.readInt32BE(24);
  if (!task || item < 0 || item > ITEMS_MAX || fence < 1) return null;
  const head = {
    namespace,
    runId: uuidText(bytes.subarray(2, 18)),
    step: stepKeyOf(bytes.readUInt16BE(18), item),
    task,
    fence,
  };
  return { head, secret: bytes.toString("hex", HEAD_BYTES, secretEnd) };
}

/** null: no valid name, or not as long as the token says. */
function namespaceOf(bytes: Buffer, { saysLength }: Layout): string | null {
  const name = saysLength ? bytes.subarray(1) : bytes;
  if (saysLength && bytes[0] !== name.length) return null;
  const text = name.toString("utf8");
  return NAMESPACE.test(text) ? text : null;
}
