// Circuits and cordons in memory, as the .sql statements of the same names store them.

import type { LaneCircuit } from "../../core/explain/explanation.ts";
import type { EpochMs } from "../../core/model/attempt.ts";
import { CLOSED, flowOf, outcomeClassOf, type Tally } from "../../core/model/circuit.ts";
import { taskOf } from "../../core/page/page.ts";
import type {
  Circuit,
  CircuitChange,
  CircuitOverride,
  CircuitRef,
  CircuitSnapshot,
  Circuits,
  CircuitVersion,
  CordonRef,
  CountedOutcomes,
  LaneEvidence,
  NewCordon,
  ProbeEnd,
} from "../circuits.ts";
import type { Actor } from "../pass-record.ts";
import type { Tx } from "../store.ts";
import type { LaneRow } from "./catalogue-tables.ts";
import { type CircuitRow, circuitKey, cordonKey, endKey } from "./circuit-tables.ts";
import { attemptsOf } from "./pages.ts";
import { pinnedOf } from "./pins.ts";
import type { SharedChanges } from "./shared-changes.ts";
import { interventionKey, pageStepOf, stepKey, type Tables } from "./tables.ts";
import type { Transactions } from "./transactions.ts";

const INTERVAL_MS = 5_000;
const OUTAGES_REPORTED_MS = 24 * 3_600_000;
const OUTAGES_REPORTED_MAX = 1_000;

interface CircuitWorld {
  readonly tables: Tables;
  readonly now: () => EpochMs;
  /** Every lane, in the order of the ids. */
  readonly lanes: () => readonly LaneRow[];
}

/** `run`: a transaction of the first shard. */
export function createCircuits(
  world: CircuitWorld,
  { run }: Pick<Transactions, "run">,
  shared: SharedChanges,
): Circuits {
  const { tables, now, lanes } = world;
  return Object.freeze({
    count: (ends: readonly CountedOutcomes[]) =>
      run(() => {
        for (const one of ends) countOne(tables, now(), one);
      }),
    snapshot: (windowMs: number) =>
      run(() => snapshotOf(world, circuitSign(tables, now(), windowMs))),
    learn: (sign: CircuitVersion) => run(() => snapshotOf(world, sign)),
    evidence: (of: readonly number[], windowMs: number) =>
      run(() => of.flatMap((lane) => evidenceOf(tables, now(), lane, windowMs) ?? [])),
    change: (changes: readonly CircuitChange[], actor: Actor) =>
      run(() => changes.filter((change) => changeOne(world, change, actor)).map(refOf)),
    record: (changes: readonly CircuitChange[], actor: Actor) =>
      run(() => {
        for (const change of changes) recordChange(world, change, change.before, actor);
      }),
    setOverride: (of: CircuitRef, override: CircuitOverride | null) =>
      run(() => {
        for (const { lane, base } of lanes())
          if (base === of.lane) setOverrideOf(world, { lane, agentId: of.agentId }, override);
        const after = tables.circuit.get(circuitKey(of));
        const { lane, agentId } = of;
        if (after) return shown(after);
        return { lane, agentId, state: CLOSED, override: null, version: 0, saw: "" };
      }),
    cordon: (cordon: NewCordon) =>
      shared.run(() => {
        const { kind, name } = cordon;
        const agent = kind === "session" ? tables.agent.get(name) : undefined;
        if (kind === "session" && agent?.namespaceId !== cordon.namespaceId) return null;
        const agentId = agent?.agentId ?? null;
        if (!tables.cordon.get(cordonKey(cordon)))
          tables.cordon.insert({ ...cordon, agentId, at: now() });
        return tables.cordon.expect(cordonKey(cordon));
      }),
    uncordon: (of: CordonRef) =>
      shared.run(() => {
        const known = tables.cordon.get(cordonKey(of));
        if (known) tables.cordon.removeRow(known);
        return known !== undefined;
      }),
  } satisfies Circuits);
}

/** The mark is always empty: a snapshot costs nothing here, so each one is read anew. */
export function circuitSign(tables: Tables, now: EpochMs, windowMs: number): CircuitVersion {
  const bad = tables.circuitEnd.all().filter((end) => end.bad > 0 && end.at > now - windowMs);
  return { now, changeToken: "", watched: [...new Set(bad.map(({ lane }) => lane))] };
}

