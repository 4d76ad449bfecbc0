// What operators read, over all shards of a store: each shard is asked the same, and the answers
// are added up. An agent session calls all shards, so each of them knows it; the attempts of
// sessions are counted in the first.
import type { EndKind, RunState } from "../core/model/model.ts";
import {
  type FailingStep,
  INTERVENTIONS_COUNTED_MAX,
  type OpenRuns,
  SUBSTATE_RUNS_MAX,
} from "./activity.ts";
import type { AuditList, AuditPlace } from "./audit.ts";
import {
  byKeys,
  type Compare,
  descending,
  earliest,
  latest,
  mergePages,
  mergeRows,
  sumByKey,
  sumOf,
} from "./merge-pages.ts";
import type { OperatorStore } from "./operator-store.ts";
import {
  type AgentRecord,
  ATTENTION_MAX,
  type Attention,
  ESCALATIONS_COUNTED_MAX,
  HELD_MAX,
  HOLDINGS_MAX,
  type ListedIntervention,
  type Operators,
  type OrphanLane,
  type QueueActivity,
  SCHEDULES_COUNTED_MAX,
  SUPERVISORS_MAX,
} from "./operators.ts";
import type { Shards } from "./shards.ts";

/** Most rows that a shard is asked for, where the first of all are known only after adding up. */
const ROWS_OF_SHARD_MAX = 10_000;

type Each = <T>(ask: (one: Operators) => Promise<T>) => Promise<readonly T[]>;

export function operatorsOfShards(
  shards: Shards<Pick<OperatorStore, "operators">>,
): OperatorStore["operators"] {
  const home = shards.home.operators;
  const each: Each = (ask) => Promise.all(shards.all.map((shard) => ask(shard.operators)));
  return Object.freeze({
    ...activityOf(each),
    ...queuesOf(each),
    ...agentsOf(each),
    ...historyOf(each),
    async partitions(page) {
      const pages = await each((one) => one.partitions(page));
      const [first] = pages;
      // Each shard has a row of each partition; the one that stores its runs knows its owner.
      const rows = (first?.partitions ?? []).map((row, at) => {
        const owning = pages[shards.all.indexOf(shards.of(row.partition))];
        const found = owning?.partitions[at] ?? row;
        return { ...found, used: pages.some(({ partitions }) => partitions[at]?.used === true) };
      });
      return { now: first?.now ?? (await home.now()), partitions: rows };
    },
    async cluster(namespaceId) {
      const found = await each((one) => one.cluster(namespaceId));
      const first = found[0] ?? (await home.cluster(namespaceId));
      return { ...first, ...sumOpenRuns(found) };
    },
    async attention(namespaceId) {
      return mergeAttention(await each((one) => one.attention(namespaceId)));
    },
    async gauges() {
      const found = await each((one) => one.gauges());
      const [{ openCircuits, failingAgents } = await home.gauges()] = found;
      return {
        openRuns: sumByKey(found.map(({ openRuns }) => openRuns)),
        waiting: sumOf(found, ({ waiting }) => waiting),
        waitingMs: Math.max(...found.map(({ waitingMs }) => waitingMs)),
        escalations: sumOf(found, ({ escalations }) => escalations),
        openCircuits,
        failingAgents,
      };
    },
    now: home.now,
    connections: () =>
      mergeRows(
        shards.all.flatMap(({ operators }) => operators.connections()),
        ({ pool }) => pool,
        (one, other) => ({
          pool: one.pool,
          busy: one.busy + other.busy,
          idle: one.idle + other.idle,
          waiting: one.waiting + other.waiting,
        }),
      ),
  } satisfies Operators);
}

function agentsOf(each: Each): Pick<Operators, "agents" | "held"> {
  return {
    async agents(namespaceId, page) {
      const pages = await each((one) => one.agents(namespaceId, page));
      const known = mergeRows(pages.flat(), ({ session }) => session, sameAgent);
      return mergePages([known], BY_AGENT, page.limit);
    },
    async held(session) {
      const pages = await each((one) => one.held(session));
      return mergePages(pages, (one, other) => one.since - other.since, HELD_MAX);
    },
  };
}

function historyOf(
  each: Each,
): Pick<Operators, "handOvers" | "supervisors" | "audit" | "interventions"> {
  return {
    async handOvers(page) {
      const pages = await each((one) => one.handOvers(page));
      const order = byKeys(({ takenAt, partition, epoch }: (typeof pages)[number][number]) => [
        -takenAt,
        partition,
        -epoch,
      ]);
      return mergePages(pages, order, page.limit);
    },
    async supervisors() {
      const nodes = mergeRows(
        (await each((one) => one.supervisors())).flat(),
        ({ node }) => node,
        (one, other) => ({
          ...one,
          lastSeenAt: Math.min(one.lastSeenAt, other.lastSeenAt),
          alive: one.alive && other.alive,
          partitions: one.partitions + other.partitions,
        }),
      );
      return mergePages(
        [nodes],
        byKeys(({ startedAt, node }) => [startedAt, node]),
        SUPERVISORS_MAX,
      );
    },
    async audit(namespaceId, page) {
      return mergeAudit(await each((one) => one.audit(namespaceId, page)), page.limit);
    },
    async interventions(namespaceId, page) {
      const pages = await each((one) => one.interventions(namespaceId, page));
      return mergePages(pages, NEWEST_INTERVENTION_FIRST, page.limit);
    },
  };
}

