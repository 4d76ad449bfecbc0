/** Why a server refused a call, as constants: `error.reason === ErrorReason.KEY_REUSED`. */
import { ErrorReason as Numbers } from "@drover/proto/drover/v1/error_reason_pb.ts";
import { namesOf } from "./runs.ts";

/** The name of a reason, such as "KEY_REUSED". */
export type ErrorReason = keyof typeof Numbers;

const known: ReadonlyMap<string, ErrorReason> = new Map(
  namesOf(Numbers)
    .values()
    .map((name) => [name, name]),
);

/**
 * Each reason by its name; hover over one to read what it means and what to do. UNSPECIFIED stands
 * for a reason of a newer server: use the `code` of the error then.
 */
export const ErrorReason = Object.freeze(Object.fromEntries(known)) as {
  // Mapped, so that each constant has the documentation of the contract.
  readonly [Name in keyof typeof Numbers]: Name;
};

export function readReason(name: string): ErrorReason {
  return known.get(name) ?? "UNSPECIFIED";
}
