// All shards of a store together, as callers see them that ask about runs of any shard: the API,
// and the parts of a server that exist once. What is asked about one run goes to its shard; what is
// asked about many runs is divided among their shards, and joined again. What a cluster has once,
// and changes of what all shards share, go to the first shard.
//
// A store that is one shard is all of them itself: nothing stands in between.
import { isStoreUnavailable } from "../errors.ts";
import type { CircuitRef, Circuits, LaneEvidence } from "./circuits.ts";
import type { Namespaces, NamespaceUse } from "./namespaces.ts";
import type { OperatorStore } from "./operator-store.ts";
import type { Outbox } from "./outbox.ts";
import { noneOverdue, type Overdue, type OverdueOf, type UnownedRegion } from "./overdue.ts";
import { allotQueues } from "./queue-shares.ts";
import type { Queues } from "./queues.ts";
import type { Reads } from "./reads.ts";
import type { RunId } from "./run-head.ts";
import type { OccurrenceRecord, Schedules } from "./schedules.ts";
import type { Shards } from "./shards.ts";
import type { EngineStore } from "./store.ts";
import type { Triggers } from "./triggers.ts";

/** What works within one shard is asked of that shard alone. */
type OfOneShard =
  | "transact"
  | "partitions"
  | "outbox"
  | "triggers"
  | "namespaces"
  | "schedules"
  | "heartbeat"
  | "undelivered"
  | "taskFacts"
  | "markPolled"
  | "markAgents"
  | "countAttempts"
  | "markSilent"
  | "forgetOld"
  | "pollQuery"
  | "dueRows"
  | "differingRuns"
  | "recordIntervention";

export interface AllShards extends Omit<EngineStore, OfOneShard> {
  readonly outbox: Pick<Outbox, "putHook" | "hooks" | "deleteHook">;
  readonly triggers: Pick<Triggers, "put" | "find" | "delete" | "refuse">;
  readonly namespaces: Pick<
    Namespaces,
    "setRetention" | "setLimits" | "setLogs" | "limited" | "eraseRun"
  >;
  readonly schedules: Pick<Schedules, "find" | "lastOccurrences">;
}

/** With what people list and administer. */
export interface WholeStore extends AllShards, OperatorStore {}

/** A schedule is in the place of its name. */
export type PlaceOfSchedule = (namespaceId: number, name: string) => number;

export function allShards(
  shards: Shards<EngineStore>,
  placeOfSchedule: PlaceOfSchedule,
): AllShards {
  const { all, home } = shards;
  if (all.length === 1) return home;
  const { pins, durations } = home;
  return Object.freeze({
    reads: readsOf(shards),
    facts: async (wanted) => {
      const parts = divide(shards, wanted, ({ runId }) => runId);
      return joined(await Promise.all(parts.map(([store, of]) => store.facts(of))));
    },
    claimEscalation: (claim, audit) => shards.ofRun(claim.runId).claimEscalation(claim, audit),
    releaseEscalation: (claim, audit) => shards.ofRun(claim.runId).releaseEscalation(claim, audit),
    outbox: home.outbox,
    queues: queuesOf(shards),
    pins,
    durations,
    schedules: schedulesOf(shards, placeOfSchedule),
    triggers: home.triggers,
    circuits: circuitsOf(shards),
    namespaces: namespacesOf(shards),
    namespace: home.namespace,
    createNamespace: home.createNamespace,
    internDefinition: home.internDefinition,
    definition: home.definition,
    registerWorkflow: home.registerWorkflow,
    setDefaultVersion: home.setDefaultVersion,
    workflowVersion: home.workflowVersion,
    lanes: home.lanes,
    lanesOfQueues: home.lanesOfQueues,
    overdue: (...asked) => overdue(shards, ...asked),
    // It grows whenever that of a shard does.
    incarnation: () => all.reduce((sum, store) => sum + store.incarnation(), 0),
    onIncarnation(listener) {
      for (const store of all) store.onIncarnation(listener);
    },
    // A server without one of its shards still serves the others.
    ready: () => Promise.any(all.map((store) => store.ready())).catch(firstError),
    close: async () => void (await Promise.all(all.map((store) => store.close()))),
  } satisfies AllShards);
}

function firstError(error: unknown): never {
  throw error instanceof AggregateError ? error.errors[0] : error;
}

