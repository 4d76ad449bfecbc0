// Circuits and cordons on PostgreSQL.
import type { EpochMs } from "../../core/model/attempt.ts";
import { type CircuitState, CLOSED, outcomeClassOf } from "../../core/model/circuit.ts";
import { taskOf } from "../../core/page/page.ts";
import type {
  Circuit,
  CircuitChange,
  CircuitRef,
  CircuitSnapshot,
  Circuits,
  CircuitVersion,
  Cordon,
  CountedOutcomes,
  LaneEvidence,
  Probe,
  ProbeEnd,
} from "../circuits.ts";
import type { Lists } from "../lists.ts";
import type { Actor } from "../pass-record.ts";
import type { RunId } from "../run-head.ts";
import { attemptIn } from "./attempts-at.ts";
import { type Audited, recordAudit } from "./audit.ts";
import { circuitSettings, circuitStates, cordonKinds, rules } from "./codes.ts";
import { columns } from "./columns.ts";
import { readPinned } from "./pins.ts";
import { circuitSign } from "./poll-query.ts";
import { stepFinder } from "./read-pages.ts";
import type { Query, Transaction } from "./transaction.ts";

/** Runs the work in a transaction of its own. */
type Transact = <T>(work: (transaction: Transaction) => Promise<T>) => Promise<T>;

export function createCircuits(query: Query, transact: Transact, audited: Audited): Circuits {
  let read: (Awaited<ReturnType<typeof readAll>> & { readonly mark: string }) | null = null;

  async function learn({ now, changeToken, watched }: CircuitVersion): Promise<CircuitSnapshot> {
    // The mark is older than what is read after it: changes in between are read again.
    if (read?.mark !== changeToken) read = { mark: changeToken, ...(await readAll(query)) };
    const { circuits, outages, cordons, pinned } = read;
    return { now, watched, circuits, outages, cordons, pinned };
  }

  return Object.freeze({
    count: (ends) => countEnds(query, ends),
    snapshot: async (windowMs) => learn(await circuitSign(query, windowMs)),
    learn,
    evidence: (lanes, windowMs) => evidence(query, lanes, windowMs),
    change: (changes, actor) =>
      transact((transaction) => changeCircuits(transaction.query, changes, actor)),
    record: (changes, actor) =>
      intervene(
        query,
        changes.map((change) => ({ ...change, version: change.before })),
        actor,
      ),
    setOverride: (...asked) => transact(({ query: within }) => setOverride(within, ...asked)),
    async cordon({ namespaceId, kind, name, by, why }, audit = null) {
      await audited(audit, "cordon", {
        namespace_id: namespaceId,
        kind: cordonKinds.code(kind),
        name,
        by,
        why,
      });
      const known = (await cordonsOf(query, namespaceId)).find(
        (one) => one.kind === kind && one.name === name,
      );
      if (!known && kind !== "session")
        throw new Error(`the cordon of ${kind} ${name} was removed while it was set`);
      return known ?? null;
    },
    async uncordon({ namespaceId, kind, name }, audit = null) {
      const key = { namespace_id: namespaceId, kind: cordonKinds.code(kind), name };
      return (await audited(audit, "uncordon", key)).length > 0;
    },
  } satisfies Circuits);
}

async function setOverride(
  ask: Query,
  ...[{ lane, agentId }, override, audit = null]: Parameters<Circuits["setOverride"]>
): Promise<Circuit> {
  const key = { lane, agent_id: agentId };
  const { changedAt, versions } = await drawVersions(ask, 1);
  const version = versions[0];
  const changed =
    override === null
      ? await ask("release_circuit", { ...key, version })
      : await ask("force_circuit", {
          ...key,
          version,
          changed_at: changedAt,
          forced: circuitSettings.code(override.forced),
          by: override.by,
          why: override.why,
        });
  if (changed.length > 0) await recordAudit(ask, audit);
  if (agentId === "") {
    const classes = await ask<{ lane: number }>("lanes_of_classes", { lane });
    await settleOutages(
      ask,
      classes.map((one) => one.lane),
      changedAt,
    );
  }
  const [row] = await ask<CircuitRow>("circuit_by_key", key);
  if (row) return circuitOf(row);
  return { lane, agentId, state: CLOSED, override: null, version: 0, saw: "" };
}

export function circuitLists(query: Query): Pick<Lists, "circuits" | "cordons"> {
  return {
    async circuits(namespaceId, { after, limit, agentIds = null, openOnly = false }) {
      const from = { after_lane: after?.lane ?? 0, after_agent_id: after?.agentId ?? "" };
      const rows = await query<
        CircuitRow & { queue: string; task: string; agent_version: string | null }
      >("list_circuits", {
        namespace_id: namespaceId,
        ...from,
        limit,
        agent_ids: agentIds,
        open_only: openOnly,
      });
      return rows.map((row) => {
        const { queue, task, agent_version: agentVersion } = row;
        return { ...circuitOf(row), queue, task, agentVersion };
      });
    },
    cordons: (namespaceId) => cordonsOf(query, namespaceId),
  };
}

