// A call that was under way while the database failed over may know ids of what is no more: a
// definition, a workflow, a schedule. Whatever it then meets is no defect, and its repeat begins
// with what is there now.
import { DroverError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import { StandardError } from "./errors.ts";

export interface FailOvers {
  /** Of a call that begins now: its error, as it is to be answered. */
  begin(): (error: unknown) => unknown;
}

const RETRY_MS = 250;

export function createFailOvers(store: Pick<Store, "onIncarnation">): FailOvers {
  let incarnation = 0;
  store.onIncarnation(() => {
    incarnation++;
  });
  return Object.freeze({
    begin() {
      const began = incarnation;
      return (error: unknown) => (incarnation === began || isAnswer(error) ? error : repeat(error));
    },
  });
}

function isAnswer(error: unknown): boolean {
  if (error instanceof DroverError) return error.reason !== "INTERNAL";
  return error instanceof StandardError;
}

function repeat(cause: unknown): DroverError {
  return new DroverError(
    "STORE_UNAVAILABLE",
    "The database has failed over since this call began, and whether it took effect is unknown: repeat it.",
    { retryAfterMs: RETRY_MS, cause },
  );
}
