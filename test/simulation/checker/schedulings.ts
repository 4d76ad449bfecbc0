// Every run that a caller asked for, by a call of its own or in a batch, and what was answered.
import type { EpochMs } from "../../../server/core/model/attempt.ts";
import type { Answer, ScheduleAsk } from "../history.ts";
import { type Call, callsTo, type Facts, type Fate, fateOf } from "./facts.ts";

export interface Scheduling {
  readonly call: Call;
  readonly namespace: string;
  readonly ask: ScheduleAsk;
  readonly answers: readonly { readonly at: EpochMs; readonly index: number; answer: Answer }[];
  readonly fate: Fate;
}

export function schedulings(facts: Facts): readonly Scheduling[] {
  return [...alone(facts), ...batched(facts)];
}

function alone(facts: Facts): readonly Scheduling[] {
  return callsTo(facts, "Schedule", "CallTrigger").map((call) => {
    const { namespace } = call.request;
    const fate = surely(facts, call, fateOf(call));
    return { call, namespace, ask: call.request, answers: call.answers, fate };
  });
}

/** What is wrong with one run of a batch concerns no other. */
function batched(facts: Facts): readonly Scheduling[] {
  return callsTo(facts, "ScheduleBatch").flatMap((call) =>
    call.request.runs.map((ask, nth): Scheduling => {
      const answers = call.answers.map(({ at, index, answer }) => {
        const own = answer.kind === "batch" ? answer.results[nth] : answer;
        return { at, index, answer: own ?? ({ kind: "unknown", code: "NOTHING" } as const) };
      });
      const fate = surely(facts, call, fateOfAnswer(answers[0]?.answer));
      return { call, namespace: call.request.namespace, ask, answers, fate };
    }),
  );
}

/**
 * What a copy of the call may have done although the caller was answered that nothing was: the two
 * came at different times, and what was refused at first may be right later.
 */
export function wasRepeated({ faults }: Facts, { sent }: Call): boolean {
  return faults.some(
    ({ fault, at, target }) =>
      fault.kind === "network" &&
      fault.did === "repeated" &&
      at === sent.at &&
      target === sent.server,
  );
}

/** A permit may come free, or the workflow be registered, before a copy of the call comes. */
const MAY_BE_RIGHT_LATER: ReadonlySet<string> = new Set([
  "CONCURRENCY_LIMIT",
  "WORKFLOW_NOT_FOUND",
]);

function surely(facts: Facts, call: Call, fate: Fate): Fate {
  if (fate.kind !== "refused" || !wasRepeated(facts, call)) return fate;
  const mayHave =
    fate.reason === "KEY_REUSED" ? lostKeys(facts) : MAY_BE_RIGHT_LATER.has(fate.reason);
  return mayHave ? { kind: "unknown" } : fate;
}

/** A fail-over has taken back reservations: a copy of a call may find its key free. */
function lostKeys({ faults }: Facts): boolean {
  return faults.some(
    ({ fault }) =>
      fault.kind === "store" &&
      fault.did === "tail-lost" &&
      fault.lost.tables.includes("idempotency"),
  );
}

function fateOfAnswer(answer: Answer | undefined): Fate {
  if (!answer || answer.kind === "unknown") return { kind: "unknown" };
  if (answer.kind === "refused") return { kind: "refused", reason: answer.reason };
  return { kind: "accepted", repeated: false };
}
