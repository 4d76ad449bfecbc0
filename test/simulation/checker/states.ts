// States follow the published state table, readers never see an older one, and none is left without
// a server or person that will change it: G6, G7, G10 and G17.
import type { EpochMs } from "../../../server/core/model/attempt.ts";
import type { Step } from "../../../server/core/model/model.ts";
import { FORWARD_EDGES, RUN_EDGES } from "../../../server/core/model/state-table.ts";
import type { RunSeen } from "../history.ts";
import { isEndState } from "../history-rows.ts";
import { type Call, type Facts, fateOf, type RunFacts, stepName } from "./facts.ts";
import { permitsOfTheEnded } from "./permits.ts";
import { schedulings } from "./schedulings.ts";
import type { Finding } from "./violation.ts";

type Ways = ReadonlyMap<string, ReadonlySet<string>>;

/** An ESCALATED run with a stop reason goes no further forward; the table has one name for both. */
const WITH_STOP_REASON = "ESCALATED with a stop reason";
const RUN_WAYS = oneEscalated(
  closure(
    RUN_EDGES.map(({ from, to }) => {
      const others = [from, to].filter((state) => state !== "ESCALATED");
      const undecided = others.some((state) => state === "RUNNING" || state === "PAUSED");
      const named = (state: string) =>
        state === "ESCALATED" && !undecided ? WITH_STOP_REASON : state;
      return { from: named(from), to: named(to) };
    }),
  ),
);
/**
 * What people see: HELD as READY, MAPPING and UNDOING as WAITING, and a step that is verified as
 * VERIFYING in whatever state it is.
 */
const PUBLIC_STATES: Readonly<Record<string, readonly string[]>> = {
  HELD: ["READY"],
  MAPPING: ["WAITING"],
  UNDOING: ["WAITING"],
  ...Object.fromEntries(
    ["READY", "LEASED", "BACKOFF"].map((state) => [state, [state, "VERIFYING"]]),
  ),
};
/** People see BLOCKED steps of a run with a stop reason as CANCELLED. */
const STEP_WAYS = closure(
  [...FORWARD_EDGES, { from: "BLOCKED", to: "CANCELLED" }].flatMap(({ from, to }) =>
    publicStatesOf(from).flatMap((was) => publicStatesOf(to).map((is) => ({ from: was, to: is }))),
  ),
);

function publicStatesOf(state: string): readonly string[] {
  return PUBLIC_STATES[state] ?? [state];
}

/** Where one can come to from each state, with any number of transitions between two reads. */
function closure(edges: readonly { readonly from: string; readonly to: string }[]): Ways {
  const ways = new Map<string, Set<string>>();
  for (const { from, to } of edges) ways.set(from, new Set([...(ways.get(from) ?? []), to]));
  for (const reached of ways.values()) {
    // A set hands out what is added to it while it is walked.
    for (const state of reached) for (const next of ways.get(state) ?? []) reached.add(next);
  }
  return ways;
}

function oneEscalated(ways: Ways): Ways {
  const seen = new Map<string, ReadonlySet<string>>();
  for (const [from, reached] of ways) {
    const name = from === WITH_STOP_REASON ? "ESCALATED" : from;
    const to = [...reached].map((state) => (state === WITH_STOP_REASON ? "ESCALATED" : state));
    seen.set(name, new Set([...(seen.get(name) ?? []), ...to]));
  }
  return seen;
}

/**
 * G6. All that was seen of a run, by version: one run state for a version, and from each to the
 * next a way through the published tables, down to the final row; the same for every step.
 */
export function* statesFollowTheMachine(facts: Facts): Iterable<Finding> {
  const observations = observationsByRun(facts);
  const later = beginLater(facts);
  for (const run of facts.runs.values()) {
    const { runId, state, version, endedAt } = run.run;
    if (isEndState(state) !== (endedAt !== null))
      yield { runId, text: `run ${runId} is ${state}, and ended at ${endedAt}` };
    const seen = observations.get(runId) ?? [];
    const ahead = seen.find((observation) => observation.version > version);
    if (ahead)
      yield {
        runId,
        text: `run ${runId} was seen in version ${ahead.version}, stored is ${version}`,
      };
    const first = { version: 0, state: later.has(run) ? "PENDING" : "RUNNING" };
    const runStates = [first, ...seen, { version, state }];
    yield* illegalTransitions(runId, `run ${runId}`, byVersion(runStates), RUN_WAYS);
    for (const step of run.plan.steps) {
      const publicState = finalPublicState(run, step.no);
      const stepStates = seen.flatMap((observation) =>
        observation.steps.flatMap(({ stepId, state: was }) =>
          stepId === step.id ? [{ version: observation.version, state: was }] : [],
        ),
      );
      const last = publicState === null ? [] : [{ version, state: publicState }];
      const path = byVersion([...stepStates, ...last]);
      yield* illegalTransitions(runId, stepName(run, step.no), path, STEP_WAYS);
    }
  }
}

