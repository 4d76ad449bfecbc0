/** The transfer agent: each task is one call to the bank. Any of them may be killed at any time. */
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
  id: `transfer-${process.pid}`,
  queues: ["transfers"],
  slots: 3,
  handleSignals: true,
  handlers: {
    "check-accounts": calls("bank/check"),
    "debit-account": calls("bank/debit"),
    "credit-account": calls("bank/credit"),
    "reverse-debit": calls("bank/reverse"),
  },
}).start();