type ActivityParts =
  | "openRuns"
  | "substates"
  | "runCounts"
  | "unsuccessfulWorkflows"
  | "workflowRuns"
  | "failingSteps"
  | "failingStepsOf"
  | "countInterventions";

function activityOf(each: Each): Pick<Operators, ActivityParts> {
  return {
    openRuns: async (namespaceId) => sumOpenRuns(await each((one) => one.openRuns(namespaceId))),
    async substates(namespaceId) {
      const rows = (await each((one) => one.substates(namespaceId))).flat();
      return mergeRows(
        rows,
        ({ substate }) => substate,
        (one, other) => {
          const runs = one.runs + other.runs;
          const more = one.more || other.more || runs > SUBSTATE_RUNS_MAX;
          return { ...one, runs: Math.min(SUBSTATE_RUNS_MAX, runs), more };
        },
      );
    },
    async runCounts(namespaceId, since) {
      const rows = mergeRows(
        (await each((one) => one.runCounts(namespaceId, since))).flat(),
        ({ minute, event }) => `${minute} ${event}`,
        (one, other) => ({ ...one, runs: one.runs + other.runs }),
      );
      return mergePages([rows], (one, other) => one.minute - other.minute);
    },
    async unsuccessfulWorkflows(namespaceId, since, limit) {
      // The workflow with the most ends in all may be behind the limit in each shard.
      const all = await each((one) =>
        one.unsuccessfulWorkflows(namespaceId, since, ROWS_OF_SHARD_MAX),
      );
      const rows = mergeRows(
        all.flat(),
        ({ workflow }) => workflow,
        (one, other) => ({ ...one, ends: sumEnds(one.ends, other.ends) }),
      );
      const bad = (ends: Readonly<Record<EndKind, number>>) =>
        sumOf(Object.values(ends), (count) => count) - ends.COMPLETED;
      const order = byKeys(({ workflow, ends }: (typeof rows)[number]) => [-bad(ends), workflow]);
      return mergePages([rows], order, limit);
    },
    async workflowRuns(namespaceId, workflows, since) {
      return mergeRows(
        (await each((one) => one.workflowRuns(namespaceId, workflows, since))).flat(),
        ({ workflow }) => workflow,
        (one, other) => ({
          workflow: one.workflow,
          ends: sumEnds(one.ends, other.ends),
          completedTook: sumByKey([one.completedTook, other.completedTook]),
          lastFailureAt: latest(one.lastFailureAt, other.lastFailureAt),
        }),
      );
    },
    async failingSteps(namespaceId, since, limit) {
      const all = (one: Operators) => one.failingSteps(namespaceId, since, ROWS_OF_SHARD_MAX);
      return mergeFailingSteps(await each(all), limit);
    },
    async failingStepsOf(namespaceId, workflow, since, limit) {
      const all = (one: Operators) =>
        one.failingStepsOf(namespaceId, workflow, since, ROWS_OF_SHARD_MAX);
      return mergeFailingSteps(await each(all), limit);
    },
    async countInterventions(namespaceId, since) {
      const sums = sumByKey(await each((one) => one.countInterventions(namespaceId, since)));
      const counted = [...sums].map(
        ([rule, count]) => [rule, Math.min(INTERVENTIONS_COUNTED_MAX, count)] as const,
      );
      return new Map(counted);
    },
  };
}

function queuesOf(each: Each): Pick<Operators, "queueActivity" | "queueTasks" | "queueHoldings"> {
  return {
    async queueActivity(namespaceId, names) {
      const rows = (await each((one) => one.queueActivity(namespaceId, names))).flat();
      return mergeRows(rows, ({ name }) => name, sameActivity);
    },
    async queueTasks(namespaceId, queue) {
      const rows = (await each((one) => one.queueTasks(namespaceId, queue))).flat();
      return mergeRows(
        rows,
        ({ task, agentVersion }) => `${task} ${agentVersion ?? ""}`,
        (one, other) => ({
          ...sameActivity(one, other),
          ready: one.ready + other.ready,
          leased: one.leased + other.leased,
        }),
      );
    },
    async queueHoldings(namespaceId, queue) {
      const pages = await each((one) => one.queueHoldings(namespaceId, queue));
      return pages.flat().slice(0, HOLDINGS_MAX);
    },
  };
}

function sumOpenRuns(found: readonly OpenRuns[]): OpenRuns {
  const openRuns: ReadonlyMap<RunState["kind"], number> = sumByKey(found.map((of) => of.openRuns));
  return { openRuns, allCounted: found.every(({ allCounted }) => allCounted) };
}