function divide<One>(
  shards: Shards<EngineStore>,
  all: readonly One[],
  runIdOf: (one: One) => RunId,
): readonly (readonly [EngineStore, readonly One[]])[] {
  return [...Map.groupBy(all, (one) => shards.ofRun(runIdOf(one)))];
}

function joined<K, V>(parts: readonly ReadonlyMap<K, V>[]): ReadonlyMap<K, V> {
  return new Map(parts.flatMap((part) => [...part]));
}

function readsOf(shards: Shards<EngineStore>): Reads {
  const { all, home } = shards;
  return Object.freeze({
    async findRun(namespaceId, by) {
      if ("runId" in by) return shards.ofRun(by.runId).reads.findRun(namespaceId, by);
      // The run is where its concurrency key is, if it has one. A key that has expired may name a
      // run in one shard, and a newer one in another.
      const found = await Promise.all(all.map(({ reads }) => reads.findRun(namespaceId, by)));
      const runs = found.filter((run) => run !== null);
      return runs.sort((a, b) => (a.runId < b.runId ? 1 : -1))[0] ?? null;
    },
    runDetail: (runId, wanted) => shards.ofRun(runId).reads.runDetail(runId, wanted),
    runItems: (runId, page) => shards.ofRun(runId).reads.runItems(runId, page),
    changedInputs: (runId) => shards.ofRun(runId).reads.changedInputs(runId),
    runLiveness: (runId) => shards.ofRun(runId).reads.runLiveness(runId),
    async tracedRuns(runs) {
      const parts = divide(shards, runs, (runId) => runId);
      return joined(await Promise.all(parts.map(([{ reads }, of]) => reads.tracedRuns(of))));
    },
    // Every shard has every agent.
    hosts: home.reads.hosts,
  } satisfies Reads);
}

/** The shares may be too large by the limits until they are divided anew. */
function queuesOf(shards: Shards<EngineStore>): Queues {
  const { queues } = shards.home;
  return Object.freeze({
    ...queues,
    async setLimits(of, limits, audit) {
      const lanes = await queues.setLimits(of, limits, audit);
      await allotQueues(shards, of, () => undefined);
      return lanes;
    },
  } satisfies Queues);
}

function schedulesOf(
  shards: Shards<EngineStore>,
  placeOfSchedule: PlaceOfSchedule,
): AllShards["schedules"] {
  return Object.freeze({
    find: (namespaceId, name) =>
      shards.of(placeOfSchedule(namespaceId, name)).schedules.find(namespaceId, name),
    async lastOccurrences(ids, limit) {
      const parts = divide(shards, ids, (id) => id);
      const found = await Promise.all(
        parts.map(async ([store, of]) =>
          withRunStates(shards, store, of, await store.schedules.lastOccurrences(of, limit)),
        ),
      );
      const byId = Map.groupBy(found.flat(), ({ scheduleId }) => scheduleId);
      return ids.flatMap((id) => byId.get(id) ?? []);
    },
  } satisfies AllShards["schedules"]);
}

/** The run of an occurrence is in another shard if that is the one of its concurrency key. */
async function withRunStates(
  shards: Shards<EngineStore>,
  store: EngineStore,
  ids: readonly string[],
  occurrences: readonly OccurrenceRecord[],
): Promise<readonly OccurrenceRecord[]> {
  const isElsewhere = ({ runId, runState }: OccurrenceRecord): boolean =>
    runId !== null && runState === null && shards.ofRun(runId) !== store;
  if (!occurrences.some(isElsewhere)) return occurrences;
  const schedules = await store.schedules.byId(ids);
  return Promise.all(
    occurrences.map(async (one) => {
      const namespace = schedules.find(({ id }) => id === one.scheduleId)?.namespace;
      const { runId } = one;
      if (!namespace || runId === null || !isElsewhere(one)) return one;
      const run = await shards.ofRun(runId).reads.findRun(namespace.id, { runId });
      return { ...one, runState: run?.state ?? null };
    }),
  );
}

/** The first shard has the circuits. Their probes, and what they are about, may be in any shard. */
function circuitsOf(shards: Shards<EngineStore>): Circuits {
  const { all, home } = shards;
  return Object.freeze({
    ...home.circuits,
    async change(changes, actor) {
      const made = await home.circuits.change(changes, actor);
      const about = changes.flatMap((change) => {
        const isMade = made.some((one) => isSameCircuit(one, change));
        return isMade && change.about ? [{ change, runId: change.about.runId }] : [];
      });
      for (const [store, of] of divide(shards, about, ({ runId }) => runId))
        if (store !== home)
          await store.circuits.record(
            of.map(({ change }) => change),
            actor,
          );
      return made;
    },
    async evidence(lanes, windowMs) {
      const [own = [], ...others] = await Promise.all(
        all.map(({ circuits }) => circuits.evidence(lanes, windowMs)),
      );
      return own.map((evidence) => withProbes(evidence, others.flat()));
    },
  } satisfies Circuits);
}

