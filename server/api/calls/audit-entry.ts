// The entry of the audit that a call writes if it changes something: who called, with which token,
// from where, and why. The name of the person is the one that the caller has proved, by a JWT or a
// client certificate; else what the request says, or the header `drover-by`, and not verified.
import type { AuditAction, AuditDetails, AuditEntry, AuditSubject } from "../../store/audit.ts";
import { provenName, refuseOtherName } from "../auth/proven-name.ts";
import { refusal } from "./errors.ts";
import type { CallContext } from "./mount.ts";

/** The name of the person who calls, percent-encoded: headers have no other characters. */
export const BY_HEADER = "drover-by";
/** The kind of program that calls for the person, as `mcp`; stored as `via` of the details. */
const VIA_HEADER = "drover-via";
const VIA = /^[a-z][a-z0-9-]{0,31}$/;
const BY_MAX = 256;
/** Longer texts are cut: the details say what was changed, and are no copy of it. */
const DETAIL_MAX = 256;
const LISTED_MAX = 20;

/** Who calls. */
export type Who = Pick<CallContext, "caller" | "peer" | "header">;

interface Change {
  readonly action: AuditAction;
  readonly namespaceId: number;
  readonly subject: readonly [kind: AuditSubject["kind"], name: string];
  /** The name that the request gives; left out or "": the header's. */
  readonly by?: string;
  readonly reason?: string;
  readonly details?: AuditDetails;
}

export function auditEntry(who: Who, change: Change): AuditEntry {
  const { action, namespaceId, subject, by = "", reason = "", details = {} } = change;
  const { caller, peer } = who;
  const claimed = by === "" ? byHeader(who) : by;
  refuseOtherName(caller, claimed);
  const proven = provenName(caller);
  const [kind, name] = subject;
  return {
    namespaceId,
    action,
    subject: { kind, name },
    by: proven ?? claimed,
    byVerified: proven !== null,
    token: caller && { id: caller.id, name: caller.name, role: caller.role },
    peer,
    reason,
    details: bounded({ ...details, ...viaOf(who) }),
  };
}

/** Throws INVALID_REQUEST. */
function byHeader({ header }: Who): string {
  const given = header(BY_HEADER) ?? "";
  const by = decoded(given);
  const message =
    by === null
      ? "is not percent-encoded UTF-8"
      : by.length > BY_MAX
        ? `has ${by.length} characters, and may have ${BY_MAX}`
        : /\p{Cc}/u.test(by)
          ? "has control characters"
          : null;
  if (by !== null && message === null) return by;
  throw refusal("INVALID_REQUEST", [{ path: `header ${BY_HEADER}`, message: message ?? "" }]);
}

/** Throws INVALID_REQUEST. */
function viaOf({ header }: Who): AuditDetails {
  const via = header(VIA_HEADER) ?? "";
  if (via === "") return {};
  if (VIA.test(via)) return { via };
  const message = "is not 1 to 32 characters of a-z, 0-9 and -, beginning with a letter";
  throw refusal("INVALID_REQUEST", [{ path: `header ${VIA_HEADER}`, message }]);
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function bounded(details: AuditDetails): AuditDetails {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      typeof value === "string"
        ? cut(value)
        : Array.isArray(value)
          ? value.slice(0, LISTED_MAX).map(cut)
          : value,
    ]),
  );
}

function cut(text: string): string {
  return text.length > DETAIL_MAX ? `${text.slice(0, DETAIL_MAX).toWellFormed()}…` : text;
}
