/**
 * What a caller asks a remote service to book: who travels, from where to where, and whatever flat
 * details the caller wants to find again in the ledger (for example a run id).
 */

export type BookingDetail = string | number | boolean | null;

export interface Booking {
  readonly traveller: string;
  readonly from: string;
  readonly to: string;
  readonly [detail: string]: BookingDetail;
}

export type ParsedBooking =
  | { readonly kind: "booking"; readonly booking: Booking }
  | { readonly kind: "problem"; readonly message: string };

const TEXT_LENGTH_MAX = 200;
const KEY_LENGTH_MAX = 200;

function isDetail(value: unknown): value is BookingDetail {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= TEXT_LENGTH_MAX;
}

export function parseBooking(value: unknown): ParsedBooking {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return problem(`the body is not a JSON object; send {"traveller", "from", "to"}`);
  }
  const details: [string, BookingDetail][] = [];
  for (const [name, detail] of Object.entries(value)) {
    if (!isDetail(detail)) return problem(`"${name}" is not a text, number, boolean or null`);
    details.push([name, detail]);
  }
  const { traveller, from, to }: Record<string, BookingDetail> = Object.fromEntries(details);
  if (!isText(traveller)) return problem(textProblem("traveller", traveller));
  if (!isText(from)) return problem(textProblem("from", from));
  if (!isText(to)) return problem(textProblem("to", to));
  return {
    kind: "booking",
    booking: { ...Object.fromEntries(details), traveller, from, to },
  };
}

/** What is wrong with an idempotency key, if anything. */
export function keyProblem(key: string | undefined): string | undefined {
  if (key === undefined || key === "") {
    return "there is no Idempotency-Key; send one, and the same one with each repetition";
  }
  if (key.length > KEY_LENGTH_MAX) {
    return `the idempotency key has ${key.length} characters; ${KEY_LENGTH_MAX} are allowed`;
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return "the idempotency key has a character that is not visible ASCII; use letters and digits";
  }
  return undefined;
}

function problem(message: string): ParsedBooking {
  return { kind: "problem", message };
}

function textProblem(name: string, value: unknown): string {
  if (value === undefined) return `"${name}" is missing; it is a text`;
  return `"${name}" is not a text of 1 to ${TEXT_LENGTH_MAX} characters that is not blank`;
}
