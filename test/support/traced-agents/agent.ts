// An agent in TypeScript that traces itself: what it books has a span of its own, below its try.
import { trace } from "@opentelemetry/api";
import { createAgent } from "../../../sdk/typescript/agent.ts";

const agent = createAgent({
  address: process.env.DROVER_ADDRESS ?? "",
  id: "typescript-agent",
  queues: ["typescript"],
  handlers: {
    book: () => trace.getTracer("test").startActiveSpan("ask the airline", (span) => span.end()),
  },
});
agent.start();
process.once("SIGTERM", () => void agent.stop());
