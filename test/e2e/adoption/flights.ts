// The agent for flights, in TypeScript.
import { createAgent } from "@drover/sdk";

const call = async (method: string, key: string): Promise<unknown> => {
  const headers = { "idempotency-key": key };
  const answer = await fetch(`${process.env.SERVICES}/flight`, { method, headers });
  return answer.json();
};

createAgent({
  address: process.env.DROVER_ADDRESS ?? "",
  id: "flights",
  queues: ["travel"],
  handlers: {
    "book-flight": (task) => call("POST", task.idempotencyKey),
    "cancel-flight": (task) => call("DELETE", task.effectKey),
  },
}).start();
