// What runs tell each other: a row that is written with the change that causes it, and applied by a
// pass of the run that it is for (on-message.ts).

/** What one run tells another. */
export type Message =
  | { readonly kind: "cancel"; readonly undo: boolean }
  | { readonly kind: "pause" }
  | { readonly kind: "resume" }
  /** It has a slot of its concurrency key. */
  | { readonly kind: "slot" }
  /** There is none, and it does not want to wait. */
  | { readonly kind: "no-slot" }
  /** A newer run of its concurrency key takes its place. */
  | { readonly kind: "make-room" };

/** A message that waits for a pass of the run that it is for. */
export interface StoredMessage {
  /** Its place among all messages: those of one source are in the order in which it wrote them. */
  readonly no: number;
  /** The run that wrote it. */
  readonly from: string;
  readonly message: Message;
}
