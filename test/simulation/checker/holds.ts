// Pauses of queues, workflows and namespaces, cordons and circuits: a part of G16, and of G15.
import type { EpochMs } from "../../../server/core/model/attempt.ts";
import { SLOW_MS_MAX } from "../faults.ts";
import type { FaultRecord } from "../history.ts";
import type { Held } from "../history-facts.ts";
import {
  allHandOuts,
  type Call,
  callsTo,
  type Facts,
  fateOf,
  type HandOut,
  type RunFacts,
} from "./facts.ts";
import { handedOutBy, taskName } from "./hand-outs.ts";
import { type LaneOf, lanesSeen } from "./lanes.ts";
import { wasRepeated } from "./schedulings.ts";
import { rowOf } from "./task-rows.ts";
import type { Finding } from "./violation.ts";

const HOW: Readonly<Record<Held["what"], string>> = {
  queue: "pause",
  workflow: "pause",
  namespace: "pause",
  agent: "cordon",
  circuit: "opening",
};

type Hold = ReturnType<typeof holdsOf>[number];

function holdsOf(facts: Facts) {
  return callsTo(facts, "Hold");
}

/**
 * From the answer to an accepted pause to the next call that may end it, nothing of what was paused
 * is handed out, once the servers know. Where such a call was still on its way, it may have come
 * after the pause: no finding then.
 */
export function* whatIsHeldStays(facts: Facts): Iterable<Finding> {
  const laneOf = lanesSeen(facts);
  for (const hold of holdsOf(facts)) {
    const [received] = hold.answers;
    if (!received || fateOf(hold).kind !== "accepted") continue;
    const ends = letGos(facts, hold).filter((call) => !isOver(facts, call, hold));
    if (ends.some(({ index }) => index < received.index)) continue;
    const untilAt = ends[0]?.sent.at ?? Number.POSITIVE_INFINITY;
    const sinceAt = received.at + (isAppliedLate(hold) ? KNOWN_MS : 0);
    for (const run of facts.runs.values()) {
      if (run.run.namespace !== hold.request.namespace) continue;
      for (const task of [...allHandOuts(run), ...[...run.verifies.values()].flat()]) {
        if (!isOf(hold, run, task, laneOf)) continue;
        if (task.startedAt <= sinceAt + facts.clockBackMs) continue;
        if (handedOutBy(facts, run, task) >= untilAt) continue;
        if (isAppliedLate(hold) && mayNotKnow(facts, received.at, task.startedAt)) continue;
        const { what, name } = hold.request.held;
        const text = `${taskName(run, task)} was handed out at ${task.startedAt}, though the ${HOW[what]} of ${what} "${name}" was acknowledged at ${received.at}`;
        yield { runId: run.run.runId, text };
      }
    }
  }
}

function letGos(facts: Facts, { request: { namespace, held } }: Hold): readonly Call[] {
  return callsTo(facts, "LetGo").filter(
    ({ request }) =>
      request.namespace === namespace &&
      request.held.what === held.what &&
      request.held.name === held.name,
  );
}

/** It had been answered before the other one was sent, and no copy of it comes later. */
export function isOver(facts: Facts, call: Call, other: Call): boolean {
  const [received] = call.answers;
  if (!received || received.index > other.index) return false;
  return fateOf(call).kind !== "unknown" && !wasRepeated(facts, call);
}

function isOf({ request: { held } }: Hold, run: RunFacts, task: HandOut, laneOf: LaneOf): boolean {
  if (held.what === "namespace") return true;
  if (held.what === "workflow") return run.plan.workflow === held.name;
  if (held.what === "agent") return rowOf(run, task, task.attempt)?.agentId === held.name;
  const lane = laneOf(run, task);
  if (held.what === "circuit")
    return lane !== undefined && `${lane.queue}/${lane.task}` === held.name;
  return lane?.queue === held.name;
}

/** Cordons and circuits are learned by the other servers once a second; a claim may be slow. */
const KNOWN_MS = 1_300 + SLOW_MS_MAX;

function isAppliedLate({ request: { held } }: Hold): boolean {
  return held.what === "agent" || held.what === "circuit";
}

/** The reads that load circuits and cordons. */
const READS: ReadonlySet<string> = new Set([
  "countEnds",
  "pollQuery",
  "circuitSnapshot",
  "circuitEvidence",
  "changeCircuits",
]);

/** A server that could not ask meanwhile, or was suspended. */
function mayNotKnow({ faults }: Facts, from: EpochMs, until: EpochMs): boolean {
  const isNear = ({ at }: FaultRecord): boolean => at >= from - KNOWN_MS && at <= until;
  return faults.filter(isNear).some(({ fault, server }) => {
    if (fault.kind === "store" && fault.did === "slow") return false;
    if (fault.kind === "store") return fault.of === undefined || READS.has(fault.of);
    return fault.kind === "clock" || (server && (fault.kind === "process" || isCut(fault)));
  });
}

function isCut(fault: FaultRecord["fault"]): boolean {
  return fault.kind === "network" && (fault.did === "cut" || fault.did === "join");
}

interface HeldSpan {
  readonly from: EpochMs;
  readonly until: EpochMs;
  /** The agents that it concerns; null: all may be concerned. */
  readonly agent: string | null;
}

/** Times between which something of the namespace may have been held back. */
export function heldSpans(facts: Facts, namespace: string): readonly HeldSpan[] {
  return [...heldByPeople(facts, namespace), ...behindCircuits(facts)];
}

/**
 * While a circuit that the rules have opened is not closed, the tasks of its lane wait. No record
 * tells which lane it is, so it may be any.
 */
function behindCircuits({ history, bounds, clockBackMs }: Facts): readonly HeldSpan[] {
  const moves = history.records.filter((record) => record.kind === "circuit");
  return moves.flatMap(({ at, lane, agentId, state }, index): HeldSpan[] => {
    if (state === "closed") return [];
    const next = moves
      .slice(index + 1)
      .find((one) => one.lane === lane && one.agentId === agentId && one.state === "closed");
    const until = (next?.at ?? Number.POSITIVE_INFINITY) + bounds.frozenMs;
    return [{ from: at - clockBackMs, until, agent: agentId === "" ? null : agentId }];
  });
}

function heldByPeople(facts: Facts, namespace: string): readonly HeldSpan[] {
  return holdsOf(facts).flatMap((hold): HeldSpan[] => {
    const { held } = hold.request;
    if (hold.request.namespace !== namespace) return [];
    // One without a definite answer may not have been carried out.
    const ends = letGos(facts, hold).flatMap((call) =>
      call.index > hold.index && fateOf(call).kind === "accepted"
        ? call.answers.map(({ at }) => at)
        : [],
    );
    const from = hold.sent.at - facts.clockBackMs;
    const until = (ends[0] ?? Number.POSITIVE_INFINITY) + facts.bounds.frozenMs;
    return [{ from, until, agent: held.what === "agent" ? held.name : null }];
  });
}
