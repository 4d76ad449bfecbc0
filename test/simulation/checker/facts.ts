// A history, indexed once for all checks: calls with their answers, the hand-outs of each step, and
// every report about a hand-out.
//
// Order is the place in the record, not `at`: in virtual time many records share a moment. A call
// surely came after an answer only if it was *sent* after that answer had been *heard*.
import { type Plan, planOf } from "../../../server/core/definition.ts";
import type { Moment, TaskKind } from "../../../server/core/model.ts";
import type {
  Answer,
  AnswerRecord,
  CallRecord,
  EffectRecord,
  FaultRecord,
  FinalRun,
  History,
  OutcomeFact,
  OwnerRecord,
  Request,
  TaskReport,
  TaskSeen,
  TokenParts,
} from "../history.ts";
import type { Bounds } from "./violation.ts";

export interface Facts {
  readonly history: History;
  readonly bounds: Bounds;
  readonly calls: readonly Call[];
  readonly runs: ReadonlyMap<string, RunFacts>;
  /** Reports by `tokenKey`. */
  readonly reports: ReadonlyMap<string, readonly Report[]>;
  readonly seen: readonly Seen[];
  readonly faults: readonly FaultRecord[];
  readonly effects: readonly EffectRecord[];
  readonly owners: readonly OwnerRecord[];
}

export interface Call<R extends Request = Request> {
  readonly sent: CallRecord;
  readonly request: R;
  /** Place of the call in the record. */
  readonly place: number;
  /** Empty: the caller never heard of it again. */
  readonly answers: readonly Heard[];
}

export interface Heard {
  readonly at: Moment;
  readonly place: number;
  readonly answer: Answer;
  readonly record: AnswerRecord;
}

/** What a caller knows about one thing that it asked for. */
export type Fate =
  | { readonly kind: "accepted"; readonly repeated: boolean }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "unknown" };

export interface Report {
  readonly call: Call;
  readonly report: TaskReport;
  readonly fate: Fate;
}

/** A task as an agent received it. */
export interface Seen {
  readonly call: Call;
  readonly heard: Heard;
  readonly session: string;
  readonly task: TaskSeen;
}

export interface RunFacts {
  readonly run: FinalRun;
  readonly plan: Plan;
  /** Every perform and compensate task that was handed out, by step, fences growing. */
  readonly handOuts: ReadonlyMap<number, readonly HandOut[]>;
}

/** One hand-out, from its attempt row or from its lease if it is still out. */
export interface HandOut {
  readonly step: number;
  readonly task: TaskKind;
  readonly fence: number;
  readonly attempt: number;
  readonly startedAt: Moment;
  readonly end: { readonly at: Moment; readonly outcome: OutcomeFact } | null;
  /** Known of leases only. */
  readonly secret: string | null;
  /** It ended open and a later report settled it, so the row no longer tells how it was charged. */
  readonly settled: boolean;
}

export function factsOf(history: History, bounds: Bounds): Facts {
  const calls = callsOf(history);
  const reports = new Map<string, Report[]>();
  for (const report of calls.flatMap(reportsOf)) {
    const key = tokenKey(report.report.token);
    reports.set(key, [...(reports.get(key) ?? []), report]);
  }
  const plans = new Map(history.final.definitions.map((d) => [d.id, planOf(d.definition)]));
  const runs = new Map<string, RunFacts>();
  for (const run of history.final.runs) {
    const plan = plans.get(run.definitionId);
    if (!plan) throw new Error(`run ${run.runId} is of definition ${run.definitionId}, not listed`);
    runs.set(run.runId, { run, plan, handOuts: handOutsOf(run, reports) });
  }
  const of = <K extends "fault" | "effect" | "owner">(kind: K) =>
    history.records.filter(
      (record): record is Extract<typeof record, { kind: K }> => record.kind === kind,
    );
  return {
    history,
    bounds,
    calls,
    runs,
    reports,
    seen: calls.flatMap(seenOf),
    faults: of("fault"),
    effects: of("effect"),
    owners: of("owner"),
  };
}

function callsOf(history: History): readonly Call[] {
  const answers = new Map<number, Heard[]>();
  const calls: (Call & { readonly answers: Heard[] })[] = [];
  history.records.forEach((record, place) => {
    if (record.kind === "call") {
      const heard: Heard[] = [];
      answers.set(record.call, heard);
      calls.push({ sent: record, request: record.request, place, answers: heard });
    } else if (record.kind === "answer") {
      const heard = answers.get(record.call);
      if (!heard)
        throw new Error(`call ${record.call} is answered, but no record says it was sent`);
      heard.push({ at: record.at, place, answer: record.answer, record });
    }
  });
  return calls;
}

