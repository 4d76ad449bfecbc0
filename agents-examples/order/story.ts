/** Eight orders: a person decides on large ones, and some cannot be shipped once they are paid. */
import type { Fact } from "../stage/books.ts";
import { checkEnds, type Problem, type Stage, type Story } from "../stage/story.ts";
import { naive } from "./naive.ts";
import { type Order, ordersOf } from "./orders.ts";

const approver = "Sasha";

export const story: Story = {
  intro: `Eight orders: reserved, charged, shipped, or everything is given back. Over 500 euros a
person decides; for one order no decision comes. Two cannot be shipped after they are paid, since there is no such
address, and the line breaks while one of them is undone. The customer is notified in any case.`,
  right:
    "each paid order has a parcel, the others are refunded, no stock is held, and all are notified.",
  meanings: {
    network: "the connection broke, effect unknown: tried again with the same key",
    "rate-limited": "the service was busy: tried again after its Retry-After",
    "drover.rejected": "not approved, or not in time",
    "no-address": "permanent: completed steps are undone",
    "sold-out": "permanent, and there is nothing to undo",
  },

  async play(stage) {
    const { seed, start, schedule } = stage;
    start("order");
    const orders = ordersOf(seed);
    const runs = orders.map(({ run, euros }) => ({ run, input: { ref: run, euros } }));
    const follow = await schedule(runs);
    await Promise.all([...orders.map((order) => decide(stage, order)), follow.ended]);
  },

  naive,

  check: (facts, states, { seed }) => [
    ...checkEnds(ordersOf(seed), states),
    ...ordersOf(seed).flatMap((order) => checkOrder(order, facts)),
  ],
};

/** The approver reads the open approvals, and decides. */
async function decide({ client, signal }: Stage, { run, approval, euros }: Order): Promise<void> {
  if (approval === null) return;
  for await (const { steps } of client.watchRun({ key: run }, { signal })) {
    if (steps.find(({ id }) => id === "approve")?.state !== "WAITING") continue;
    const comment = `${euros} euros`;
    const decision = { decision: approval, approver, roles: ["sales"], comment, signal };
    await client.decide({ key: run }, "approve", decision);
    return;
  }
}

function checkOrder({ run, end, trouble }: Order, facts: readonly Fact[]): Problem[] {
  const of = facts.filter(({ ref }) => ref === run);
  const count = (did: string) => of.filter((fact) => fact.did === did).length;
  const paid = count("charged") - count("refunded");
  const held = count("reserved") - count("put back");
  const shipped = count("shipped");
  const right = end === "COMPLETED" ? 1 : 0;
  const notified = of.filter(
    ({ did, what }) => did === "told" && what.shipped === (right === 1),
  ).length;
  if (paid === right && held === right && shipped === right && notified === 1) return [];
  const was = `paid ${paid}, stock taken ${held}, parcels ${shipped}, notified correctly ${notified}`;
  return [{ run, message: `${was}; right is ${right}, ${right}, ${right}, 1 (${trouble})` }];
}
