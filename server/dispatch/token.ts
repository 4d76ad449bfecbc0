// Task tokens: opaque to agents, and all that a report needs to find its task again. base64url of
//   version (1) · kind (1) · run id (16) · step (2) · item (4) · fence (4) · secret (16) ·
//   namespace
// A callback token is the same with the SHA-256 of the secret (32 bytes), so it cannot be turned
// into a task token by whoever was given it.
import { createHash } from "node:crypto";
import type { TaskKind } from "../core/model.ts";
import { uuidText } from "../uuid.ts";

export interface TaskToken {
  readonly namespace: string;
  /** UUID as text. */
  readonly runId: string;
  readonly step: number;
  readonly task: TaskKind;
  readonly fence: number;
  /** 16 random bytes of the hand-out, hex. */
  readonly secret: string;
}

const VERSION = 1;
const CALLBACK_VERSION = 2;
const HEAD_BYTES = 28;
const SECRET_BYTES = 16;
const NAMESPACE_BYTES_MAX = 128;
const KINDS: readonly TaskKind[] = ["perform", "compensate"];

export function formatTaskToken(token: TaskToken): string {
  return format(VERSION, token, Buffer.from(token.secret, "hex"));
}

export function formatCallbackToken(token: TaskToken): string {
  const secret = createHash("sha256").update(Buffer.from(token.secret, "hex")).digest();
  return format(CALLBACK_VERSION, token, secret);
}

function format(version: number, token: TaskToken, secret: Buffer): string {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(version, 0);
  head.writeUInt8(KINDS.indexOf(token.task), 1);
  head.write(token.runId.replaceAll("-", ""), 2, "hex");
  head.writeUInt16BE(token.step, 18);
  head.writeInt32BE(0, 20);
  head.writeInt32BE(token.fence, 24);
  return Buffer.concat([head, secret, Buffer.from(token.namespace, "utf8")]).toString("base64url");
}

/** The token, or null where the text is none of ours. */
export function parseTaskToken(text: string): TaskToken | null {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return null;
  const bytes = Buffer.from(text, "base64url");
  const namespaceBytes = bytes.length - HEAD_BYTES - SECRET_BYTES;
  if (namespaceBytes < 1 || namespaceBytes > NAMESPACE_BYTES_MAX) return null;
  const task = KINDS[bytes.readUInt8(1)];
  if (bytes.readUInt8(0) !== VERSION || !task || bytes.readInt32BE(20) !== 0) return null;
  const fence = bytes.readInt32BE(24);
  if (fence < 1) return null;
  return {
    namespace: bytes.toString("utf8", HEAD_BYTES + SECRET_BYTES),
    runId: uuidText(bytes.subarray(2, 18)),
    step: bytes.readUInt16BE(18),
    task,
    fence,
    secret: bytes.toString("hex", HEAD_BYTES, HEAD_BYTES + SECRET_BYTES),
  };
}
