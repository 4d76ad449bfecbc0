// Timeouts and silence are noticed in time, by one supervisor: G8 and G9.
import type { EpochMs } from "../../../server/core/model/attempt.ts";
import type { OwnerRecord, TokenParts } from "../history.ts";
import type { FinalRun } from "../history-rows.ts";
import { allHandOuts, callsTo, type Facts, type RunFacts, stepName } from "./facts.ts";
import { forgottenIsTrue } from "./forgotten.ts";
import { latestAct, outagesOf } from "./lateness.ts";
import { regionsAreRespected } from "./regions.ts";
import { occurrencesAreMet, ownersFire } from "./schedules.ts";
import { schedulings } from "./schedulings.ts";
import { dueTimesOf } from "./states.ts";
import type { Finding } from "./violation.ts";

/**
 * G8. Each intervention came within `detectMs` of its due time, or, where a server or the
 * store was hit by a fault before it had to act, within `killedMs` or `frozenMs` of its end; the
 * share of late ones stays below the bound. No row at the end is overdue by more. And no lease was
 * declared lost while an answered heartbeat still held it, and no run started before its time. The
 * same of the occurrences of schedules.
 */
export function* dueTimesAreMet(facts: Facts): Iterable<Finding> {
  const { bounds, history } = facts;
  const outages = outagesOf(facts);
  const late: Finding[] = [];
  let total = 0;
  for (const run of facts.runs.values()) {
    const { runId } = run.run;
    // Nothing could be done about it in time.
    if (facts.failing.has(runId)) continue;
    for (const act of run.run.interventions) {
      const { rule, step, actedAt } = act;
      // Its last bad end is not yet the due time: how others end, and the window, may make it so.
      if (isOfLane(act)) continue;
      const dueAt = dueFrom(run, act);
      total += 1;
      const allowedAt = latestAct(outages, bounds, dueAt);
      if (actedAt <= allowedAt) continue;
      const where = step === null ? `run ${runId}` : stepName(run, step);
      const text = `the watch "${rule}" of ${where} was due at ${dueAt} and acted at ${actedAt}, ${actedAt - allowedAt} ms after the latest time allowed`;
      late.push({ runId, text });
    }
  }
  if (late.length > total * (1 - bounds.detectShare)) yield* late;
  yield* lostTooEarly(facts);
  yield* forgottenIsTrue(facts);
  yield* startedTooEarly(facts);
  yield* occurrencesAreMet(facts);
  for (const run of facts.runs.values()) {
    for (const { name, wakeAt } of rowsWithDueTime(run)) {
      if (history.final.at <= latestAct(outages, bounds, wakeAt)) continue;
      const text = `${name} was due at ${wakeAt}, and at ${history.final.at} no server had acted`;
      yield { runId: run.run.runId, text };
    }
  }
}

/** A run that was to start later hands out nothing before its time. */
function* startedTooEarly(facts: Facts): Iterable<Finding> {
  const startsAt = new Map(
    schedulings(facts).flatMap(({ ask: { startAt, mark }, namespace, fate }) =>
      startAt === null || fate.kind === "refused" ? [] : [[`${namespace}/${mark}`, startAt]],
    ),
  );
  for (const run of facts.runs.values()) {
    const { runId, namespace, mark, rerunOf, parent } = run.run;
    if (rerunOf || parent) continue;
    const startAt = startsAt.get(`${namespace}/${mark}`) ?? 0;
    const first = Math.min(...allHandOuts(run).map(({ startedAt }) => startedAt));
    if (first + facts.bounds.transactionMs >= startAt) continue;
    const text = `run ${runId} was to start at ${startAt}, and its first task was handed out at ${first}`;
    yield { runId, text };
  }
}

/** A heartbeat answered *carry on for so long* held its lease for so long from its sending. */
function* lostTooEarly(facts: Facts): Iterable<Finding> {
  for (const { sent, answers, request } of callsTo(facts, "Heartbeat"))
    for (const { answer } of answers) {
      if (answer.kind !== "heartbeat-answered") continue;
      for (const [index, token] of request.tokens.entries()) {
        const answered = answer.answers[index];
        const run = facts.runs.get(token.runId);
        if (answered?.kind !== "carry-on" || !run) continue;
        const early = run.run.interventions.find(
          ({ rule, step, fence, n, actedAt }) =>
            rule === "lease" &&
            step === token.step &&
            n === numberOf(token, facts) &&
            fence === token.fence &&
            actedAt > sent.at &&
            actedAt + facts.clockBackMs < sent.at + answered.leaseMs,
        );
        if (!early) continue;
        const text = `fence ${token.fence} of ${stepName(run, token.step)} was declared lost at ${early.actedAt}, though its heartbeat of ${sent.at} was answered to carry on for ${answered.leaseMs} ms`;
        yield { runId: token.runId, text };
      }
    }
}

