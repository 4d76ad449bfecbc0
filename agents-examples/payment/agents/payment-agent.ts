/** The payment agent: one handler for each task, and the webhook that the card processor calls. */
import {
  cannotTell,
  createAgent,
  createClient,
  deferred,
  didNotHappen,
  happened,
  type Task,
} from "@drover/sdk";
import { readAgentSettings } from "../../stage/agent-settings.ts";
import { openWebhook } from "../webhook.ts";

const { address, remote } = readAgentSettings();
const client = createClient({ address });
const webhook = await openWebhook((token, ref) =>
  client.completeDeferred(token, { output: { captured: ref } }),
);

/** Input of a run. */
function payment(task: Task) {
  return task.input((value: unknown) => ({ ref: "", cents: 0, ...Object(value) }));
}

const agent = createAgent({
  address,
  id: `payment-${process.pid}`,
  queues: ["payments"],
  handleSignals: true,
  handlers: {
    async "authorize-card"(task, { signal }) {
      await remote("card/authorize", { key: task.idempotencyKey, body: payment(task), signal });
    },

    async "release-authorization"(task, { signal }) {
      await remote("card/release", { key: task.idempotencyKey, body: payment(task), signal });
    },

    async "capture-card"(task, { signal }) {
      const body = { ...payment(task), callback: webhook.url, token: task.callbackToken };
      await remote("card/capture", { key: task.idempotencyKey, body, signal });
      return deferred();
    },

    async "find-capture"(task, { signal }) {
      const body = payment(task);
      const { status } = await remote("card/find-capture", { key: task.effectKey, body, signal });
      if (status === "captured") return happened({ captured: body.ref });
      if (status === "none") return didNotHappen();
      return cannotTell("the card service is still checking");
    },

    async "post-ledger"(task, { signal }) {
      await remote("books/post", { key: task.idempotencyKey, body: payment(task), signal });
    },

    async "send-receipt"(task, { signal }) {
      await remote("mail/receipt", { key: task.idempotencyKey, body: payment(task), signal });
    },
  },
});
agent.start();
await agent.done;
webhook.close();
client.close();
