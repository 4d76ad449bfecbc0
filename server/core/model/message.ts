// Messages between runs. A message is a row that is written with the change that causes it, and is
// applied by a pass of the run that receives it (on-message.ts).
import type { EpochMs } from "./attempt.ts";
import type { End } from "./model.ts";
import type { Payload } from "./payload.ts";

/** A message to a run. */
export type Message =
  | ParentCommand
  | ChildEnded
  /** The run got a permit of its concurrency key. */
  | { readonly kind: "permit" }
  /** There is no permit, and the run does not wait for one. */
  | { readonly kind: "no-permit" }
  /** A newer run of its concurrency key replaces it. */
  | { readonly kind: "make-room" };

/** A message of a run to its children, which follow its commands and end with it. */
export type ParentCommand =
  | { readonly kind: "cancel"; readonly undo: boolean }
  | { readonly kind: "pause" }
  | { readonly kind: "resume" };

/** The child that the step began under this fence has ended, or never began. */
export interface ChildEnded {
  readonly kind: "child-ended";
  readonly step: number;
  readonly fence: number;
  /**
   * The result of the child. The sender leaves it null: the server reads it once the parent is
   * locked, since it does not change any more.
   */
  readonly child: EndedChild | null;
}

export interface EndedChild {
  readonly runId: string;
  /** null: the child never began, as no workflow has the name or the version. */
  readonly end: End | null;
  readonly createdAt: EpochMs | null;
  /** Of a COMPLETED child. */
  readonly output: Payload | null;
  /** The problem, in words for a person; empty: nothing more to say. */
  readonly why: string;
}

/** A pending message to a run. */
export interface StoredMessage {
  /** Its number among all messages. Messages of one sender are in the order of writing. */
  readonly no: number;
  /** The run that wrote it. */
  readonly from: string;
  readonly message: Message;
}