function isSameCircuit(one: CircuitRef, other: CircuitRef): boolean {
  return one.lane === other.lane && one.agentId === other.agentId;
}

/** Only the shard of the probe's run knows how the probe has ended. */
function withProbes(own: LaneEvidence, others: readonly LaneEvidence[]): LaneEvidence {
  const circuits = own.circuits.map((circuit) => {
    const same = others.flatMap(({ lane, circuits: of }) =>
      lane === own.lane
        ? of.filter(
            ({ agentId, version }) => agentId === circuit.agentId && version === circuit.version,
          )
        : [],
    );
    const ends = [circuit, ...same].map(({ probeEnd }) => probeEnd);
    // It is still running in its shard; or there is none.
    if (ends.includes(null)) return { ...circuit, probeEnd: null };
    const ended = ends.find((end) => end !== null && end.end !== "nothing");
    return ended ? { ...circuit, probeEnd: ended } : circuit;
  });
  return { ...own, circuits };
}

function namespacesOf(shards: Shards<EngineStore>): AllShards["namespaces"] {
  const { all, home } = shards;
  const { setRetention, setLimits, setLogs } = home.namespaces;
  const lastSeen = new Map<EngineStore, readonly NamespaceUse[]>();
  /**
   * Of a shard that does not answer, what it said last: its runs are still open. If this process
   * has never had its answer, they are not counted.
   */
  const usedIn = async (store: EngineStore): Promise<readonly NamespaceUse[]> => {
    try {
      lastSeen.set(store, await store.namespaces.limited());
    } catch (error) {
      if (!lastSeen.has(store) && !isStoreUnavailable(error)) throw error;
    }
    return lastSeen.get(store) ?? [];
  };
  return Object.freeze({
    setRetention,
    setLimits,
    setLogs,
    async limited() {
      const own = await home.namespaces.limited();
      const others = await Promise.all(all.slice(1).map(usedIn));
      return own.map((use) => summed(use, others.flat()));
    },
    async eraseRun(namespaceId, runId, audit) {
      const own = shards.ofRun(runId);
      const erased = await own.namespaces.eraseRun(namespaceId, runId, audit);
      if (erased.kind !== "erased" || erased.key === null) return erased;
      const { key } = erased;
      const others = all.filter((store) => store !== own);
      await Promise.all(others.map((store) => store.namespaces.forgetKey(namespaceId, key)));
      return erased;
    },
  } satisfies AllShards["namespaces"]);
}

function summed(own: NamespaceUse, others: readonly NamespaceUse[]): NamespaceUse {
  const same = [own, ...others.filter(({ namespaceId }) => namespaceId === own.namespaceId)];
  return {
    ...own,
    openRuns: same.reduce((sum, { openRuns }) => sum + openRuns, 0),
    storageBytes: same.reduce((sum, { storageBytes }) => sum + storageBytes, 0),
  };
}

async function overdue(
  shards: Shards<EngineStore>,
  partitions: readonly number[],
  ...asked: [byMs: number, since?: number | null]
): Promise<Overdue> {
  const parts = await Promise.all(
    shards.all.map((store) =>
      store.overdue(
        partitions.filter((one) => shards.of(one) === store),
        ...asked,
      ),
    ),
  );
  const rows = noneOverdue();
  for (const part of parts)
    for (const of of Object.keys(rows) as OverdueOf[]) rows[of] += part.rows[of];
  const oldest = parts.flatMap(({ oldestAt }) => oldestAt ?? []);
  const regions = Map.groupBy(
    parts.flatMap(({ unowned }) => unowned),
    ({ region }) => region,
  );
  return {
    now: Math.max(...parts.map(({ now }) => now)),
    rows,
    oldestAt: oldest.length === 0 ? null : Math.min(...oldest),
    unowned: [...regions].map(([region, of]): UnownedRegion => {
      return { region, partitions: of.reduce((sum, one) => sum + one.partitions, 0) };
    }),
  };
}
