/** The same orders, by a plain program: one call after the other, and an error ends it. */
import type { NaiveStage } from "../stage/story.ts";
import { type Order, ordersOf } from "./orders.ts";

export async function naive({ seed, remote, act }: NaiveStage): Promise<void> {
  async function fulfil({ run: ref, euros, approval }: Order): Promise<void> {
    const call = { key: ref, body: { ref, euros } };
    await remote("warehouse/reserve", call);
    if (euros > 500 && approval !== "approve") throw new Error("it is not approved");
    await remote("bank/charge", call);
    await remote("carrier/ship", call);
    await remote("mail/tell", { key: ref, body: { ref, shipped: true } });
  }

  for (const order of ordersOf(seed)) {
    try {
      await fulfil(order);
      act(`${order.run} fulfilled`, "naive");
    } catch (error) {
      act(`${order.run} given up: ${error instanceof Error ? error.message : error}`, "naive");
    }
  }
}
