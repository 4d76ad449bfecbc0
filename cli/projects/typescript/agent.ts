// The agent of this project: it polls for the tasks that it has handlers for, and performs them.
// Drover decides what happens next; a handler only reports how its task ended.
import { createAgent } from "@drover/sdk";
import { chargeCard, releaseSeat, reserveSeat } from "./tasks.ts";

const agent = createAgent({
  address: process.env.DROVER_ADDRESS ?? "127.0.0.1:7420",
  id: "seats-1",
  slots: 10,
  handleSignals: true,
  handlers: [reserveSeat, releaseSeat, chargeCard],
});

agent.start();
console.log("agent seats-1 waits for tasks");
await agent.done;
