// An agent as a process that does one short piece of work for each task, and notes its key in a
// file: one line for each time that it did so. It drains at SIGTERM.
import { appendFileSync } from "node:fs";
import { createAgent } from "../../sdk/typescript/agent.ts";

const [address = "", ledger = ""] = process.argv.slice(2);
const agent = createAgent({
  address,
  id: `steady-${process.pid}`,
  slots: 20,
  handleSignals: true,
  handlers: {
    work: async (task) => {
      appendFileSync(ledger, `${task.idempotencyKey}\n`);
    },
  },
});
agent.start();
await agent.done;
