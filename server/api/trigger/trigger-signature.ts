// Authenticates a call of a trigger: by a signature over its body, or by the secret itself. All
// comparisons take constant time. The reason of a refusal is for the operator, never for the
// caller.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { TriggerAuth } from "../../core/definition/trigger.ts";
import type { KnownTrigger } from "../../store/triggers.ts";

/** The parts of a call that are checked. */
interface SignedCall {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** By the server's clock, in milliseconds since 1970. */
  readonly nowMs: number;
}

/** A sender may send several signatures while its secret is changed; more than this are ignored. */
const SIGNATURES_MAX = 8;
const TIME = /^\d{1,12}$/;

/** Why the call is not authenticated; null: it is. */
export function authProblem(
  auth: TriggerAuth,
  { secret, secretDigest }: Pick<KnownTrigger, "secret" | "secretDigest">,
  call: SignedCall,
): string | null {
  if (auth.kind === "bearer") return bearerProblem(secretDigest ?? "", call);
  // With an empty key anyone could sign.
  if (secret === null) return "it has no secret: put it again with one";
  const { header, prefix, timestampHeader } = auth;
  const given = call.headers[header];
  if (given === undefined) return `there is no header ${header}`;
  const items = given.split(",").map((item) => item.trim());
  const signatures = items.filter((item) => item.startsWith(prefix)).slice(0, SIGNATURES_MAX);
  if (signatures.length === 0) return `the header ${header} has nothing that begins as it should`;
  const time = timestampHeader === null ? null : timeOf(timestampHeader, header, items, call);
  if (time === "") return "the time that is signed is missing, or is no number of seconds";
  const expected = createHmac("sha256", secret)
    .update(time === null ? "" : `${time}.`)
    .update(call.body)
    .digest();
  const right = signatures.filter((one) => {
    const claimed = one.slice(prefix.length);
    const bytes = Buffer.from(/^[0-9a-f]{64}$/i.test(claimed) ? claimed : "00".repeat(32), "hex");
    return timingSafeEqual(bytes, expected);
  });
  if (right.length === 0) return "the signature is wrong: another secret, or another body";
  if (time !== null && Math.abs(call.nowMs - Number(time) * 1_000) > auth.toleranceMs)
    return "it was signed too long ago, or a clock is wrong";
  return null;
}

/** "": there is no readable time. */
function timeOf(
  timestampHeader: string,
  header: string,
  items: readonly string[],
  { headers }: SignedCall,
): string {
  const time =
    timestampHeader === header
      ? items.find((item) => item.startsWith("t="))?.slice(2)
      : headers[timestampHeader];
  return time !== undefined && TIME.test(time) ? time : "";
}

function bearerProblem(secretDigest: string, { headers }: SignedCall): string | null {
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  if (given === undefined) return "there is no header Authorization: Bearer ...";
  const claimed = digestOf(given);
  const known = Buffer.from(secretDigest, "hex");
  const right = claimed.length === known.length && timingSafeEqual(claimed, known);
  return right ? null : "the token is another one";
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Takes as long for a trigger that does not exist as for one that does. */
export function authDummy(call: SignedCall): void {
  const noSecret = { secret: "", secretDigest: "" };
  const auth = { kind: "hmac", header: "x", prefix: "", timestampHeader: null } as const;
  const headers = { x: "00".repeat(32) };
  authProblem({ ...auth, toleranceMs: 0 }, noSecret, { ...call, headers });
}
