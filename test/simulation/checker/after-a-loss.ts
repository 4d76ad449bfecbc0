// The promises after a fail-over to a store that lacked the last transactions: what was not lost is
// intact. Each promise is checked as usual, except for what the lost transactions were about, which
// the history contains (LostTail).

import type { LostTail } from "../history-facts.ts";
import type { FinalOccurrence } from "../history-rows.ts";
import { setOffBy } from "./ends.ts";
import type { Call, Facts } from "./facts.ts";
import type { Finding, PromiseName } from "./violation.ts";

interface Excuses {
  /**
   * Lost rows of these tables excuse what a check finds about no run: what is of one schedule, one
   * workflow or one partition is not distinguished from what is of another. Left out: nothing does.
   */
  readonly ofNoRun?: readonly string[];
  /** Lost rows of these tables excuse what it finds about any run. */
  readonly ofAny?: readonly string[];
  /** The runs that it is silent about. Left out: those about which more than a message was lost. */
  readonly runs?: (facts: Facts, lost: LostTail) => ReadonlySet<string>;
}

const NO_RUNS: ReadonlySet<string> = new Set();
const SCHEDULES = ["schedule", "occurrence"];
const OWNERS = ["partition_lease", "partition_history", "writer"];

/**
 * No check is off. What stays silent, and why:
 *
 *   G1   of no run: a lost registration, occurrence or webhook was acknowledged all the same
 *   G2   an order whose run or key was lost is another run when it is repeated: both are its
 *        answers; and so it is with an occurrence of a schedule
 *   G8   runs of sessions whose heartbeats were lost: their leases end sooner than was answered
 *   G9   partitions of which a take-over was lost: its epoch is given out again
 *   G15  runs of keys with lost permits: who held one is no more
 *   G16  everything, if a pause, a cordon or a circuit was lost: no row tells of which lane
 *   all  runs about which something was lost, and their families: an acknowledged call is gone
 *
 * What is about all of the store, whatever it has lost: tokens are given once (a part of G3, which
 * distinguishes them by their secrets), everything open is watched (G7) and ends (G10), and
 * namespaces do not leak (G14).
 */
const EXCUSES: Readonly<Record<PromiseName, Excuses>> = {
  G1: {
    ofNoRun: [...SCHEDULES, "workflow", "definition", "delivery", "outbox", "trigger_refusal"],
    runs: ofAnyLoss,
  },
  G2: { ofNoRun: [...SCHEDULES, "idempotency"], runs: ofRequests },
  G3: {},
  G4: {},
  G5: {},
  G6: {},
  G7: { runs: () => NO_RUNS },
  G8: { ofNoRun: SCHEDULES, runs: ofSessions },
  G9: { ofNoRun: OWNERS, runs: ofPartitions },
  G10: { runs: () => NO_RUNS },
  G11: {},
  G12: {},
  G13: {},
  G14: { runs: () => NO_RUNS },
  G15: { ofNoRun: [...SCHEDULES, "permit"], runs: ofKeys },
  G16: { ofNoRun: SCHEDULES, ofAny: ["queue", "paused_workflow", "cordon", "circuit"] },
  G17: {},
  G19: {},
  G20: { runs: ofSessions },
};

/** null: the store has lost nothing. */
export function lostOf({ faults }: Facts): LostTail | null {
  const all = faults.flatMap(({ fault }) =>
    "did" in fault && fault.did === "tail-lost" ? [fault.lost] : [],
  );
  if (all.length === 0) return null;
  return {
    tables: all.flatMap(({ tables }) => tables),
    runs: all.flatMap(({ runs }) => runs),
    allRuns: all.flatMap((one) => one.allRuns),
    sessions: all.flatMap(({ sessions }) => sessions),
    partitions: all.flatMap(({ partitions }) => partitions),
    concurrencyKeys: all.flatMap(({ concurrencyKeys }) => concurrencyKeys),
    keys: all.flatMap(({ keys = [] }) => keys),
  };
}

/** Whether what a check finds is proven although the store has lost that. */
export function stillProven(
  facts: Facts,
  promise: PromiseName,
  lost: LostTail,
): (finding: Finding) => boolean {
  const { ofNoRun = [], ofAny = [], runs = ofLost } = EXCUSES[promise];
  const excused = runs(facts, lost);
  const hasLost = (tables: readonly string[]) => tables.some((one) => lost.tables.includes(one));
  const isSilent = hasLost(ofAny);
  const isSilentOfNoRun = hasLost(ofNoRun);
  return ({ runId }) => !isSilent && (runId === null ? !isSilentOfNoRun : !excused.has(runId));
}

function ofLost(facts: Facts, { runs }: LostTail): ReadonlySet<string> {
  return withFamilies(facts, runs);
}

