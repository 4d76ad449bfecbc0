// An agent as a process, for tests that kill it while its poll is parked.
import { createAgent } from "../../sdk/typescript/agent.ts";

const [address = ""] = process.argv.slice(2);
const agent = createAgent({ address, id: "idle", handlers: { a: async () => null } });
await agent.start();
await agent.done;
