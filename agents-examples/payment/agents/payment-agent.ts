/** The payment agent: one handler for each task, and the webhook that the card processor calls. */
import {
  cannotTell,
  createAgent,
  createClient,
  deferred,
  defineTask,
  didNotHappen,
  handle,
  happened,
  unchecked,
} from "@drover/sdk";
import { readAgentSettings } from "../../stage/agent-settings.ts";
import { openWebhook } from "../webhook.ts";

const { address, remote } = readAgentSettings();
const client = createClient({ address });
const webhook = await openWebhook((token, ref) =>
  client.completeDeferred(token, { output: { captured: ref } }),
);

/** Input of a run. */
function readPayment(value: unknown): { readonly ref: string; readonly cents: number } {
  return { ref: "", cents: 0, ...Object(value) };
}

const input = readPayment;
const authorize = defineTask("authorize-card", { input });
const release = defineTask("release-authorization", { compensates: authorize });
const capture = defineTask("capture-card", { input, output: unchecked<{ captured: string }>() });
const findCapture = defineTask("find-capture", { verifies: capture });
const post = defineTask("post-ledger", { input });
const sendReceipt = defineTask("send-receipt", { input });

const agent = createAgent({
  address,
  id: `payment-${process.pid}`,
  queues: ["payments"],
  handleSignals: true,
  handlers: [
    handle(authorize, async (task, { signal }) => {
      await remote("card/authorize", { key: task.idempotencyKey, body: task.input(), signal });
    }),

    handle(release, async (task, { signal }) => {
      await remote("card/release", { key: task.idempotencyKey, body: task.input(), signal });
    }),

    handle(capture, async (task, { signal }) => {
      const body = { ...task.input(), callback: webhook.url, token: task.callbackToken };
      await remote("card/capture", { key: task.idempotencyKey, body, signal });
      return deferred();
    }),

    handle(findCapture, async (task, { signal }) => {
      const body = task.input();
      const { status } = await remote("card/find-capture", { key: task.effectKey, body, signal });
      if (status === "captured") return happened({ captured: body.ref });
      if (status === "none") return didNotHappen();
      return cannotTell("the card service is still checking");
    }),

    handle(post, async (task, { signal }) => {
      await remote("books/post", { key: task.idempotencyKey, body: task.input(), signal });
    }),

    handle(sendReceipt, async (task, { signal }) => {
      await remote("mail/receipt", { key: task.idempotencyKey, body: task.input(), signal });
    }),
  ],
});
agent.start();
await agent.done;
webhook.close();
client.close();
