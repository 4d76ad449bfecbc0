// The tasks of this project: what each takes and returns, and its handler. The compiler checks the
// handlers, and what a schema or a function reads is checked at run time too.
import { defineTask, handle, PermanentError, unchecked } from "@drover/sdk";

const seat = defineTask("reserve-seat", { output: unchecked<{ seat: string }>() });

export const reserveSeat = handle(seat, () => ({ seat: "12A" }));

export const releaseSeat = handle(defineTask("release-seat", { compensates: seat }), () => {
  console.log("the seat is free again");
});

const charge = defineTask("charge-card", {
  input: readOrder,
  output: unchecked<{ charge: string }>(),
});

export const chargeCard = handle(charge, (task) => {
  const { card } = task.input();
  if (card === "none") throw new PermanentError("no-card", "There is no card to charge.");
  // The same for every try of this task: a payment service charges once for each key.
  return { charge: task.idempotencyKey };
});

/** A schema of zod, valibot or arktype can stand in its place. */
function readOrder(value: unknown): { card: string } {
  if (typeof value === "object" && value !== null && "card" in value)
    return { card: String(value.card) };
  throw new TypeError("an order needs a card");
}
