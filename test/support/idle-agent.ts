// An agent as a process, for tests that kill it while its poll is parked, or set its clock.
import { createAgent } from "../../sdk/typescript/agent.ts";

const [address = "", namespace = "default"] = process.argv.slice(2);
const agent = createAgent({ address, namespace, id: "idle", handlers: { a: async () => null } });
await agent.start();
await agent.done;