/** Those that need not begin when they are made. */
function beginLater(facts: Facts): ReadonlySet<RunFacts> {
  const marks = new Set(
    schedulings(facts).flatMap(({ namespace, ask }) =>
      ask.startAt === null ? [] : [`${namespace}/${ask.mark}`],
    ),
  );
  return new Set(
    [...facts.runs.values()].filter(
      ({ run: { concurrency, parent, namespace, mark } }) =>
        concurrency !== null || parent !== null || marks.has(`${namespace}/${mark}`),
    ),
  );
}

/** null: the rows do not tell whether it is still to come. */
function finalPublicState({ run }: RunFacts, no: number): string | null {
  const forward = run.steps.find((row) => row.no === no)?.forward;
  if (!forward || forward.kind === "BLOCKED") return run.endedAt === null ? null : "CANCELLED";
  if ("task" in forward && forward.task === "verify") return "VERIFYING";
  return PUBLIC_STATES[forward.kind]?.[0] ?? forward.kind;
}

interface Observation {
  readonly version: number;
  readonly state: string;
}

type RunObservation = Observation & Pick<RunSeen, "steps">;

function observationsByRun(facts: Facts): ReadonlyMap<string, readonly RunObservation[]> {
  const observations = new Map<string, RunObservation[]>();
  for (const call of facts.calls) {
    for (const { answer } of call.answers) {
      for (const { runId, version, state, steps } of runsIn(answer)) {
        if (version === null) continue;
        const known = observations.get(runId) ?? [];
        known.push({ version, state, steps });
        observations.set(runId, known);
      }
    }
  }
  return observations;
}

export function runsIn(answer: Call["answers"][number]["answer"]): readonly RunSeen[] {
  if (answer.kind === "read" || answer.kind === "cancelled") return [answer.run];
  if (answer.kind === "done") return answer.run ? [answer.run] : [];
  return answer.kind === "listed" ? answer.runs : [];
}

function byVersion(
  observations: readonly Observation[],
): readonly (readonly [number, ReadonlySet<string>])[] {
  const states = new Map<number, Set<string>>();
  for (const { version, state } of observations)
    states.set(version, new Set([...(states.get(version) ?? []), state]));
  return [...states].sort(([a], [b]) => a - b);
}

function* illegalTransitions(
  runId: string,
  name: string,
  path: ReturnType<typeof byVersion>,
  ways: Ways,
): Iterable<Finding> {
  let before: readonly [number, ReadonlySet<string>] | null = null;
  for (const [version, states] of path) {
    // A claim moves a step from READY to LEASED without a new version.
    const fixed = [...states].filter((state) => state !== "LEASED" || !states.has("READY"));
    if (fixed.length > 1)
      yield { runId, text: `${name} was seen as ${fixed.join(" and as ")} in version ${version}` };
    for (const from of before?.[1] ?? []) {
      for (const to of states) {
        if (from === to || ways.get(from)?.has(to)) continue;
        const text = `${name} went from ${from} (version ${before?.[0]}) to ${to} (version ${version}), and no way leads there`;
        yield { runId, text };
      }
    }
    before = [version, states];
  }
}

/**
 * G7. In the rows at the end, each open run has a timer of a step or of itself that will wake it,
 * or an open escalation; each moving step has its timer; and if owners are known, its partition has
 * one. No run that has ended holds a permit.
 */
export function* everythingOpenIsWatched(facts: Facts): Iterable<Finding> {
  const { owners } = facts.history.final;
  const watched = new Set(owners.map(({ partition }) => partition));
  for (const run of facts.runs.values()) {
    const { runId, partition, state } = run.run;
    if (isEndState(state)) {
      for (const step of run.run.steps)
        if (dueTimesOf(step).length > 0)
          yield {
            runId,
            text: `run ${runId} is ${state}, but ${stepName(run, step.no)} still moves`,
          };
      continue;
    }
    if (owners.length > 0 && !watched.has(partition))
      yield { runId, text: `no server watches partition ${partition} of run ${runId}` };
    for (const text of unwatched(run)) yield { runId, text };
  }
  yield* permitsOfTheEnded(facts);
}