/** Interventions about verifies share a fence and are distinguished by a number. */
function numberOf({ task, secret }: TokenParts, { numbers }: Facts): number {
  return task === "verify" ? 2 * (numbers.get(secret) ?? 0) + 1 : 1;
}

/** The end of `total` is checked while a step is ready: it may come while an agent has it. */
export function dueFrom(
  run: RunFacts,
  { rule, step, fence, dueAt }: FinalRun["interventions"][number],
): EpochMs {
  if (rule !== "total" || step === null) return dueAt;
  const before = run.handOuts.get(step)?.find((handOut) => handOut.fence === fence - 1);
  const woken = run.run.interventions.flatMap((row) =>
    row.rule === "backoff" && row.step === step && row.fence === fence - 1 ? [row.actedAt] : [],
  );
  return Math.max(dueAt, before?.end?.at ?? 0, ...woken);
}

function rowsWithDueTime(run: RunFacts): readonly { name: string; wakeAt: EpochMs }[] {
  const { runId, wakeAt, steps } = run.run;
  const own = wakeAt === null ? [] : [{ name: `run ${runId}`, wakeAt }];
  return [
    ...own,
    ...steps.flatMap((step) =>
      dueTimesOf(step).flatMap((dueTime) =>
        dueTime === null ? [] : [{ name: stepName(run, step.no), wakeAt: dueTime }],
      ),
    ),
  ];
}

/**
 * G9. No two interventions have one key; the epochs of a partition grow with each take-over; what
 * an epoch's owner did was done by that owner, and not after the next owner had taken over. Who
 * takes a partition is there for its region.
 */
export function* oneSupervisorActs(facts: Facts): Iterable<Finding> {
  const takes = takesByPartition(facts.owners);
  for (const [partition, taken] of takes) {
    for (const [index, { node, epoch, at }] of taken.entries()) {
      const before = taken[index - 1];
      if (!before || before.epoch < epoch) continue;
      // The clock went back between the two, so the later one has the earlier time.
      if (before.epoch > epoch && at - before.at < facts.clockBackMs) continue;
      const text = `${node} took partition ${partition} at ${at} with epoch ${epoch}, after epoch ${before.epoch}`;
      yield { runId: null, text };
    }
  }
  for (const run of facts.runs.values()) yield* rivals(run, takes, facts.clockBackMs);
  yield* ownersFire(facts);
  yield* regionsAreRespected(facts);
}

/** Reported of a run, and done by the owner of the lane, whose epoch is of another partition. */
export function isOfLane({ rule }: { readonly rule: string }): boolean {
  return rule === "queue-circuit" || rule === "agent-circuit";
}

function* rivals(
  run: RunFacts,
  takes: ReadonlyMap<number, readonly OwnerRecord[]>,
  clockBackMs: number,
): Iterable<Finding> {
  const { runId } = run.run;
  const known = new Set<string>();
  const acts = run.run.interventions;
  for (const act of acts) {
    const { step, fence, rule, n, node, partition, epoch, actedAt } = act;
    const what = `the watch "${rule}" of ${step === null ? `run ${runId}` : stepName(run, step)}`;
    const key = `${step}/${fence}/${rule}/${n}`;
    if (known.has(key)) yield { runId, text: `${what} acted twice on fence ${fence} (n ${n})` };
    known.add(key);
    if (epoch === null || isOfLane(act)) continue;
    const taken = takes.get(partition) ?? [];
    const owner = taken.find((record) => record.epoch === epoch);
    if (owner && owner.node !== node)
      yield {
        runId,
        text: `${what} was done by ${node} in epoch ${epoch}, which is ${owner.node}'s`,
      };
    const surelyBefore = actedAt - clockBackMs;
    const next = taken.find((record) => record.epoch > epoch && record.at < surelyBefore);
    const higher = acts.find(
      (one) =>
        one.epoch !== null && !isOfLane(one) && one.epoch > epoch && one.actedAt < surelyBefore,
    );
    if (next || higher) {
      const since = next ? `epoch ${next.epoch} of ${next.node}` : `epoch ${higher?.epoch}`;
      yield {
        runId,
        text: `${what} was done at ${actedAt} in epoch ${epoch}, after ${since} began`,
      };
    }
  }
}

function takesByPartition(owners: readonly OwnerRecord[]): Map<number, readonly OwnerRecord[]> {
  const takes = new Map<number, OwnerRecord[]>();
  for (const record of owners) {
    if (record.did !== "took") continue;
    takes.set(record.partition, [...(takes.get(record.partition) ?? []), record]);
  }
  return takes;
}
