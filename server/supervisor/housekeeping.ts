// Once a minute, in small batches: sessions that fell silent long ago, pollers that left, writers
// of dead processes, keys that have expired, the runs of namespaces that keep them for so long, and
// definitions that nothing uses.
// Every server does it; two at once only find less to do.
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import { eachByItself } from "../each-by-itself.ts";
import { createLoop, type Loop } from "../loop.ts";
import { KEPT_FOR_DEFAULT, type KeptFor } from "../store/kept-for.ts";
import type { RunId, Store } from "../store/store.ts";

const EVERY_MS = 60_000;
const ROWS_MAX = 1_000;
/** Of each kind and a minute: 100,000 rows, so that what a busy server makes does not heap up. */
const ROUNDS_MAX = 100;
const RUNS_MAX = 100;
/** Of a namespace and a minute: 20,000 runs are looked at, and those go whose time is over. */
const PAGES_MAX = 200;
/** Of definitions a page, and pages a minute. */
const DEFINITIONS_MAX = 500;
const DEFINITION_PAGES_MAX = 20;

export function createHousekeeping(
  store: Pick<Store, "forgetOld" | "namespaces">,
  clock: Clock,
  log: Logger,
  kept: Partial<KeptFor>,
): Loop {
  async function forgetOld(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round++)
      if (!(await store.forgetOld(ROWS_MAX, kept))) break;
  }

  /** Where the walk through the runs of a namespace goes on: those that stay are in its way. */
  const places = new Map<number, RunId | null>();

  async function forgetRuns(): Promise<void> {
    const retained = await store.namespaces.retained();
    await eachByItself(retained.map((of) => () => forgetRunsOf(of)));
  }

  async function forgetRunsOf(of: {
    readonly namespaceId: number;
    readonly retentionMs: number;
  }): Promise<void> {
    const { namespaceId, retentionMs: keptMs } = of;
    let after = places.get(namespaceId) ?? null;
    let more = true;
    for (let page = 0; more && page < PAGES_MAX; page++) {
      const asked = { namespaceId, keptMs, after, limit: RUNS_MAX };
      ({ after, more } = await store.namespaces.forgetRuns(asked));
    }
    places.set(namespaceId, more ? after : null);
  }

  let lastDefinition: number | null = null;

  async function forgetDefinitions(): Promise<void> {
    const { definitionKeptMs: keptMs = KEPT_FOR_DEFAULT.definitionKeptMs } = kept;
    for (let page = 0; page < DEFINITION_PAGES_MAX; page++) {
      const asked = { after: lastDefinition ?? 0, limit: DEFINITIONS_MAX, keptMs };
      lastDefinition = await store.namespaces.forgetDefinitions(asked);
      if (lastDefinition === null) break;
    }
  }

  return createLoop({
    clock,
    everyMs: EVERY_MS,
    runOnce: () => eachByItself([forgetOld, forgetRuns, forgetDefinitions]),
    onError: (error) => log.warn({ event: "housekeeping.failed", err: String(error) }),
  });
}
