// A call that was running while the database failed over may hold ids of rows that were lost: of a
// definition, a workflow, a schedule. An error that follows from that is no defect of the server.
// The caller is asked to repeat the call, which then reads what the new database has.
import { DroverError, failedOver } from "../../errors.ts";
import type { AllShards } from "../../store/all-shards.ts";
import { StandardError } from "./errors.ts";

export interface FailOvers {
  /**
   * Called when a call starts. Returns a function that maps an error of that call to the error for
   * its caller.
   */
  begin(): (error: unknown) => unknown;
}

const UNKNOWN = "whether it took effect is unknown";

export function createFailOvers(store: Pick<AllShards, "incarnation">): FailOvers {
  return Object.freeze({
    begin() {
      const began = store.incarnation();
      return (error: unknown) =>
        store.incarnation() === began || isAnswer(error) ? error : failedOver(UNKNOWN, error);
    },
  });
}

function isAnswer(error: unknown): boolean {
  if (error instanceof DroverError) return error.reason !== "INTERNAL";
  return error instanceof StandardError;
}