function unwatched(run: RunFacts): readonly string[] {
  const { runId, state, wakeAt, steps, pivoted } = run.run;
  const open = openEscalations(run);
  const dueTimes = steps.flatMap(dueTimesOf);
  const found: string[] = [];
  for (const step of steps) {
    const name = stepName(run, step.no);
    if (dueTimesOf(step).some((dueTime) => dueTime === null || !Number.isFinite(dueTime)))
      found.push(`${name} moves, but no timer will wake it`);
    const asks = step.forward.kind === "ESCALATED" || step.undo.kind === "FAILED";
    if (asks && !open.has(step.no))
      found.push(`${name} waits for a person, and no escalation is open`);
  }
  if (state === "ESCALATED" && open.size === 0)
    found.push(`run ${runId} is ESCALATED without an open escalation`);
  // A paused run waits for the person who paused it.
  const person = state === "PAUSED" || (state === "ESCALATED" && open.size > 0);
  const moved = person || (state !== "ESCALATED" && dueTimes.length > 0);
  const isTimed = state === "STOPPING" || state === "PENDING";
  if (!moved && (!isTimed || wakeAt === null))
    found.push(`run ${runId} is ${state}, and nothing will ever move it`);
  // After the pivot the deadline is past, or will be, and stops nothing.
  if (state === "RUNNING" && wakeAt === null && !pivoted)
    found.push(`run ${runId} is RUNNING, and no timer watches its deadline`);
  return found;
}

/** `null` where a row that must have a due time has none. */
export function dueTimesOf(step: Step): readonly (EpochMs | null)[] {
  return [step.forward, step.undo].flatMap((side) => {
    return "wakeAt" in side || ["READY", "LEASED", "BACKOFF", "WAITING"].includes(side.kind)
      ? ["wakeAt" in side ? (side.wakeAt ?? null) : null]
      : [];
  });
}

function openEscalations({ run }: RunFacts): ReadonlySet<number> {
  return new Set(run.escalations.filter((row) => row.closedAt === null).map((row) => row.step));
}

/** G10. After everything was healed and drained, each run has ended or is with a person. */
export function* everyRunEnds(facts: Facts): Iterable<Finding> {
  if (!facts.history.final.drained) return;
  for (const run of facts.runs.values()) {
    const { runId, state } = run.run;
    if (isEndState(state)) continue;
    if (state === "ESCALATED" && openEscalations(run).size > 0) continue;
    const steps = run.run.steps.map(({ forward, undo }) => `${forward.kind}/${undo.kind}`);
    const text = `run ${runId} is still ${state} after all was healed; its steps are ${steps.join(", ")}`;
    yield { runId, text };
  }
}

/**
 * G17. A reader that sends a call after it has received an answer never receives an older version
 * of that run, nor that there is none; a stream never goes back. Calls side by side may overtake
 * each other.
 */
export function* readsNeverGoBackwards(facts: Facts): Iterable<Finding> {
  for (const readings of readingsByReader(facts).values()) {
    for (const late of readings) {
      const before = readings.find((early) => {
        const bound = early.call === late.call ? late.index : late.call.index;
        return early.index < bound && early.version > late.version;
      });
      if (!before) continue;
      const { runId } = late;
      const then = `version ${before.version} of run ${runId} at ${before.at}`;
      const now = late.version < 0 ? "that there is no such run" : `version ${late.version}`;
      yield { runId, text: `${late.reader} read ${then}, and ${now} at ${late.at}` };
    }
  }
}

interface Reading {
  readonly reader: string;
  readonly runId: string;
  readonly call: Call;
  /** Index of the answer in the record. */
  readonly index: number;
  readonly at: EpochMs;
  /** -1: there is no such run; 0: there is one. */
  readonly version: number;
}

function readingsByReader(facts: Facts): ReadonlyMap<string, readonly Reading[]> {
  const byReader = new Map<string, Reading[]>();
  for (const call of facts.calls) {
    for (const { at, index, answer } of call.answers) {
      for (const { runId, version } of readingsIn(call, answer)) {
        const reader = call.sent.process;
        const known = byReader.get(`${reader}/${runId}`) ?? [];
        known.push({ reader, runId, call, index, at, version });
        byReader.set(`${reader}/${runId}`, known);
      }
    }
  }
  return byReader;
}

function readingsIn(
  call: Call,
  answer: Call["answers"][number]["answer"],
): readonly { readonly runId: string; readonly version: number }[] {
  const made = answer.kind === "batch" ? answer.results : [answer];
  const runIds = made.flatMap((one) => (one.kind === "scheduled" ? [one.runId] : []));
  if (runIds.length > 0) return runIds.map((runId) => ({ runId, version: 0 }));
  const { request } = call;
  const fate = fateOf(call);
  if (fate.kind === "refused" && fate.reason === "RUN_NOT_FOUND" && "runId" in request)
    return [{ runId: request.runId, version: -1 }];
  return runsIn(answer).flatMap(({ runId, version }) =>
    version === null ? [] : [{ runId, version }],
  );
}
