/** The remote service: forty servers that install a version, go back, and report how they are. */
import { type Request, refuse, serve } from "../stage/service.ts";
import { faultsOf, inRepair, releases, servers, versionOf, waveOf } from "./fleet.ts";

let seed = 0;
const service = "fleet";

const releaseOf = (version: unknown) => releases.find((release) => release.version === version);

function install({ key, ref, body, books }: Request) {
  const { version } = body;
  const server = String(body.server);
  if (server === inRepair(seed)) return refuse("in-repair", `${server} is in repair`);
  const isBroken = releaseOf(version)?.brokenIn === waveOf(server);
  const what = { server, version, was: versionOf(books.all(), server) };
  books.once({ service, did: isBroken ? "broken" : "installed", ref, key, what });
  return isBroken
    ? refuse("does-not-start", `version ${version} does not start on ${server}`)
    : { body: { version } };
}

await serve({
  faults: (given) => {
    seed = given;
    return faultsOf(seed);
  },
  operations: {
    "fleet/install": install,

    /** Restores the version from before the install of this key, if there was an install. */
    "fleet/restore"({ key, ref, books }) {
      const made = books.all().find((fact) => fact.key === key && fact.did !== "restored");
      if (made === undefined) return {};
      const what = { server: made.what.server, version: made.what.was };
      books.once({ service, did: "restored", ref, key, what });
      return {};
    },

    "fleet/health"({ body: { version }, books }) {
      const sickIn = releaseOf(version)?.sickIn;
      const sick = servers.filter(
        (server) => waveOf(server) === sickIn && versionOf(books.all(), server) === version,
      );
      return { body: { sick } };
    },
  },
});
