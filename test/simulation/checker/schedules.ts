// Schedules: each occurrence has one run, at its time, whatever becomes of servers and clocks; what
// has none states the true reason; and nothing begins while a schedule is paused or after it was
// deleted.

import { type NominalTime, placed } from "../../../server/core/definition/calendar.ts";
import type { EpochMs } from "../../../server/core/model/attempt.ts";
import { calendarTimesOf } from "../../../server/scheduler/cron/calendar-times.ts";
import type { FinalOccurrence, FinalSchedule } from "../history-rows.ts";
import { callsTo, type Facts, fateOf } from "./facts.ts";
import { isOver } from "./holds.ts";
import { latestAct, outagesOf } from "./lateness.ts";
import type { Finding } from "./violation.ts";

type Command = ReturnType<typeof commandsOf>[number];

function commandsOf(facts: Facts) {
  return callsTo(facts, "ChangeSchedule");
}

/** In UTC: an occurrence's own time zone is that of its calendar. */
function nameOf({ name, namespace }: FinalSchedule, nominalTime: number): string {
  return `occurrence ${new Date(nominalTime).toISOString()} of schedule "${name}" of ${namespace}`;
}

function about(
  facts: Facts,
  { name, namespace }: FinalSchedule,
  ...did: Command["request"]["did"][]
) {
  return commandsOf(facts).filter(
    ({ request }) =>
      request.schedule === name && request.namespace === namespace && did.includes(request.did),
  );
}

function occurrencesOf(facts: Facts, { id }: FinalSchedule): readonly FinalOccurrence[] {
  return facts.history.final.occurrences.filter(({ scheduleId }) => scheduleId === id);
}

/** Those since it was made, up to the one that is still to come. */
function* passed({ spec, createdAt, current }: FinalSchedule): Iterable<NominalTime> {
  if (!current) return;
  const times = calendarTimesOf(spec.calendar);
  const until = current.next?.nominalTime ?? Number.POSITIVE_INFINITY;
  let one = times.firstAfter(createdAt);
  for (; one && one.nominalTime < until; one = times.after(one.nominalTime)) yield one;
}

/**
 * A part of G1. A schedule that was acknowledged is there, and one that is there was asked for;
 * each of its occurrences has a row, by itself or with others that were missed; a row has the
 * run that it names, and a run of a schedule its row; occurrences that were backfilled have runs.
 */
export function* occurrencesAreStored(facts: Facts): Iterable<Finding> {
  const { schedules, occurrences } = facts.history.final;
  for (const { request, answers } of commandsOf(facts)) {
    const { did, schedule: name, namespace } = request;
    const isKnown = schedules.some((one) => one.name === name && one.namespace === namespace);
    const received = answers.find(
      ({ answer }) => answer.kind !== "unknown" && answer.kind !== "refused",
    );
    if (did !== "create" || !received || isKnown) continue;
    const text = `schedule "${name}" of ${namespace} was acknowledged at ${received.at}; it is not stored`;
    yield { runId: null, text };
  }
  for (const schedule of schedules) {
    if (about(facts, schedule, "create").length === 0)
      yield { runId: null, text: `schedule "${schedule.name}" is stored; no call asked for it` };
    yield* lostOccurrences(facts, schedule);
    yield* lostBackfills(facts, schedule);
  }
  const fired = new Set(occurrences.flatMap(({ runId }) => runId ?? []));
  for (const runId of fired)
    if (!facts.runs.has(runId))
      yield { runId, text: `an occurrence is stored with run ${runId}, which is not stored` };
  for (const { run } of facts.runs.values()) {
    const { runId, scheduledBy } = run;
    if (scheduledBy === null || run.rerunOf || fired.has(runId)) continue;
    yield { runId, text: `run ${runId} of schedule "${scheduledBy}" is of no occurrence of it` };
  }
}

function* lostOccurrences(facts: Facts, schedule: FinalSchedule): Iterable<Finding> {
  const occurrences = occurrencesOf(facts, schedule);
  const has = new Set(
    occurrences.flatMap(({ series, nominalTime }) => (series > 0 ? [nominalTime] : [])),
  );
  const marks = occurrences.filter(({ missed }) => missed !== null);
  for (const { nominalTime, at } of passed(schedule)) {
    const isMarked = marks.some((mark) => mark.at <= at && at < (mark.missed?.until ?? 0));
    if (has.has(nominalTime) || isMarked) continue;
    const text = `${nameOf(schedule, nominalTime)} has passed, and nothing is stored of it`;
    yield { runId: null, text };
  }
}

