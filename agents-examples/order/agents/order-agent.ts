/** The order agent: each task is one call to a remote service. */
import { createAgent, type Handler } from "@drover/sdk";
import { readAgentSettings } from "../../stage/agent-settings.ts";

const { address, remote } = readAgentSettings();

function calls(path: string): Handler {
  return async (task, { signal }) => {
    const body = task.input((value: unknown) => Object(value));
    await remote(path, { key: task.idempotencyKey, body, signal });
  };
}

createAgent({
  address,
  id: `order-${process.pid}`,
  queues: ["orders"],
  handleSignals: true,
  handlers: {
    "reserve-stock": calls("warehouse/reserve"),
    "put-back-stock": calls("warehouse/put-back"),
    "charge-customer": calls("bank/charge"),
    "refund-customer": calls("bank/refund"),
    "ship-parcel": calls("carrier/ship"),
    "tell-customer": calls("mail/tell"),
  },
}).start();
