// An agent as a process with one slot, whose handler ends when it is cancelled: for tests that kill
// it at work, or while its poll is parked.
import { once } from "node:events";
import { createAgent } from "../../sdk/typescript/agent.ts";

const [address = "", queue = "default", task = "a"] = process.argv.slice(2);
const agent = createAgent({
  address,
  id: `slow-${process.pid}`,
  queues: [queue],
  slots: 1,
  handlers: {
    [task]: async (_task, { signal }) => {
      await once(signal, "abort");
    },
  },
});
agent.start();
await agent.done;
