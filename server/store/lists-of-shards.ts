// Lists over all shards of a store: each shard is asked the same, and the answers are one page.
// What is not about runs is the same in all shards, and the first is asked.
import {
  type EscalationOfRun,
  type Lists,
  OPEN_RUNS_MAX,
  type RunPage,
  type VersionRecord,
} from "./lists.ts";
import {
  byKeys,
  type Compare,
  descending,
  earliest,
  latest,
  mergePages,
  mergeRows,
  sumOf,
} from "./merge-pages.ts";
import type { OperatorStore } from "./operator-store.ts";
import type { RunRecord } from "./reads.ts";
import type { RunId } from "./run-head.ts";
import type { Shards } from "./shards.ts";

type Each = <T>(ask: (one: Lists) => Promise<T>) => Promise<readonly T[]>;

export function listsOfShards(shards: Shards<Pick<OperatorStore, "lists">>): Lists {
  const { lists } = shards.home;
  const each: Each = (ask) => Promise.all(shards.all.map((shard) => ask(shard.lists)));
  return Object.freeze({
    ...runListsOf(each),
    ...listsBesideRunsOf(shards, each),
    ...catalogueListsOf(each),
    workflows: lists.workflows,
    namespacePause: lists.namespacePause,
    workflowPause: lists.workflowPause,
    pins: lists.pins,
    circuits: lists.circuits,
    cordons: lists.cordons,
    triggers: lists.triggers,
  } satisfies Lists);
}

function runListsOf(each: Each): Pick<Lists, "runs" | "searchedTo" | "countRuns" | "definitions"> {
  return {
    async runs(namespaceId, page) {
      const pages = await each((one) => one.runs(namespaceId, page));
      return mergePages(
        pages,
        inOrderOf(page, ({ runId }: RunRecord) => runId),
        page.limit,
      );
    },
    async searchedTo(namespaceId, page) {
      const ends = await each((one) => one.searchedTo(namespaceId, page));
      const known = ends.filter((end) => end !== null);
      return (
        mergePages(
          [known],
          inOrderOf(page, (runId: RunId) => runId),
          1,
        )[0] ?? null
      );
    },
    async countRuns(namespaceId, filter, most) {
      const counts = await each((one) => one.countRuns(namespaceId, filter, most));
      const now = Math.min(...counts.map((one) => one.now));
      return {
        count: Math.min(
          most,
          sumOf(counts, ({ count }) => count),
        ),
        now,
      };
    },
    async definitions(namespaceId, filter, most) {
      const pages = await each((one) => one.definitions(namespaceId, filter, most));
      const all = mergeRows(
        pages.flat(),
        ({ definitionId, workflow, version }) => `${definitionId} ${version} ${workflow}`,
        (one) => one,
      );
      const order = byKeys(({ workflow, version, definitionId }: (typeof all)[number]) => [
        workflow,
        version,
        definitionId,
      ]);
      return mergePages([all], order, most.definitions);
    },
  };
}

/** What runs have left or wait for. */
function listsBesideRunsOf(
  shards: Shards<Pick<OperatorStore, "lists">>,
  each: Each,
): Pick<Lists, "escalations" | "approvals" | "deliveries" | "refusals"> {
  return {
    async escalations(namespaceId, page) {
      const pages = await each((one) => one.escalations(namespaceId, page));
      const order: Compare<EscalationOfRun> = (one, other) =>
        NEWEST_RUN_FIRST(one, other) || one.n - other.n;
      return mergePages(pages, order, page.limit);
    },
    async approvals(wanted) {
      const found = await Promise.all(
        shards.all.map((shard) =>
          shard.lists.approvals(wanted.filter(({ runId }) => shards.ofRun(runId) === shard)),
        ),
      );
      return new Map(found.flatMap((of) => [...of]));
    },
    async deliveries(namespaceId, page) {
      const pages = await each((one) => one.deliveries(namespaceId, page));
      return mergePages(
        pages,
        descending(byKeys(({ createdAt, id }) => [createdAt, id])),
        page.limit,
      );
    },
    async refusals(namespaceId, trigger, limit) {
      const pages = await each((one) => one.refusals(namespaceId, trigger, limit));
      const rows = mergeRows(
        pages.flat(),
        ({ trigger: of, reason, message }) => JSON.stringify([of, reason, message]),
        (one, other) => {
          const [newer, older] = one.lastAt < other.lastAt ? [other, one] : [one, other];
          const firstAt = earliest(one.firstAt, other.firstAt) ?? newer.firstAt;
          const lastAt = latest(one.lastAt, other.lastAt) ?? newer.lastAt;
          return { ...newer, count: newer.count + older.count, firstAt, lastAt };
        },
      );
      return mergePages([rows], (one, other) => other.lastAt - one.lastAt, limit);
    },
  };
}

/** What all shards know, with what each of them has of it. */
function catalogueListsOf(
  each: Each,
): Pick<Lists, "namespaces" | "regions" | "versions" | "queues" | "schedules"> {
  return {
    async namespaces(of, limit) {
      const pages = await each((one) => one.namespaces(of, limit));
      return mergeRows(
        pages.flat(),
        ({ name }) => name,
        (one, other) => ({
          ...one,
          storageBytes: sumOrNull(one.storageBytes, other.storageBytes),
        }),
      );
    },
    async regions() {
      return mergeRows(
        (await each((one) => one.regions())).flat(),
        ({ name }) => name,
        (one, other) => ({ ...one, watched: one.watched + other.watched }),
      );
    },
    async versions(namespaceId, names, limit) {
      const pages = await each((one) => one.versions(namespaceId, names, limit));
      return mergeRows(
        pages.flat(),
        ({ name, version }: VersionRecord) => `${name} ${version}`,
        (one, other) => ({
          ...one,
          openRuns: Math.min(OPEN_RUNS_MAX, one.openRuns + other.openRuns),
        }),
      );
    },
    async queues(namespaceId, page) {
      const pages = await each((one) => one.queues(namespaceId, page));
      return mergeRows(
        pages.flat(),
        ({ name }) => name,
        (one, other) => ({
          ...one,
          ready: one.ready + other.ready,
          leased: one.leased + other.leased,
        }),
      );
    },
    async schedules(namespaceId, page) {
      const pages = await each((one) => one.schedules(namespaceId, page));
      return mergePages(
        pages,
        byKeys(({ name }) => [name]),
        page.limit,
      );
    },
  };
}

const NEWEST_RUN_FIRST = descending(byKeys(({ runId }: { readonly runId: RunId }) => [runId]));

/** The ids of runs grow with the time of their creation. */
function inOrderOf<T>({ order }: RunPage, idOf: (row: T) => RunId): Compare<T> {
  const ascending = byKeys((row: T) => [idOf(row)]);
  return order === "created-asc" ? ascending : descending(ascending);
}

function sumOrNull(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other;
}
