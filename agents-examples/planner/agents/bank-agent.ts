/** The agent of the namespace finance: transfers. */
import { createAgent } from "@drover/sdk";
import { readAgentSettings } from "../../stage/agent-settings.ts";

const { address, remote } = readAgentSettings();

const agent = createAgent({
  address,
  namespace: "finance",
  id: "bank-1",
  queues: ["bank"],
  handleSignals: true,
  handlers: {
    async "pay-deposit"(task, { signal }) {
      const body = task.input((value: unknown) => ({ ref: "", ...Object(value) }));
      await remote("bank/transfer", { key: task.idempotencyKey, body, signal });
    },
  },
});
agent.start();
await agent.done;