function snapshotOf(world: CircuitWorld, { watched }: CircuitVersion): CircuitSnapshot {
  const { tables, now } = world;
  return {
    now: now(),
    watched,
    circuits: tables.circuit
      .all()
      .filter((row) => !isPlain(row))
      .sort(byKey)
      .map(shown),
    outages: tables.circuitOutage
      .all()
      .filter(({ to }) => to === null || to > now() - OUTAGES_REPORTED_MS)
      .sort((a, b) => b.from - a.from)
      .slice(0, OUTAGES_REPORTED_MAX),
    cordons: tables.cordon.all(),
    pinned: pinnedOf(world),
  };
}

function isPlain({ state, override }: Circuit): boolean {
  return state.kind === "closed" && override === null;
}

function byKey(a: CircuitRef, b: CircuitRef): number {
  if (a.lane !== b.lane) return a.lane - b.lane;
  if (a.agentId === b.agentId) return 0;
  return a.agentId < b.agentId ? -1 : 1;
}

function refOf({ lane, agentId }: CircuitRef): CircuitRef {
  return { lane, agentId };
}

function shown({ lane, agentId, state, override, version, saw }: CircuitRow): Circuit {
  return { lane, agentId, state, override, version, saw };
}

function setOverrideOf(
  world: CircuitWorld,
  of: CircuitRef,
  override: CircuitOverride | null,
): void {
  const { tables, now } = world;
  const known = tables.circuit.get(circuitKey(of));
  if ((known?.override?.forced ?? null) === (override?.forced ?? null)) return;
  const row: CircuitRow = known ?? {
    lane: of.lane,
    agentId: of.agentId,
    state: CLOSED,
    saw: "",
    probe: null,
    override: null,
    version: 0,
    changedAt: 0,
  };
  const moved = { version: tables.circuit.next(), changedAt: now() };
  tables.circuit.put(
    override
      ? { ...row, ...moved, override: { ...override, at: now() } }
      : { ...row, ...moved, override: null, state: CLOSED, probe: null },
  );
  settleOutage(world, of);
}

/** What a person has set for a circuit holds for a new lane of the task, too. */
export function inheritOverrides(world: CircuitWorld, base: number, lane: number): void {
  for (const { agentId, override } of world.tables.circuit.where("lane", base))
    if (override) setOverrideOf(world, { lane, agentId }, override);
}

function countOne(tables: Tables, now: EpochMs, { agoMs, ...ends }: CountedOutcomes): void {
  const lastAt = now - agoMs;
  const at = Math.floor(lastAt / INTERVAL_MS) * INTERVAL_MS;
  const known = tables.circuitEnd.get(endKey({ ...ends, at }));
  const runs = [...new Set([...(known?.runs ?? []), ...ends.runs])].slice(0, 2);
  tables.circuitEnd.put({
    lane: ends.lane,
    agentId: ends.agentId,
    at,
    runs,
    good: (known?.good ?? 0) + ends.good,
    bad: (known?.bad ?? 0) + ends.bad,
    lastAt: Math.max(known?.lastAt ?? 0, lastAt),
  });
}

function evidenceOf(
  tables: Tables,
  now: EpochMs,
  lane: number,
  windowMs: number,
): LaneEvidence | null {
  const rows = tables.circuit.where("lane", lane).sort(byKey);
  const changedAt = (agentId: string) =>
    rows.find((row) => row.agentId === agentId)?.changedAt ?? 0;
  const counted = tables.circuitEnd
    .where("lane", lane)
    .filter(({ at, agentId }) => at >= Math.max(now - windowMs, changedAt(""), changedAt(agentId)));
  if (rows.length === 0 && counted.length === 0) return null;
  const tallies = [...Map.groupBy(counted, ({ agentId }) => agentId)]
    .map(([agentId, of]): Tally & { readonly lastAt: EpochMs } => ({
      agentId,
      good: of.reduce((sum, one) => sum + one.good, 0),
      bad: of.reduce((sum, one) => sum + one.bad, 0),
      runs: [...new Set(of.flatMap(({ runs }) => runs))].slice(0, 2),
      lastAt: Math.max(...of.map((one) => one.lastAt)),
    }))
    .sort((a, b) => (a.agentId < b.agentId ? -1 : 1));
  const circuits = rows.map((row) => ({ ...shown(row), probeEnd: probeEndOf(tables, now, row) }));
  return { lane, now, tallies, circuits };
}

