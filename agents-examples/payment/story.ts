/** Nine payments over a card service that breaks, throttles, and loses callbacks and outcomes. */
import type { Fact } from "../stage/books.ts";
import { checkEnds, type Problem, type Story } from "../stage/story.ts";
import { naive } from "./naive.ts";
import { type Payment, paymentsOf } from "./payments.ts";

export const story: Story = {
  intro: `Nine payments: each is to be charged once, written down and receipted, or not at all.
The card service breaks the line, throttles, accepts captures and never reports how they ended,
and for two it does not know the outcome when it is asked. One card is declined, one expires too early.`,
  right: "each charge was made once, with books and receipt, and no other card has a hold.",
  meanings: {
    network: "the connection broke, effect unknown: tried again at once, with the same key",
    "rate-limited": "the service was busy: tried again after its Retry-After",
    "drover.callback": "accepted, no callback: verified before any other action",
    "did-not-happen": "verified: no effect",
    "cannot-tell": "verified: the service does not know",
    "card-declined": "permanent: not tried again",
    "card-expired": "permanent: the hold is released",
  },

  async play({ seed, start, schedule }) {
    start("payment");
    start("operator", "operator.ts");
    const runs = paymentsOf(seed).map(({ run, cents }) => ({ run, input: { ref: run, cents } }));
    const follow = await schedule(runs);
    await follow.ended;
  },

  naive,

  check: (facts, states, { seed }) => [
    ...checkEnds(paymentsOf(seed), states),
    ...paymentsOf(seed).flatMap((payment) => checkPayment(payment, facts)),
  ],
};

function checkPayment({ run, end, trouble }: Payment, facts: readonly Fact[]): Problem[] {
  const count = (did: string) =>
    facts.filter((fact) => fact.ref === run && fact.did === did).length;
  const captured = count("captured");
  const posted = count("posted");
  const sent = count("sent");
  const held = count("authorized") - count("released") - captured;
  const times = end === "COMPLETED" ? 1 : 0;
  if (captured === times && posted === times && sent === times && held <= 0) return [];
  const hold = held > 0 ? ", and a hold on the card is left" : "";
  const was = `charged ${captured}, in the books ${posted}, receipts ${sent}${hold}`;
  return [{ run, message: `${was}; right is ${times} of each (${trouble})` }];
}
