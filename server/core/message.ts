// What runs tell each other: a row that is written with the change that causes it, and applied by a
// pass of the run that it is for (on-message.ts).
import type { EpochMs } from "./attempt.ts";
import type { End } from "./model.ts";
import type { Payload } from "./payload.ts";

/** What one run tells another. */
export type Message =
  | ParentWord
  | ChildEnded
  /** It has a slot of its concurrency key. */
  | { readonly kind: "slot" }
  /** There is none, and it does not want to wait. */
  | { readonly kind: "no-slot" }
  /** A newer run of its concurrency key takes its place. */
  | { readonly kind: "make-room" };

/** What a run tells its children: they do as it does, and end with it. */
export type ParentWord =
  | { readonly kind: "cancel"; readonly undo: boolean }
  | { readonly kind: "pause" }
  | { readonly kind: "resume" };

/** The child that the step began under this fence has ended, or never began. */
export interface ChildEnded {
  readonly kind: "child-ended";
  readonly step: number;
  readonly fence: number;
  /**
   * What became of it. Whoever writes the message leaves it null: it is read once the parent is
   * locked, since it changes no more.
   */
  readonly child: EndedChild | null;
}

export interface EndedChild {
  readonly runId: string;
  /** null: it never began, as no workflow has the name or the version. */
  readonly end: End | null;
  readonly createdAt: EpochMs | null;
  /** Of a COMPLETED run. */
  readonly output: Payload | null;
  /** What went wrong, for a person; empty: there is nothing more to say. */
  readonly why: string;
}

/** A message that waits for a pass of the run that it is for. */
export interface StoredMessage {
  /** Its place among all messages: those of one source are in the order in which it wrote them. */
  readonly no: number;
  /** The run that wrote it. */
  readonly from: string;
  readonly message: Message;
}