interface OutageRow {
  lane: number;
  opened_at: EpochMs;
  closed_at: EpochMs | null;
}

async function readAll(query: Query): Promise<Omit<CircuitSnapshot, "now" | "watched">> {
  const outages = await query<OutageRow>("outages_of_late", {});
  const cordons = await query<CordonRow>("all_cordons", {});
  const circuits = await query<CircuitRow>("circuits_not_closed", {});
  return {
    circuits: circuits.map(circuitOf),
    outages: outages.map(({ lane, opened_at: from, closed_at: to }) => ({ lane, from, to })),
    cordons: cordons.map(cordonOf),
    pinned: await readPinned(query),
  };
}

interface CircuitRow {
  lane: number;
  agent_id: string;
  version: number;
  state: number;
  since: EpochMs | null;
  until: EpochMs | null;
  cooldowns: number;
  saw: string;
  forced: number | null;
  forced_by: string | null;
  forced_why: string | null;
  forced_at: EpochMs | null;
}

interface CordonRow {
  namespace_id: number;
  kind: number;
  name: string;
  cordoned_by: string;
  why: string;
  cordoned_at: EpochMs;
  agent_id: string | null;
}

function circuitOf(row: CircuitRow): Circuit {
  const { lane, agent_id: agentId, version, saw, forced, forced_at: at } = row;
  const override =
    forced === null || at === null
      ? null
      : {
          forced: circuitSettings.name(forced),
          by: row.forced_by ?? "",
          why: row.forced_why ?? "",
          at,
        };
  return { lane, agentId, state: stateOf(row), override, version, saw };
}

function stateOf({ state, since, until, cooldowns }: CircuitRow): CircuitState {
  const kind = circuitStates.name(state);
  if (kind === "closed") return CLOSED;
  if (since === null) throw new Error(`a circuit is ${kind}, and the time since when is missing`);
  if (kind === "trying") return { kind, since, cooldowns };
  if (until === null) throw new Error("a circuit is open, and the time until when is missing");
  return { kind, since, until, cooldowns };
}

function cordonOf(row: CordonRow): Cordon {
  const { namespace_id: namespaceId, name, cordoned_by: by, why, cordoned_at: at } = row;
  return {
    namespaceId,
    kind: cordonKinds.name(row.kind),
    name,
    agentId: row.agent_id,
    by,
    why,
    at,
  };
}

async function cordonsOf(query: Query, namespaceId: number): Promise<readonly Cordon[]> {
  return (await query<CordonRow>("cordons_of_namespace", { namespace_id: namespaceId })).map(
    cordonOf,
  );
}

async function countEnds(query: Query, ends: readonly CountedOutcomes[]): Promise<void> {
  if (ends.length === 0) return;
  await query(
    "count_ends",
    columns(ends, {
      lane: (one) => one.lane,
      agent_id: (one) => one.agentId,
      ago: (one) => Math.round(one.agoMs),
      good: (one) => one.good,
      bad: (one) => one.bad,
      run_a: (one) => one.runs[0] ?? null,
      run_b: (one) => one.runs[1] ?? null,
    }),
  );
}

interface TallyRow {
  lane: number;
  agent_id: string;
  good: number;
  bad: number;
  last_at: EpochMs;
  one_run: RunId | null;
  other_run: RunId | null;
}

interface TriedRow extends CircuitRow {
  now: EpochMs;
  asked: number;
  probe_run: RunId | null;
  probe_step: number | null;
  probe_fence: number | null;
  probe_secret: string | null;
  is_out: boolean;
  page: string | null;
  logged: readonly string[] | null;
}

async function evidence(
  query: Query,
  lanes: readonly number[],
  windowMs: number,
): Promise<readonly LaneEvidence[]> {
  if (lanes.length === 0) return [];
  const circuits = await query<TriedRow>("circuits_of_lanes", { lanes });
  const tallies = await query<TallyRow>("circuit_tallies", { lanes, window: windowMs });
  return lanes.flatMap((lane) => {
    const rows = circuits.filter(({ asked }) => asked === lane);
    const known = rows.filter((row) => row.lane !== null);
    const own = tallies.filter((row) => row.lane === lane);
    if (known.length === 0 && own.length === 0) return [];
    return [
      {
        lane,
        now: rows[0]?.now ?? 0,
        tallies: own.map(tallyOf),
        circuits: known.map((row) => ({ ...circuitOf(row), probeEnd: probeEndOf(row) })),
      },
    ];
  });
}

function tallyOf({ agent_id: agentId, good, bad, last_at: lastAt, ...row }: TallyRow) {
  const runs = [row.one_run, row.other_run].filter((run) => run !== null);
  return { agentId, good, bad, lastAt, runs: [...new Set(runs)] };
}