function sumEnds(
  one: Readonly<Record<EndKind, number>>,
  other: Readonly<Record<EndKind, number>>,
): Readonly<Record<EndKind, number>> {
  return {
    COMPLETED: one.COMPLETED + other.COMPLETED,
    COMPENSATED: one.COMPENSATED + other.COMPENSATED,
    FAILED: one.FAILED + other.FAILED,
    CANCELLED: one.CANCELLED + other.CANCELLED,
  };
}

function mergeFailingSteps(
  pages: readonly (readonly FailingStep[])[],
  limit: number,
): readonly FailingStep[] {
  const rows = mergeRows(
    pages.flat(),
    ({ workflow, step, isUndo, code }) => JSON.stringify([workflow, step, isUndo, code]),
    (one, other) => ({
      ...(one.lastAt < other.lastAt ? other : one),
      attempts: one.attempts + other.attempts,
      steps: one.steps + other.steps,
      firstAt: Math.min(one.firstAt, other.firstAt),
    }),
  );
  const order = byKeys(({ steps, attempts, workflow, step, code }: FailingStep) => [
    -steps,
    -attempts,
    workflow,
    step,
    code,
  ]);
  return mergePages([rows], order, limit);
}

const BY_AGENT: Compare<AgentRecord> = byKeys(({ agentId, session }) => [agentId, session]);

/** What two shards know of one session. */
function sameAgent(one: AgentRecord, other: AgentRecord): AgentRecord {
  const [newer, older] = one.seenAt < other.seenAt ? [other, one] : [one, other];
  return {
    ...newer,
    poll: newer.poll ?? older.poll,
    firstSeenAt: Math.min(one.firstSeenAt, other.firstSeenAt),
    lastHeartbeatAt: latest(one.lastHeartbeatAt, other.lastHeartbeatAt),
    silentSince: earliest(one.silentSince, other.silentSince),
    succeededAt: latest(one.succeededAt, other.succeededAt),
    held: Math.min(HELD_MAX, one.held + other.held),
    attempts: [...one.attempts, ...other.attempts],
  };
}

function sameActivity<T extends Omit<QueueActivity, "name">>(one: T, other: T): T {
  return {
    ...one,
    oldestAt: earliest(one.oldestAt, other.oldestAt),
    polledAt: latest(one.polledAt, other.polledAt),
    agents: Math.max(one.agents, other.agents),
  };
}

const NEWEST_INTERVENTION_FIRST: Compare<ListedIntervention> = descending(
  byKeys(({ actedAt, runId, step, fence, n }) => [actedAt, runId, step ?? -1, fence, n]),
);

const NEWEST_ENTRY_FIRST: Compare<AuditPlace> = descending(byKeys(({ at, id }) => [at, id]));

/** A shard whose page has an end knows nothing behind it, and neither does the merged page. */
function mergeAudit(lists: readonly AuditList[], limit: number): AuditList {
  const ends = lists.flatMap(({ next }) => next ?? []);
  const [end] = mergePages([ends], NEWEST_ENTRY_FIRST, 1);
  const known = lists
    .flatMap(({ entries }) => entries)
    .filter((entry) => end === undefined || NEWEST_ENTRY_FIRST(entry, end) <= 0);
  const entries = mergePages([known], NEWEST_ENTRY_FIRST, limit);
  const last = entries.at(-1);
  const next = known.length > limit && last !== undefined ? placeOf(last) : (end ?? null);
  return { entries, next };
}

function placeOf({ at, id }: AuditPlace): AuditPlace {
  return { at, id };
}

function mergeAttention(found: readonly Attention[]): Attention {
  const orphans = mergeRows(
    found.flatMap((of) => of.orphans),
    ({ queue, task, agentVersion }) => `${queue} ${task} ${agentVersion ?? ""}`,
    (one: OrphanLane, other) => ({
      ...one,
      oldestAt: earliest(one.oldestAt, other.oldestAt),
      polledAt: latest(one.polledAt, other.polledAt),
    }),
  );
  const pausedWorkflows = mergeRows(
    found.flatMap((of) => of.pausedWorkflows),
    ({ name }) => name,
    (one, other) => ({
      ...one,
      schedules: Math.min(SCHEDULES_COUNTED_MAX, one.schedules + other.schedules),
    }),
  );
  const sums = sumOf(found, ({ escalations }) => escalations);
  return {
    escalations: Math.min(ESCALATIONS_COUNTED_MAX, sums),
    orphans: mergePages(
      [orphans],
      byKeys(({ queue, task }) => [queue, task]),
      ATTENTION_MAX,
    ),
    failingAgents: found[0]?.failingAgents ?? [],
    namespacePause: found[0]?.namespacePause ?? null,
    pausedQueues: found[0]?.pausedQueues ?? [],
    pausedWorkflows,
  };
}