function* lostBackfills(facts: Facts, schedule: FinalSchedule): Iterable<Finding> {
  const occurrences = occurrencesOf(facts, schedule);
  const times = calendarTimesOf(schedule.spec.calendar);
  for (const call of about(facts, schedule, "backfill")) {
    const { request } = call;
    // Of a deleted one of its name, maybe.
    if (request.did !== "backfill" || fateOf(call).kind !== "accepted") continue;
    if (about(facts, schedule, "delete").length > 0) continue;
    let one = times.firstAfter(request.from - 1);
    for (; one && one.at < request.until; one = times.after(one.nominalTime)) {
      const { nominalTime } = one;
      if (
        occurrences.some(
          (occurrence) =>
            occurrence.series > 0 && occurrence.nominalTime === nominalTime && occurrence.runId,
        )
      )
        continue;
      const text = `${nameOf(schedule, nominalTime)} was backfilled, and has no run`;
      yield { runId: null, text };
    }
  }
}

/**
 * A part of G2. An occurrence has one run, and a run one occurrence; so has the request of a run
 * now.
 */
export function* oneOccurrenceOneRun(facts: Facts): Iterable<Finding> {
  const { schedules, occurrences } = facts.history.final;
  const runOf = new Map<string, string>();
  const occurrenceOf = new Map<string, string>();
  for (const { scheduleId, series, nominalTime, runId } of occurrences) {
    if (runId === null) continue;
    const key = `${scheduleId}/${series}/${nominalTime}`;
    const schedule = schedules.find(({ id }) => id === scheduleId);
    const other = runOf.get(key);
    const before = occurrenceOf.get(runId);
    if (schedule && other !== undefined)
      yield { runId, text: `${nameOf(schedule, nominalTime)} has two runs, ${other} and ${runId}` };
    if (before !== undefined)
      yield {
        runId,
        text: `run ${runId} is of two occurrences of a schedule, ${before} and ${key}`,
      };
    runOf.set(key, runId);
    occurrenceOf.set(runId, key);
  }
  const runOfRequest = new Map<string, string>();
  for (const { request, answers } of commandsOf(facts)) {
    if (request.did !== "run") continue;
    // A schedule of the name that was made anew is another one.
    const isAnew = commandsOf(facts).some(
      (other) => other.request.did === "delete" && other.request.schedule === request.schedule,
    );
    const key = `request "${request.requestId}" of schedule "${request.schedule}"`;
    for (const { answer } of isAnew ? [] : answers) {
      if (answer.kind !== "scheduled") continue;
      const { runId } = answer;
      const other = runOfRequest.get(`${request.namespace} ${key}`) ?? runId;
      if (other !== runId) yield { runId, text: `${key} has two runs, ${other} and ${runId}` };
      runOfRequest.set(`${request.namespace} ${key}`, runId);
    }
  }
}

/**
 * A part of G8. The occurrences of a calendar are handled when they have come, not before and not
 * late, and those that are given up are older than the catch-up window; the next one is not
 * overdue.
 */
export function* occurrencesAreMet(facts: Facts): Iterable<Finding> {
  const { bounds, history } = facts;
  const outages = outagesOf(facts);
  for (const schedule of history.final.schedules) {
    const { id, spec, current } = schedule;
    const times = calendarTimesOf(spec.calendar);
    for (const { nominalTime, at, cause, outcome, handledAt, missed } of occurrencesOf(
      facts,
      schedule,
    )) {
      if (cause !== "calendar" || outcome === "paused") continue;
      const name = nameOf(schedule, nominalTime);
      const { wakeAt } = placed({ times, jitterMs: spec.jitterMs, seed: id }, { nominalTime, at });
      if (handledAt < wakeAt)
        yield { runId: null, text: `${name} was due at ${wakeAt}, and fired at ${handledAt}` };
      if (handledAt > latestAct(outages, bounds, wakeAt))
        yield {
          runId: null,
          text: `${name} was due at ${wakeAt}, and fired late, at ${handledAt}`,
        };
      if (missed && missed.until > handledAt - spec.catchUpMs)
        yield {
          runId: null,
          text: `${name} and others up to ${missed.until} were given up at ${handledAt}, within the ${spec.catchUpMs} ms of their catch-up`,
        };
    }
    const due = current?.pause ? null : current?.next;
    if (!due || history.final.at <= latestAct(outages, bounds, due.wakeAt)) continue;
    const text = `${nameOf(schedule, due.nominalTime)} was due at ${due.wakeAt}, and at ${history.final.at} it had not fired`;
    yield { runId: null, text };
  }
}

