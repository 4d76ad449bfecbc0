// Concurrency keys: no more runs of a key are under way than its limit allows, a permit that came
// free goes to a run that waits for it, and nothing of a run that has ended holds one.
import type { EpochMs } from "../../../server/core/model/attempt.ts";
import { isEndState } from "../history-rows.ts";
import { allHandOuts, type Facts, type RunFacts } from "./facts.ts";
import { latestAct, outagesOf } from "./lateness.ts";
import { schedulings } from "./schedulings.ts";
import type { Finding } from "./violation.ts";

/** A part of G3. What is under way for certain: from its first task to its end. */
export function* tooManyOfKey(facts: Facts): Iterable<Finding> {
  for (const [name, runs] of runsByKey(facts)) {
    const limit = Math.max(...runs.map(({ run }) => run.concurrency?.limit ?? 0));
    const spans = runs.flatMap((run) => {
      const from = Math.min(...allHandOuts(run).map(({ startedAt }) => startedAt));
      return [{ run, from, until: run.run.endedAt ?? Number.POSITIVE_INFINITY }];
    });
    for (const { run, from } of spans) {
      const beside = spans.filter(
        (other) => other.from <= from && other.until > from + facts.bounds.transactionMs,
      );
      if (beside.length <= limit) continue;
      const ids = beside.map((one) => one.run.run.runId);
      const text = `${beside.length} runs of ${name} were under way at ${from}, of ${limit} at most: ${ids.join(", ")}`;
      yield { runId: run.run.runId, text };
    }
  }
}

/** A part of G7. */
export function* permitsOfTheEnded(facts: Facts): Iterable<Finding> {
  const listed = new Set<string>();
  for (const { namespace, key, runId, holds } of facts.history.final.permits) {
    listed.add(runId);
    const run = facts.runs.get(runId)?.run;
    if (run && !isEndState(run.state)) continue;
    const does = holds ? "holds a permit" : "waits for a permit";
    const text = `run ${runId} has ended and ${does} of key "${key}" of namespace ${namespace}`;
    yield { runId, text };
  }
}

/**
 * A part of G15. Beside a run that never began, as no permit came free within its timeout, there
 * was another of its key that might have held it, nearly all the time; and none is refused a permit
 * while no other run of the key is there.
 */
export function* freePermitsLeft(facts: Facts): Iterable<Finding> {
  const outages = outagesOf(facts);
  const bounds = { ...facts.bounds, detectMs: facts.bounds.detectMs + facts.bounds.meetMs };
  for (const [name, runs] of runsByKey(facts)) {
    for (const { run } of runs) {
      const asked = askedAt(run);
      const gaveUpAt = run.endedAt;
      if (run.state !== "FAILED" || run.reason !== "NEVER_STARTED" || gaveUpAt === null) continue;
      const ends = runs.flatMap(({ run: other }) => {
        if (other.runId === run.runId || neverBegan(other) || other.createdAt > gaveUpAt) return [];
        return [other.endedAt ?? Number.POSITIVE_INFINITY];
      });
      const freeAt = Math.max(asked, ...ends);
      if (gaveUpAt <= latestAct(outages, bounds, freeAt)) continue;
      const text = `run ${run.runId} waited for a permit of ${name} until ${gaveUpAt}, and from ${freeAt} on no run had one`;
      yield { runId: run.runId, text };
    }
  }
  yield* refusedForNothing(facts);
}

function* refusedForNothing(facts: Facts): Iterable<Finding> {
  const byKey = runsByKey(facts);
  for (const { ask, namespace, call, answers } of schedulings(facts)) {
    if (!ask.concurrency) continue;
    const name = keyName(namespace, ask.concurrency.key);
    for (const { answer, at } of answers) {
      if (answer.kind !== "refused" || answer.reason !== "CONCURRENCY_LIMIT") continue;
      const from = call.sent.at - facts.bounds.transactionMs;
      const until = at + facts.bounds.transactionMs;
      const others = (byKey.get(name) ?? []).filter(
        ({ run }) => run.createdAt <= until && (run.endedAt ?? until) >= from,
      );
      if (others.length > 0) continue;
      const text = `"${ask.mark}" was refused a permit of ${name} at ${at}, and no run had one`;
      yield { runId: null, text };
    }
  }
}

/** A person may have cancelled it once more, and a question may be open still. */
const MAY_HAVE_MADE_ROOM: readonly (string | null)[] = [
  "CANCELLED_BY_NEWER",
  "CANCELLED_BY_USER",
  null,
];

/**
 * From when on it may have been cancelled for a newer run of its key; infinite: no run of the key
 * asks for that, or it was not.
 */
export function makesRoomFrom({ runs }: Facts, { run }: RunFacts): EpochMs {
  if (!MAY_HAVE_MADE_ROOM.includes(run.reason) || !run.concurrency) return Number.POSITIVE_INFINITY;
  const name = keyName(run.namespace, run.concurrency.key);
  const newer = [...runs.values()].flatMap(({ run: other }) =>
    other.runId !== run.runId &&
    other.concurrency?.policy === "cancel-oldest" &&
    keyName(other.namespace, other.concurrency.key) === name
      ? [askedAt(other)]
      : [],
  );
  return Math.min(...newer);
}

type Final = RunFacts["run"];

function neverBegan({ reason, state }: Final): boolean {
  return reason === "NEVER_STARTED" || reason === "REFUSED" || state === "PENDING";
}

/** One that was to start later asked when its time had come. */
function askedAt({ createdAt, interventions }: Final): EpochMs {
  return interventions.find(({ rule }) => rule === "start")?.actedAt ?? createdAt;
}

function runsByKey(facts: Facts): ReadonlyMap<string, readonly RunFacts[]> {
  const keyed = [...facts.runs.values()].filter(({ run }) => run.concurrency !== null);
  return Map.groupBy(keyed, ({ run }) => keyName(run.namespace, run.concurrency?.key ?? ""));
}

function keyName(namespace: string, key: string): string {
  return `key "${key}" of namespace ${namespace}`;
}
