// What users put into the inbox by SQL (drover.schedule), and what became of it.
import type { Payload } from "../core/payload.ts";
import type { RunId } from "./run-head.ts";

/** A run that a user has asked for in a transaction of his own. */
export interface InboxRow {
  readonly id: number;
  readonly namespace: string;
  readonly workflow: string;
  /** 0: the default one. */
  readonly version: number;
  readonly input: Payload | null;
  readonly key: string;
  readonly labels: Readonly<Record<string, string>>;
  /** SHA-256, hex, of what was asked. No call has it: one key does not mean a call and a row. */
  readonly digest: string;
}

export interface InboxAnswer {
  readonly id: number;
  /** null: it was scheduled. */
  readonly refused: { readonly reason: string; readonly message: string } | null;
  /**
   * The run that it has begun; null: none. The row stays where that run is not there: the store
   * has lost it with its tail.
   */
  readonly began: RunId | null;
}

export interface InboxRows {
  /** Takes up to so many rows, oldest first, for half a minute. */
  take(limit: number): Promise<readonly InboxRow[]>;
  /** Rows that were scheduled go; those that were refused are kept with the reason. */
  settle(answers: readonly InboxAnswer[]): Promise<void>;
}
