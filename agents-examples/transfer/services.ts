/** The remote service: a bank that takes each key once, is slow, busy, and loses its line. */
import { random } from "../stage/faults.ts";
import { refuse, serve } from "../stage/service.ts";
import { closedAccount } from "./transfers.ts";

const faultShare = 0.5;

await serve({
  faults: (seed) => random(seed, faultShare, ["slow", "slow", "drop-before", "drop-after", "busy"]),
  busyMs: 100,
  operations: {
    "bank/check": ({ body }) =>
      Number(body.cents) > 0 ? {} : refuse("no-amount", "there is nothing to transfer"),

    "bank/debit"({ key, ref, body, books }) {
      const what = { account: body.from, cents: body.cents };
      books.once({ service: "bank", did: "debited", ref, key, what });
      return {};
    },

    "bank/credit"({ key, ref, body, books }) {
      const { to: account, cents } = body;
      if (account === closedAccount) return refuse("closed", `the account ${account} is closed`);
      books.once({ service: "bank", did: "credited", ref, key, what: { account, cents } });
      return {};
    },

    "bank/reverse"({ key, ref, body, books }) {
      const what = { account: body.from, cents: body.cents };
      books.once({ service: "bank", did: "reversed", ref, key, what });
      return {};
    },
  },
});
