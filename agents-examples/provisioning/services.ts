/**
 * The remote service: a cloud. It accepts a request at once, and a caller that asks again under the
 * same key learns that it is ready, the second time.
 */
import { random } from "../stage/faults.ts";
import { type Request, refuse, serve } from "../stage/service.ts";
import { faultShare, oddOf, regions } from "./environments.ts";

let seed = 0;
const service = "cloud";

function create({ key, ref, body, books }: Request) {
  const { kind, region } = body;
  const odd = oddOf(seed, String(ref.split("/")[0]));
  if (odd === "full" && kind === "database" && region === regions.region)
    return refuse("no-capacity", `${region} has no room for a ${kind}`);
  const isKnown = books.all().some((fact) => fact.key === key && fact.did === "begun");
  if (!isKnown) books.write({ service, did: "begun", ref, key, what: { kind, region } });
  if (odd === "quota" && kind === "nodes")
    return refuse("quota", "two of three nodes are there, and the quota is used up");
  if (!isKnown) return { status: 202, body: { status: "creating" } };
  books.once({ service, did: "ready", ref, key, what: { kind, region } });
  return { body: { status: "ready", id: `${region}/${ref}` } };
}

await serve({
  faults: (given) => {
    seed = given;
    return random(seed, faultShare, ["busy", "drop-before", "drop-after"]);
  },
  operations: {
    "cloud/create": create,

    /** Deletes what was created under the key, completely or in part, if anything was. */
    "cloud/delete"({ key, ref, body, books }) {
      books.once({ service, did: "deleted", ref, key, what: { kind: body.kind } });
      return {};
    },
  },
});
