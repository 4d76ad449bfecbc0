/** The agent of the namespace default: hall, food and invitations. */
import { createAgent, type Task } from "@drover/sdk";
import { readAgentSettings } from "../../stage/agent-settings.ts";

const { address, remote } = readAgentSettings();

/** Input of the run. */
function errand(task: Task) {
  return task.input((value: unknown) => ({ ref: "", ...Object(value) }));
}

const agent = createAgent({
  address,
  id: "errands-1",
  queues: ["errands"],
  handleSignals: true,
  handlers: {
    async "book-hall"(task, { signal }) {
      await remote("hall/book", { key: task.idempotencyKey, body: errand(task), signal });
    },

    async "cancel-hall"(task, { signal }) {
      await remote("hall/cancel", { key: task.effectKey, body: errand(task), signal });
    },

    async "order-food"(task, { signal }) {
      await remote("kitchen/order", { key: task.idempotencyKey, body: errand(task), signal });
    },

    async "send-invitations"(task, { signal }) {
      await remote("mail/invite", { key: task.idempotencyKey, body: errand(task), signal });
    },
  },
});
agent.start();
await agent.done;
