/** The remote services: a source that is read page by page, and a warehouse that is loaded. */
import { refuse, serve } from "../stage/service.ts";
import { cutOff, faultsOf, pageSize, partitions, rowsOf } from "./orders.ts";

let seed = 0;

await serve({
  faults: (given) => {
    seed = given;
    return faultsOf(seed);
  },
  operations: {
    "source/list": () => ({ body: { partitions } }),

    /** `next` is where the next page starts; null after the last page. */
    "source/read"({ key, ref, body, books }) {
      if (ref === cutOff(seed)) return refuse("cut-off", `the file of ${ref} is cut off`);
      const from = Number(body.from);
      books.write({ service: "source", did: "read", ref, key, what: { from, by: body.by } });
      const all = rowsOf(seed, ref);
      const rows = all.slice(from, from + pageSize);
      return { body: { rows, next: from + pageSize < all.length ? from + pageSize : null } };
    },

    "warehouse/load"({ key, ref, body: { rows }, books }) {
      books.once({ service: "warehouse", did: "loaded", ref, key, what: { rows } });
      return {};
    },

    "warehouse/publish"({ key, ref, body: { rows, cents }, books }) {
      books.once({ service: "warehouse", did: "published", ref, key, what: { rows, cents } });
      return {};
    },
  },
});
