// An agent as a process that drains at SIGTERM: its handler is in the middle of work then, and done
// only after it.
import { createAgent } from "../../sdk/typescript/agent.ts";

const [address = ""] = process.argv.slice(2);
const agent = createAgent({
  address,
  id: "draining",
  handleSignals: true,
  handlers: {
    a: async () => {
      const signalled = new Promise((resolve) => process.once("SIGTERM", resolve));
      process.stdout.write("working\n");
      await signalled;
      return "finished";
    },
  },
});
agent.start();
await agent.done;
process.stdout.write("drained\n");
