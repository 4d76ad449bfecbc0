// Owners of partitions: a region is watched by the servers that are configured for it, and by a
// standby only if there is no other server: a part of G9.
import { regionOf } from "../../../server/store/partition.ts";
import type { FaultRecord, OwnerRecord, Watcher } from "../history.ts";
import type { Facts } from "./facts.ts";
import { watches } from "./lateness.ts";
import type { Finding } from "./violation.ts";

/** After so long without a fault everything is where it belongs: sessions end, and hand-overs. */
const CALM_MS = 10_000;

export function* regionsAreRespected(facts: Facts): Iterable<Finding> {
  const { watchers = [] } = facts.history.meta;
  const of = (process: string) => watchers.find(({ server }) => server === process);
  for (const record of facts.owners) {
    const watcher = of(record.process);
    if (!watcher || record.did !== "took") continue;
    const { partition, process, at } = record;
    const region = regionOf(partition);
    const took = `${process} took partition ${partition} of region ${region} at ${at}`;
    if (!watches(watcher, region)) yield { runId: null, text: `${took}, which it does not watch` };
    if (!watcher.standby) continue;
    const before = actives(watchers, region).find(({ server }) => isCalm(facts, server, record));
    if (before) yield { runId: null, text: `${took} as a standby, and ${before.server} was there` };
  }
  yield* unexpectedOwners(facts, watchers);
}

/** At the end the owner of each partition is configured for its region. */
function* unexpectedOwners(facts: Facts, watchers: readonly Watcher[]): Iterable<Finding> {
  const { owners, at, drained } = facts.history.final;
  const last = facts.faults.findLast(isOfServers);
  if (!drained || !last || at - last.at < CALM_MS) return;
  const processOf = new Map(facts.owners.map(({ node, process }) => [node, process]));
  for (const { partition, node } of owners) {
    const region = regionOf(partition);
    const owner = watchers.find(({ server }) => server === processOf.get(node));
    const [active] = actives(watchers, region);
    if (!owner || !active || (watches(owner, region) && !owner.standby)) continue;
    const text = `partition ${partition} of region ${region} is owned by ${owner.server} at the end, and ${active.server} is there for it`;
    yield { runId: null, text };
  }
}

function actives(watchers: readonly Watcher[], region: number): readonly Watcher[] {
  return watchers.filter((one) => watches(one, region) && !one.standby);
}

/** It has been up for long, and nothing has happened to it, to the store or to a clock. */
function isCalm({ faults, history }: Facts, server: string, { at }: OwnerRecord): boolean {
  const startAt = history.records[0]?.at ?? at;
  if (at - startAt < CALM_MS) return false;
  const own = faults.filter((fault) => isOfServers(fault) && concerns(fault, server));
  if (own.some((fault) => fault.at >= at - CALM_MS && fault.at <= at + CALM_MS)) return false;
  const before = own.filter((fault) => fault.at < at);
  const life = before.findLast(({ fault }) => fault.kind === "process");
  const wire = before.findLast(({ fault }) => fault.kind === "network");
  return [life, wire].every((one) => !one || isBack(one));
}

function isBack({ fault }: FaultRecord): boolean {
  return "did" in fault && ["start", "resume", "join"].includes(fault.did);
}

function concerns({ fault, target }: FaultRecord, server: string): boolean {
  return target === server || fault.kind === "store" || fault.kind === "clock";
}

/** A lost message is no matter of who watches. */
function isOfServers({ fault, server }: FaultRecord): boolean {
  if (fault.kind === "store" || fault.kind === "clock" || fault.kind === "heal") return true;
  if (fault.kind === "network") return server && (fault.did === "cut" || fault.did === "join");
  return server && fault.kind === "process";
}
