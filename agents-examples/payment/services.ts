/** The remote services: a card processor, the books of the shop, and its mail. */
import { scripted } from "../stage/faults.ts";
import { type Request, refuse, serve } from "../stage/service.ts";
import { faultsOf } from "./payments.ts";

/** Between accepting a capture and reporting how it went. */
const callbackMs = 50;

/** Accepts at once and calls back later. A second capture of one payment is a second charge. */
function capture({ key, ref, body, fault, books }: Request) {
  if (fault === "expired") return refuse("card-expired", `the card of ${ref} has expired`);
  if (fault === "forgotten") return { status: 202 };
  const { cents, callback, token } = body;
  books.write({ service: "card", did: "captured", ref, key, what: { cents } });
  if (fault !== "silent") setTimeout(() => callBack(String(callback), { token, ref }), callbackMs);
  return { status: 202 };
}

function callBack(url: string, news: object): void {
  // A caller that does not receive it has to ask.
  fetch(url, { method: "POST", body: JSON.stringify(news) }).catch(() => undefined);
}

await serve({
  faults: (seed) => scripted(faultsOf(seed)),
  operations: {
    "card/authorize"({ key, ref, body, fault, books }) {
      if (fault === "declined") return refuse("card-declined", `the bank declines ${ref}`);
      books.once({ service: "card", did: "authorized", ref, key, what: { cents: body.cents } });
      return {};
    },

    "card/capture": capture,

    "card/find-capture"({ ref, fault, books }) {
      if (fault === "unclear") return { body: { status: "unclear" } };
      const captured = books.find("card", "captured", ref).length > 0;
      return { body: { status: captured ? "captured" : "none" } };
    },

    /** What a person reads in the bank's own statement, when programs find nothing out. */
    "card/statement": ({ ref, books }) => ({
      body: { captures: books.find("card", "captured", ref).length },
    }),

    "card/release"({ key, ref, books }) {
      books.once({ service: "card", did: "released", ref, key, what: {} });
      return {};
    },

    "books/post"({ key, ref, body, books }) {
      books.once({ service: "books", did: "posted", ref, key, what: { cents: body.cents } });
      return {};
    },

    "mail/receipt"({ key, ref, books }) {
      books.once({ service: "mail", did: "sent", ref, key, what: {} });
      return {};
    },
  },
});