function reportsOf(call: Call): readonly Report[] {
  const { request } = call;
  if (request.rpc !== "Complete") return [];
  const [heard] = call.answers;
  return request.results.map((report, place) => ({
    call,
    report,
    fate: reportFate(heard?.answer, place),
  }));
}

function reportFate(answer: Answer | undefined, place: number): Fate {
  if (answer?.kind === "completed") return answer.answers[place] ?? { kind: "unknown" };
  return answer?.kind === "refused"
    ? { kind: "refused", reason: answer.reason }
    : { kind: "unknown" };
}

function seenOf(call: Call): readonly Seen[] {
  const { request } = call;
  if (request.rpc !== "PollTask" && request.rpc !== "Complete") return [];
  return call.answers.flatMap((heard) =>
    heard.answer.kind === "polled" || heard.answer.kind === "completed"
      ? heard.answer.tasks.map((task) => ({ call, heard, session: request.session, task }))
      : [],
  );
}

function handOutsOf(
  run: FinalRun,
  reports: ReadonlyMap<string, readonly Report[]>,
): ReadonlyMap<number, readonly HandOut[]> {
  const overtaken = new Set(
    run.interventions.flatMap(({ rule, n, step, fence }) =>
      (rule === "lease" || rule === "attempt") && n === 1 ? [`${step}/${fence}`] : [],
    ),
  );
  const byStep = new Map<number, HandOut[]>();
  const add = (handOut: HandOut): void => {
    byStep.set(handOut.step, [...(byStep.get(handOut.step) ?? []), handOut]);
  };
  for (const row of run.attempts) {
    if (row.kind !== "perform" && row.kind !== "compensate") continue;
    const { step, kind: task, fence, attempt, startedAt, endedAt: at, outcome } = row;
    const told = reports.get(tokenKey({ runId: run.runId, step, task, fence })) ?? [];
    const kinds = new Set(told.map(({ report }) => report.outcome.kind));
    const settled =
      !endedBySupervisor(outcome) && (overtaken.has(`${step}/${fence}`) || kinds.size > 1);
    add({ step, task, fence, attempt, startedAt, end: { at, outcome }, secret: null, settled });
  }
  for (const step of run.steps) {
    for (const lease of [step.forward, step.undo]) {
      if (lease.kind !== "LEASED") continue;
      const { task, fence, attempt, grantedAt: startedAt, secret } = lease;
      add({ step: step.no, task, fence, attempt, startedAt, end: null, secret, settled: false });
    }
  }
  // Stable: rows of one fence, which there should not be, stay in their order.
  for (const handOuts of byStep.values()) handOuts.sort((a, b) => a.fence - b.fence);
  return byStep;
}

export function tokenKey(token: Omit<TokenParts, "secret">): string {
  return `${token.runId}/${token.step}/${token.task}/${token.fence}`;
}

/** Nobody but the supervisor says so. An agent's own codes never start with `drover.`. */
export function endedBySupervisor(outcome: OutcomeFact): boolean {
  if (outcome.kind === "undelivered") return true;
  return (
    outcome.kind === "unknown" &&
    (outcome.code === "drover.lost" || outcome.code === "drover.timeout")
  );
}

/** Calls of one kind, with their request as it is. */
export function callsTo<R extends Request["rpc"]>(
  facts: Facts,
  ...rpcs: readonly R[]
): readonly Call<Extract<Request, { rpc: R }>>[] {
  const wanted = new Set<string>(rpcs);
  return facts.calls.filter((call): call is Call<Extract<Request, { rpc: R }>> =>
    wanted.has(call.request.rpc),
  );
}

/** What the caller knows of a call that does one thing. */
export function fateOf(call: Call): Fate {
  const [heard] = call.answers;
  if (!heard || heard.answer.kind === "unknown") return { kind: "unknown" };
  if (heard.answer.kind === "refused") return { kind: "refused", reason: heard.answer.reason };
  return { kind: "accepted", repeated: false };
}

/** "flight of run r1" for a sentence. */
export function stepName({ run, plan }: RunFacts, step: number): string {
  return `step "${plan.steps[step]?.id ?? step}" of run ${run.runId}`;
}

export function allHandOuts(run: RunFacts): readonly HandOut[] {
  return [...run.handOuts.values()].flat();
}

export function isEndState(state: FinalRun["state"]): boolean {
  return ["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED"].includes(state);
}