function probeEndOf(tables: Tables, now: EpochMs, { probe }: CircuitRow): ProbeEnd | null {
  if (!probe) return null;
  const { runId, step, fence, secret } = probe;
  if (tables.lease.get(stepKey(runId, step))?.secret === secret) return null;
  const of = pageStepOf(tables, runId, step);
  const ended = (of ? attemptsOf(tables, runId, of) : []).find(
    (one) => one.fence === fence && one.secret === secret && taskOf(one.kind) !== null,
  );
  if (!ended) return { runId, step, fence, end: "nothing", at: now };
  const { outcome, endedAt: at } = ended;
  const transient = outcome.kind === "failure" && outcome.class === "transient";
  return { runId, step, fence, end: outcomeClassOf({ kind: outcome.kind, transient }), at };
}

function changeOne({ tables, now, lanes }: CircuitWorld, change: CircuitChange, actor: Actor) {
  const { lane, agentId, before, state, saw } = change;
  const known = tables.circuit.get(circuitKey(change));
  if ((known?.version ?? 0) !== before || known?.override) return false;
  const version = tables.circuit.next();
  tables.circuit.put({
    lane,
    agentId,
    state,
    saw,
    version,
    override: null,
    probe: null,
    changedAt: now(),
  });
  settleOutage({ tables, now, lanes }, change);
  recordChange({ tables, now }, change, version, actor);
  return true;
}

/** `n`: a number that is another one for each change. */
function recordChange(
  { tables, now }: Pick<CircuitWorld, "tables" | "now">,
  { agentId, saw, did, dueAt, about }: CircuitChange,
  n: number,
  actor: Actor,
): void {
  const run = about && tables.run.get(about.runId);
  if (!run) return;
  const row = {
    runId: about.runId,
    partition: run.partition,
    fence: about.fence,
    n,
    step: about.step === -1 ? null : about.step,
    rule: agentId === "" ? ("queue-circuit" as const) : ("agent-circuit" as const),
    saw,
    did,
    dueAt,
    actedAt: now(),
    node: actor.node,
    epoch: actor.epoch,
  };
  if (!tables.intervention.get(interventionKey(row))) tables.intervention.insert(row);
}

function settleOutage({ tables, now }: CircuitWorld, { lane, agentId }: CircuitRef): void {
  if (agentId !== "") return;
  const circuit = tables.circuit.get(circuitKey({ lane, agentId }));
  const isOut = circuit !== undefined && isHeld(circuit);
  const open = tables.circuitOutage.where("lane", lane).find(({ to }) => to === null);
  if (isOut && !open) tables.circuitOutage.put({ lane, from: now(), to: null });
  if (!isOut && open) tables.circuitOutage.put({ ...open, to: now() });
}

function isHeld({ state, override }: Circuit): boolean {
  return override ? override.forced === "open" : state.kind !== "closed";
}

/** The circuit that stops a lane; null: none. */
export function laneCircuit({ tables }: Pick<CircuitWorld, "tables">, lane: number) {
  const row = tables.circuit.get(circuitKey({ lane, agentId: "" }));
  return row && isHeld(row) ? circuitShown(row) : null;
}

function circuitShown({ state, override, saw }: Circuit): LaneCircuit {
  const since = override?.at ?? (state.kind === "closed" ? 0 : state.since);
  return {
    since,
    until: override || state.kind !== "open" ? null : state.until,
    isHalfOpen: override === null && state.kind === "trying",
    override: override && { by: override.by, why: override.why },
    saw,
  };
}

/** Called by the claim that hands out the probes. */
export function probesOf(
  { tables, now }: { readonly tables: Tables; readonly now: EpochMs },
  enter: () => void,
): Pick<Tx, "takeProbes"> {
  return {
    takeProbes: async (probes) => {
      enter();
      return probes
        .filter(({ lane, agentId, version, ...probe }) => {
          const row = tables.circuit.get(circuitKey({ lane, agentId }));
          if (row?.version !== version || row.override || row.state.kind !== "open") return false;
          if (flowOf(row.state, null, now) !== "one") return false;
          const { since, cooldowns } = row.state;
          const moved = { version: tables.circuit.next(), changedAt: now, probe };
          tables.circuit.put({ ...row, ...moved, state: { kind: "trying", since, cooldowns } });
          return true;
        })
        .map(refOf);
    },
  };
}
