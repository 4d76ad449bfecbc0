/** The remote services: a warehouse, a bank, a carrier and the mail. */
import { scripted } from "../stage/faults.ts";
import { type Operation, refuse, serve } from "../stage/service.ts";
import { faultsOf } from "./orders.ts";

/** Does it once for each idempotency key, unless it is refused. */
function does(service: string, did: string, refused?: string, why = ""): Operation {
  return ({ key, ref, body, fault, books }) => {
    if (fault === refused) return refuse(refused, why);
    const { ref: _, ...what } = body;
    books.once({ service, did, ref, key, what });
    return {};
  };
}

await serve({
  faults: (seed) => scripted(faultsOf(seed)),
  operations: {
    "warehouse/reserve": does("warehouse", "reserved", "sold-out", "there is none left"),
    "warehouse/put-back": does("warehouse", "put back"),
    "bank/charge": does("bank", "charged"),
    "bank/refund": does("bank", "refunded"),
    "carrier/ship": does("carrier", "shipped", "no-address", "there is no such address"),
    "mail/tell": does("mail", "told"),
  },
});
