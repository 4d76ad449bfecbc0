/**
 * The same payments, taken by a plain program: one call after the other. A payment that fails is
 * reported and given up. A capture that is not confirmed is tried once more, as people do.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { NaiveStage } from "../stage/story.ts";
import { type Payment, paymentsOf } from "./payments.ts";
import { openWebhook } from "./webhook.ts";

const callbackMs = 300;

export async function naive({ seed, remote, act }: NaiveStage): Promise<void> {
  const confirmed = new Set<string>();
  const webhook = await openWebhook(async (_, ref) => confirmed.add(ref));

  async function capture({ run: ref, cents }: Payment): Promise<boolean> {
    const body = { ref, cents, callback: webhook.url, token: "none" };
    await remote("card/capture", { key: ref, body });
    await sleep(callbackMs);
    return confirmed.has(ref);
  }

  async function take(payment: Payment): Promise<void> {
    const { run: ref, cents } = payment;
    const call = { key: ref, body: { ref, cents } };
    await remote("card/authorize", call);
    if (!(await capture(payment)) && !(await capture(payment)))
      throw new Error("it is unknown whether it was captured");
    await remote("books/post", call);
    await remote("mail/receipt", call);
  }

  for (const payment of paymentsOf(seed)) {
    try {
      await take(payment);
      act(`${payment.run} taken`, "naive");
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      act(`${payment.run} given up: ${why}`, "naive");
    }
  }
  webhook.close();
}