function ofAnyLoss(facts: Facts, lost: LostTail): ReadonlySet<string> {
  return withFamilies(facts, [...lost.allRuns, ...ofLostSchedules(facts, lost)]);
}

/** A shard that has lost an occurrence has not lost its run, if that is in another shard. */
function ofLostSchedules(facts: Facts, { tables }: LostTail): readonly string[] {
  const { shards = 1 } = facts.history.meta;
  if (shards === 1 || !SCHEDULES.some((one) => tables.includes(one))) return [];
  return [...facts.runs.values()].flatMap(({ run }) => (run.scheduledBy ? [run.runId] : []));
}

function ofSessions(facts: Facts, { runs, sessions }: LostTail): ReadonlySet<string> {
  const worked = facts.seen.flatMap(({ session, task }) =>
    sessions.includes(session) ? [task.token.runId] : [],
  );
  return withFamilies(facts, [...runs, ...worked]);
}

/**
 * Runs that were the answers to one request, or of one occurrence, where one of them was lost, or
 * the key: its shard may lose it, and that of the run's concurrency key has the run, which no call
 * may have been answered with.
 */
function ofRequests(facts: Facts, { runs, keys = [] }: LostTail): ReadonlySet<string> {
  const lost = new Set(runs);
  const isLostKey = (name: string): boolean => keys.some((key) => name.endsWith(` ${key}`));
  const named = [
    ...facts.calls.flatMap(namedAnswers),
    ...facts.history.final.keys.map(({ namespace, key, runId }) => {
      return { name: `${namespace} ${key}`, runId };
    }),
    ...facts.history.final.occurrences.flatMap(fired),
  ];
  const byName = Map.groupBy(named, ({ name }) => name);
  const beside = [...byName].flatMap(([name, all]) =>
    isLostKey(name) || all.some(({ runId }) => lost.has(runId))
      ? all.map(({ runId }) => runId)
      : [],
  );
  return withFamilies(facts, [...runs, ...beside]);
}

interface Named {
  readonly name: string;
  readonly runId: string;
}

function fired({ scheduleId, series, nominalTime, runId }: FinalOccurrence): readonly Named[] {
  return runId === null ? [] : [{ name: `${scheduleId} ${series} ${nominalTime}`, runId }];
}

/** The runs that a call was answered with, each by what its caller named it. */
function namedAnswers({ request, answers }: Call): readonly Named[] {
  const named = (key: string | null | undefined, answer: Call["answers"][number]["answer"]) =>
    answer.kind === "scheduled" && key
      ? [{ name: `${request.namespace} ${key}`, runId: answer.runId }]
      : [];
  return answers.flatMap(({ answer }) => {
    if (request.rpc === "ScheduleBatch" && answer.kind === "batch")
      return answer.results.flatMap((one, index) => named(request.runs[index]?.key, one));
    if ("key" in request) return named(request.key, answer);
    return "requestId" in request ? named(request.requestId, answer) : [];
  });
}

function ofPartitions(facts: Facts, { runs, partitions }: LostTail): ReadonlySet<string> {
  const there = [...facts.runs.values()].flatMap(({ run }) =>
    partitions.includes(run.partition) ? [run.runId] : [],
  );
  return withFamilies(facts, [...runs, ...there]);
}

function ofKeys(facts: Facts, { runs, concurrencyKeys }: LostTail): ReadonlySet<string> {
  const waiting = [...facts.runs.values()].flatMap(({ run }) =>
    run.concurrency && concurrencyKeys.includes(run.concurrency.key) ? [run.runId] : [],
  );
  return withFamilies(facts, [...runs, ...waiting]);
}

/**
 * The lost rows may link runs to each other: parents, children and reruns. A shard that has lost
 * the end of a run has not lost what that set off in another one.
 */
function withFamilies(facts: Facts, runs: readonly string[]): ReadonlySet<string> {
  const { shards = 1 } = facts.history.meta;
  const links = new Map<string, string[]>();
  const link = (a: string, b: string): void => {
    links.set(a, [...(links.get(a) ?? []), b]);
    links.set(b, [...(links.get(b) ?? []), a]);
  };
  for (const { run } of facts.runs.values()) {
    if (run.parent) link(run.runId, run.parent.runId);
    if (run.rerunOf) link(run.runId, run.rerunOf.runId);
    for (const { of } of run.reused) link(run.runId, of);
    const by = shards > 1 ? setOffBy(run.key) : null;
    if (by) link(run.runId, by.of);
  }
  const all = new Set(runs);
  // A set hands out what is added to it while it is walked.
  for (const runId of all) for (const other of links.get(runId) ?? []) all.add(other);
  return all;
}
