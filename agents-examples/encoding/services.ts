/** The remote services: a licence server that lends seats to encoders, and a store for the film. */
import { scripted } from "../stage/faults.ts";
import { serve } from "../stage/service.ts";

await serve({
  // A broken connection without a stall is another fault, and is retried as usual.
  faults: () => scripted({ "store/join film": ["busy", "drop-after"] }),
  operations: {
    "licence/take"({ key, ref, body, books }) {
      books.once({ service: "licence", did: "taken", ref, key, what: { preset: body.preset } });
      return {};
    },

    "licence/return"({ key, ref, body, books }) {
      books.once({ service: "licence", did: "returned", ref, key, what: { how: body.how } });
      return {};
    },

    "store/put"({ key, ref, body, books }) {
      const { preset, checksum } = body;
      books.once({ service: "store", did: "stored", ref, key, what: { preset, checksum } });
      return {};
    },

    "store/delete"({ key, ref, books }) {
      books.once({ service: "store", did: "deleted", ref, key, what: {} });
      return {};
    },

    "store/join"({ key, ref, body, books }) {
      const { checksums } = body;
      books.once({ service: "store", did: "published", ref, key, what: { checksums } });
      return {};
    },
  },
});
