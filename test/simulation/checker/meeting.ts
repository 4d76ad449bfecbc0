// A ready task reaches a matching waiting poll: G15.

import type { EpochMs } from "../../../server/core/model/attempt.ts";
import { AVOID_SESSION_MS, plannedTask } from "../../../server/core/plan/plan.ts";
import { SLOW_MS_MAX } from "../faults.ts";
import type { FaultRecord } from "../history.ts";
import { type Call, callsTo, type Facts, type HandOut, type RunFacts, stepName } from "./facts.ts";
import { wasSuspended } from "./hand-outs.ts";
import { heldSpans } from "./holds.ts";
import { type LaneOf, lanesSeen } from "./lanes.ts";
import { freePermitsLeft } from "./permits.ts";
import { overlapsAreTrue } from "./schedules.ts";
import { planStepsOf } from "./step-keys.ts";
import type { Finding } from "./violation.ts";

/**
 * G15. While a task is surely ready and a poll of its lane is surely waiting, with no fault near
 * (lost notifications excuse nothing), no more than `meetMs` pass. A hand-out whose ready time
 * the rows do not tell (a first undo, a try that was settled late) is left out; so are
 * those of a run whose passes fail: what is due of it is backed off, and past its deadline nothing
 * is handed out.
 */
export function* readyWorkMeetsWaiters(facts: Facts): Iterable<Finding> {
  const waits = waitsOf(facts);
  const laneOf = lanesSeen(facts);
  const faults = facts.faults.filter(({ fault }) => fault.kind !== "notification");
  const heldIn = new Map<string, ReturnType<typeof heldSpans>>();
  for (const run of facts.runs.values()) {
    const { namespace, runId } = run.run;
    if (facts.failing.has(runId)) continue;
    const held = heldIn.get(namespace) ?? heldSpans(facts, namespace);
    heldIn.set(namespace, held);
    for (const span of readySpans(run, facts.history.final.at, laneOf)) {
      for (const wait of waits) {
        const from = Math.max(wait.from, span.from);
        const until = Math.min(wait.until, span.until);
        const missedMs = until - from;
        if (missedMs <= facts.bounds.meetMs || !takes(wait, namespace, span)) continue;
        const slowMs = faults.some((fault) => isSlowNear(fault, span)) ? SLOW_MS_MAX : 0;
        if (missedMs <= facts.bounds.meetMs + slowMs) continue;
        const own = held.filter(({ agent }) => agent === null || agent === wait.call.sent.process);
        if (own.some((one) => one.from <= until && one.until >= from)) continue;
        if (faults.some((fault) => excuses(fault, wait.call, { from, until }, facts))) continue;
        const text = `${stepName(run, span.step)} was ready, and a poll of ${wait.call.sent.process} waited for it, from ${from} to ${until}: ${missedMs} ms`;
        yield { runId, text };
        break;
      }
    }
  }
  yield* freePermitsLeft(facts);
  yield* overlapsAreTrue(facts);
}

interface Span {
  readonly from: EpochMs;
  readonly until: EpochMs;
}

interface ReadySpan extends Span {
  readonly step: number;
  readonly queue: string;
  readonly task: string;
}

interface Wait extends Span {
  readonly call: Call;
  readonly namespace: string;
  readonly queues: readonly string[];
  readonly tasks: readonly string[];
}

/** Polls that were answered, so both messages arrived: they waited at least in between. */
function waitsOf(facts: Facts): readonly Wait[] {
  const { networkMs } = facts.bounds;
  return callsTo(facts, "PollTask").flatMap((call) => {
    const [received] = call.answers;
    if (received?.answer.kind !== "polled") return [];
    const { namespace, poll } = call.request;
    const { queues, tasks } = poll;
    const from = call.sent.at + networkMs;
    return [{ call, namespace, queues, tasks, from, until: received.at - networkMs }];
  });
}

function takes(wait: Wait, namespace: string, { queue, task }: ReadySpan): boolean {
  const queues = wait.queues.length === 0 ? ["default"] : wait.queues;
  const tasks = wait.tasks;
  return (
    wait.namespace === namespace &&
    queues.includes(queue) &&
    (tasks.length === 0 || tasks.includes(task))
  );
}

