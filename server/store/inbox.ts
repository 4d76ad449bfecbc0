// Runs that users request by SQL (drover.schedule), and the answers to these requests.
import type { Payload } from "../core/model/payload.ts";
import type { RunId } from "./run-head.ts";

/** A run that a user has requested in a transaction of their own. */
export interface InboxRow {
  readonly id: number;
  readonly namespace: string;
  readonly workflow: string;
  /** 0: the default version. */
  readonly version: number;
  readonly input: Payload | null;
  readonly key: string;
  readonly labels: Readonly<Record<string, string>>;
  /**
   * SHA-256 of the request, hex. No call of the API has this digest: a call and a row with the same
   * key are two different requests.
   */
  readonly digest: string;
}

/** The row is known by its id and key: after a fail-over, another row may have the id. */
export type InboxAnswer = Pick<InboxRow, "id" | "key"> &
  (
    | {
        readonly kind: "began";
        /**
         * The run that the row has started. If the database does not have this run, the row stays:
         * a fail-over has lost the run together with the last transactions. null: a run of another
         * shard, which a fail-over of this one does not lose.
         */
        readonly began: RunId | null;
      }
    | { readonly kind: "refused"; readonly reason: string; readonly message: string }
  );

export interface InboxRows {
  /** Takes up to `limit` rows, the oldest first, for half a minute. */
  take(limit: number): Promise<readonly InboxRow[]>;
  /** Deletes rows that were accepted; retains refused rows with their reason. */
  settle(answers: readonly InboxAnswer[]): Promise<void>;
}
