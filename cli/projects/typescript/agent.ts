// The agent of this project: it polls for the tasks that it has handlers for, and performs them.
// Drover decides what happens next; a handler only reports how its task ended.
import { createAgent, PermanentError } from "@drover/sdk";

const agent = createAgent({
  address: process.env.DROVER_ADDRESS ?? "127.0.0.1:7420",
  id: "seats-1",
  slots: 10,
  handleSignals: true,
  handlers: {
    "reserve-seat": () => ({ seat: "12A" }),
    "release-seat": () => console.log("the seat is free again"),
    "charge-card": (task) => {
      const { card } = task.input(readOrder);
      if (card === "none") throw new PermanentError("no-card", "There is no card to charge.");
      // The same for every try of this task: a payment service charges once for each key.
      return { charge: task.idempotencyKey };
    },
  },
});

agent.start();
console.log("agent seats-1 waits for tasks");
await agent.done;

function readOrder(value: unknown): { card: string } {
  if (typeof value === "object" && value !== null && "card" in value)
    return { card: String(value.card) };
  throw new TypeError("an order needs a card");
}