/** A part of G9. An occurrence is fired by the owner of its partition, in its epoch. */
export function* ownersFire(facts: Facts): Iterable<Finding> {
  for (const schedule of facts.history.final.schedules) {
    const taken = facts.owners.filter(
      ({ did, partition }) => did === "took" && partition === schedule.partition,
    );
    for (const { actor, nominalTime, handledAt } of occurrencesOf(facts, schedule)) {
      if (!actor) continue;
      const name = nameOf(schedule, nominalTime);
      const owner = taken.find(({ epoch }) => epoch === actor.epoch);
      if (owner && owner.node !== actor.node)
        yield {
          runId: null,
          text: `${name} was fired by ${actor.node} in epoch ${actor.epoch}, which is ${owner.node}'s`,
        };
      const next = taken.find(
        ({ epoch, at }) => epoch > actor.epoch && at < handledAt - facts.clockBackMs,
      );
      if (!next) continue;
      const text = `${name} was fired at ${handledAt} in epoch ${actor.epoch}, after epoch ${next.epoch} of ${next.node} began`;
      yield { runId: null, text };
    }
  }
}

/**
 * A part of G15. An occurrence is overlapped only by the policy, and while another run of its
 * schedule was under way; none is refused, as the workflow is there.
 */
export function* overlapsAreTrue(facts: Facts): Iterable<Finding> {
  const { transactionMs } = facts.bounds;
  for (const schedule of facts.history.final.schedules) {
    const { name, namespace, spec } = schedule;
    for (const { nominalTime, outcome, handledAt } of occurrencesOf(facts, schedule)) {
      if (outcome === "refused")
        yield { runId: null, text: `${nameOf(schedule, nominalTime)} was refused, and has no run` };
      if (outcome !== "overlapped") continue;
      const others = [...facts.runs.values()].filter(
        ({ run }) =>
          run.concurrency?.key === `schedule/${name}` &&
          run.namespace === namespace &&
          run.createdAt <= handledAt + transactionMs &&
          (run.endedAt ?? handledAt) >= handledAt - transactionMs,
      );
      const least = { skip: 1, "buffer-one": 2 }[String(spec.overlap)];
      if (least !== undefined && others.length >= least) continue;
      const text = `${nameOf(schedule, nominalTime)} was overlapped at ${handledAt} by ${others.length} runs, and its policy is ${spec.overlap}`;
      yield { runId: null, text };
    }
  }
}

/**
 * A part of G16. From the answer to an accepted pause to the next call that may end it, and after
 * that to an accepted deletion, no occurrence starts a run. Where such a call was on its way: no
 * finding.
 */
export function* pausedSchedulesRest(facts: Facts): Iterable<Finding> {
  for (const schedule of facts.history.final.schedules) {
    const deletions = about(facts, schedule, "delete");
    const isMadeOnce = deletions.length === 0;
    const pauses = isMadeOnce ? about(facts, schedule, "pause") : [];
    for (const pause of pauses)
      yield* firedMeanwhile(facts, schedule, pause, about(facts, schedule, "resume"));
    for (const deletion of deletions)
      yield* firedMeanwhile(facts, schedule, deletion, about(facts, schedule, "create"));
  }
}

function* firedMeanwhile(
  facts: Facts,
  schedule: FinalSchedule,
  stop: Command,
  starts: readonly Command[],
): Iterable<Finding> {
  const [received] = stop.answers;
  if (!received || fateOf(stop).kind !== "accepted") return;
  const open = starts.filter((call) => !isOver(facts, call, stop));
  if (open.some(({ index }) => index < received.index)) return;
  const untilAt: EpochMs = open[0]?.sent.at ?? Number.POSITIVE_INFINITY;
  for (const { nominalTime, cause, handledAt, outcome } of occurrencesOf(facts, schedule)) {
    if (cause !== "calendar" || outcome === "paused") continue;
    if (handledAt <= received.at + facts.clockBackMs) continue;
    if (handledAt + facts.bounds.transactionMs >= untilAt) continue;
    const did = stop.request.did === "delete" ? "deletion" : "pause";
    const text = `${nameOf(schedule, nominalTime)} fired at ${handledAt}, though the ${did} was acknowledged at ${received.at}`;
    yield { runId: null, text };
  }
}