/** A probe that has left no trace says nothing. */
function probeEndOf(row: TriedRow): ProbeEnd | null {
  const { probe_run: runId, probe_step: step, probe_fence: fence } = row;
  if (runId === null || step === null || fence === null || row.is_out) return null;
  const about = { runId, step, fence };
  const inPage = stepFinder()(row.page, step)?.attempts ?? [];
  const ended = [...(row.logged ?? []).map(attemptIn), ...inPage].find(
    (one) => one.fence === fence && one.secret === row.probe_secret && taskOf(one.kind) !== null,
  );
  if (!ended) return { ...about, end: "nothing", at: row.now };
  const { outcome, endedAt: at } = ended;
  const transient = outcome.kind === "failure" && outcome.class === "transient";
  return { ...about, end: outcomeClassOf({ kind: outcome.kind, transient }), at };
}

async function changeCircuits(
  query: Query,
  changes: readonly CircuitChange[],
  actor: Actor,
): Promise<readonly CircuitRef[]> {
  if (changes.length === 0) return [];
  const { changedAt, versions } = await drawVersions(query, changes.length);
  const made = await query<{ lane: number; agent_id: string; version: number }>("change_circuits", {
    changed_at: changedAt,
    ...columns(numbered(changes, versions), {
      version: (one) => one.drawn,
      lane: (one) => one.lane,
      agent_id: (one) => one.agentId,
      before: (one) => one.before,
      state: (one) => circuitStates.code(one.state.kind),
      since: ({ state }) => (state.kind === "closed" ? null : state.since),
      until: ({ state }) => (state.kind === "open" ? state.until : null),
      cooldowns: ({ state }) => (state.kind === "closed" ? 0 : state.cooldowns),
      saw: (one) => one.saw,
    }),
  });
  const done = made.flatMap((row) => {
    const change = changes.find((one) => one.lane === row.lane && one.agentId === row.agent_id);
    return change ? [{ ...change, version: row.version }] : [];
  });
  await intervene(query, done, actor);
  const lanes = done.filter(({ agentId }) => agentId === "").map(({ lane }) => lane);
  await settleOutages(query, lanes, changedAt);
  return done.map(({ lane, agentId }) => ({ lane, agentId }));
}

/** Of the changes that are about runs of this shard. */
async function intervene(
  query: Query,
  changes: readonly (CircuitChange & { readonly version: number })[],
  { node, epoch }: Actor,
): Promise<void> {
  const rows = changes.flatMap(({ about, ...one }) => (about ? [{ ...one, ...about }] : []));
  if (rows.length === 0) return;
  await query("intervene_in_circuits", {
    node,
    epoch,
    ...columns(rows, {
      run_id: (one) => one.runId,
      step_no: (one) => one.step,
      fence: (one) => one.fence,
      rule: (one) => rules.code(one.agentId === "" ? "queue-circuit" : "agent-circuit"),
      n: (one) => one.version,
      saw: (one) => one.saw,
      did: (one) => one.did,
      due_at: (one) => one.dueAt,
    }),
  });
}

async function settleOutages(
  query: Query,
  lanes: readonly number[],
  changedAt: EpochMs,
): Promise<void> {
  if (lanes.length === 0) return;
  await query("end_outages", { lanes });
  await query("begin_outages", { lanes, opened_at: changedAt });
}

/** Each row with the version that was drawn for it. */
function numbered<Row>(
  rows: readonly Row[],
  versions: readonly number[],
): readonly (Row & { readonly drawn: number })[] {
  return rows.map((row, at) => ({ ...row, drawn: versions[at] ?? 0 }));
}

/** A version for each change, and the database's time of all of them. */
export async function drawVersions(
  query: Query,
  count: number,
): Promise<{ readonly changedAt: EpochMs; readonly versions: readonly number[] }> {
  const [row] = await query<{ changed_at: EpochMs; versions: readonly string[] }>(
    "draw_circuit_versions",
    { count },
  );
  if (!row) throw new Error("the database has drawn no versions of circuits");
  return { changedAt: row.changed_at, versions: row.versions.map(Number) };
}

/** Called by the claim that hands out the probes. */
export async function takeProbes(
  query: Query,
  probes: readonly Probe[],
): Promise<readonly CircuitRef[]> {
  if (probes.length === 0) return [];
  const rows = await query<{ lane: number; agent_id: string }>(
    "lock_probed",
    columns(probes, {
      lane: (one) => one.lane,
      agent_id: (one) => one.agentId,
      version: (one) => one.version,
    }),
  );
  const locked = probes.filter(({ lane, agentId }) =>
    rows.some((row) => row.lane === lane && row.agent_id === agentId),
  );
  if (locked.length === 0) return [];
  const { versions } = await drawVersions(query, locked.length);
  await query(
    "take_probes",
    columns(numbered(locked, versions), {
      lane: (one) => one.lane,
      agent_id: (one) => one.agentId,
      run_id: (one) => one.runId,
      step_no: (one) => one.step,
      fence: (one) => one.fence,
      secret: (one) => one.secret,
      next: (one) => one.drawn,
    }),
  );
  return locked.map(({ lane, agentId }) => ({ lane, agentId }));
}
