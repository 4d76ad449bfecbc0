/** The remote services, which record what they really do: a hall, a kitchen, the mail, a bank. */
import { scripted } from "../stage/faults.ts";
import { type Request, serve } from "../stage/service.ts";
import { faults } from "./errand.ts";

/** Has no keys: to order twice is to get twice the food. */
function orderFood({ key, ref, body, fault, books }: Request) {
  if (fault === "crash") {
    const message = "the order book failed before it was written: nothing was ordered";
    return { status: 500, body: { message } };
  }
  books.write({ service: "kitchen", did: "ordered", ref, key, what: { people: body.people } });
  return {};
}

await serve({
  faults: () => scripted(faults),
  operations: {
    "hall/book"({ key, ref, body, books }) {
      books.once({ service: "hall", did: "booked", ref, key, what: { day: body.day } });
      return {};
    },

    "hall/cancel"({ key, ref, books }) {
      books.once({ service: "hall", did: "cancelled", ref, key, what: {} });
      return {};
    },

    "kitchen/order": orderFood,

    "mail/invite"({ key, ref, body, books }) {
      books.once({ service: "mail", did: "invited", ref, key, what: { people: body.people } });
      return {};
    },

    /** Has no keys either: to transfer twice is to pay twice. */
    "bank/transfer"({ key, ref, body, books }) {
      books.write({ service: "bank", did: "paid", ref, key, what: { cents: body.cents } });
      return {};
    },
  },
});