/** A run that was suspended for a person does not tell when its steps were ready. */
function* readySpans(run: RunFacts, endAt: EpochMs, laneOf: LaneOf): Iterable<ReadySpan> {
  if (wasSuspended(run)) return;
  for (const step of planStepsOf(run)) {
    const handOuts = run.handOuts.get(step.no) ?? [];
    const row = run.run.steps.find(({ no }) => no === step.no);
    for (const [index, handOut] of handOuts.entries()) {
      const from = readyFrom(run, handOuts[index - 1], handOut, row?.firstReadyAt ?? null);
      const lane = laneOf(run, handOut);
      if (from === null || !lane) continue;
      yield { step: step.no, ...lane, from, until: handOut.startedAt };
    }
    for (const side of [row?.forward, row?.undo]) {
      if (side?.kind !== "READY") continue;
      const from = Math.max(side.readyAt, side.avoid?.until ?? 0);
      const planned = row?.strategies.at(-1)?.planned ?? 0;
      const plan = plannedTask(step, side.task, planned);
      yield { step: step.no, queue: plan.queue, task: plan.task, from, until: endAt };
    }
  }
}

/** From when on any agent may have it, where the rows tell. */
function readyFrom(
  { run, verifies }: RunFacts,
  before: HandOut | undefined,
  { task, step, strategy }: HandOut,
  firstReadyAt: EpochMs | null,
): EpochMs | null {
  // Of the strategies behind the first one no row tells when they were started.
  if (!before) return task === "perform" && strategy === 0 ? firstReadyAt : null;
  if (before.task !== task || !before.end || before.settled) return null;
  if (verifies.get(step)?.some(({ fence }) => fence === before.fence)) return null;
  // The undo of a strategy was lost while its run was stopping: the run undoes it, in its own
  // order, once no lost attempt can act any more.
  const lostAt = before.end.at;
  if (
    run.interventions.some(
      (row) => row.rule === "settle" && row.step === null && row.actedAt >= lostAt,
    )
  )
    return null;
  const { kind } = before.end.outcome;
  const times = run.interventions.flatMap((row) =>
    (row.rule === "backoff" || row.rule === "settle") &&
    row.step === step &&
    row.fence === before.fence
      ? [row.actedAt]
      : [],
  );
  if (times.length > 0) return Math.max(...times);
  // Of the session that gave it back or lost it, it is withheld for a while.
  const back =
    kind === "released" ||
    kind === "undelivered" ||
    kind === "unsent" ||
    (before.end.outcome.kind === "unknown" && before.end.outcome.code === "drover.lost");
  return back ? before.end.at + AVOID_SESSION_MS : null;
}

/** A claim that takes its time holds the row for that long, and no longer. */
function isSlowNear({ fault, at }: FaultRecord, { from, until }: Span): boolean {
  const isSlow = fault.kind === "store" && fault.did === "slow";
  return isSlow && at <= until && at >= from - SLOW_MS_MAX;
}

/**
 * A fault near the span, of a server or the store (a claim of a server that is gone may hold the
 * row for a while), or of a message from or to this waiter.
 */
function excuses(fault: FaultRecord, { sent }: Call, span: Span, { bounds }: Facts): boolean {
  // A jump lies between the old time and the new one.
  const before = fault.fault.kind === "clock" ? fault.at - fault.fault.byMs : fault.at;
  if (Math.min(before, fault.at) > span.until) return false;
  if (Math.max(before, fault.at) < span.from - bounds.frozenMs) return false;
  if (fault.fault.kind === "heal") return false;
  if (fault.fault.kind === "store" && fault.fault.did === "slow") return false;
  const message = fault.fault.kind === "network" && !["cut", "join"].includes(fault.fault.did);
  return (
    (fault.server && !message) ||
    fault.fault.kind === "store" ||
    fault.fault.kind === "clock" ||
    fault.target === sent.process ||
    fault.target === sent.server
  );
}
