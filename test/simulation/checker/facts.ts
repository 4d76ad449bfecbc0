// A history, indexed once for all checks: calls with their answers, the hand-outs of each step, and
// every report about a hand-out.
//
// Order is the index in the record, not `at`: in virtual time many records share a time. A call
// surely came after an answer only if it was *sent* after that answer had been *received*.

import type { EpochMs, TaskKind } from "../../../server/core/model/attempt.ts";
import type { AnswerKind, EscalationReason } from "../../../server/core/model/history.ts";
import { type Plan, planOf, planStepAt } from "../../../server/core/plan/plan.ts";
import type {
  Answer,
  AnswerRecord,
  CallRecord,
  EffectRecord,
  FaultRecord,
  History,
  OwnerRecord,
  Request,
  TaskReport,
  TaskSeen,
  TokenParts,
  WebhookRecord,
} from "../history.ts";
import type { FinalRun, OutcomeFact } from "../history-rows.ts";
import { repeatedCalls, unlessAsked, unlessFailed } from "./doubled.ts";
import type { Bounds } from "./violation.ts";

export interface Facts {
  readonly history: History;
  readonly bounds: Bounds;
  /**
   * By how much the database's clock went back in all: so much a later time may lie before an
   * earlier one. Part of `bounds.transactionMs`, which most comparisons allow anyway.
   */
  readonly clockBackMs: number;
  /** Runs of which every pass threw for a while. */
  readonly failing: ReadonlySet<string>;
  readonly calls: readonly Call[];
  /** By what they ask, in their order. */
  readonly callsByRpc: ReadonlyMap<string, readonly Call[]>;
  readonly runs: ReadonlyMap<string, RunFacts>;
  /** Reports by `tokenKey`. */
  readonly reports: ReadonlyMap<string, readonly Report[]>;
  readonly seen: readonly Seen[];
  /** The number of the try by the secret of its token, for tasks that reached an agent. */
  readonly numbers: ReadonlyMap<string, number>;
  readonly faults: readonly FaultRecord[];
  readonly effects: readonly EffectRecord[];
  readonly owners: readonly OwnerRecord[];
  readonly webhooks: readonly WebhookRecord[];
}

export interface Call<R extends Request = Request> {
  readonly sent: CallRecord;
  readonly request: R;
  /** Index of the call in the record. */
  readonly index: number;
  /** Empty: the caller never received an answer. */
  readonly answers: readonly ReceivedAnswer[];
}

export interface ReceivedAnswer {
  readonly at: EpochMs;
  readonly index: number;
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
  /** By the callback token. */
  readonly called: boolean;
}

/** A task as an agent received it. */
export interface Seen {
  readonly call: Call;
  readonly received: ReceivedAnswer;
  readonly session: string;
  readonly task: TaskSeen;
}

export interface RunFacts {
  readonly run: FinalRun;
  readonly plan: Plan;
  /** Every perform and compensate task that was handed out, by step, fences growing. */
  readonly handOuts: ReadonlyMap<number, readonly HandOut[]>;
  /** Every verify task, by step, in the order of fences and numbers. */
  readonly verifies: ReadonlyMap<number, readonly HandOut[]>;
  /** Calls that asked to pause it. */
  readonly pauses: readonly Call[];
  /** The run whose step began it, the one above that, and so on. */
  readonly above: readonly string[];
  /** Whether any run above it may have been paused, and it with it. */
  readonly pausedFromAbove: boolean;
}

/** One hand-out, from its attempt row or from its lease if it is still out. */
export interface HandOut {
  readonly step: number;
  readonly task: TaskKind;
  readonly fence: number;
  /** Number of the try; of a verify, among those of its fence. */
  readonly attempt: number;
  /** The strategy that it is about, by its index; null: no agent has reported it. */
  readonly strategy: number | null;
  readonly startedAt: EpochMs;
  readonly end: { readonly at: EpochMs; readonly outcome: OutcomeFact } | null;
  /** Known of leases only. */
  readonly secret: string | null;
  /** Its agent is silent, and may act until it has settled. */
  readonly silent: boolean;
  /** It ended open and a later report settled it; the row no longer holds how it was charged. */
  readonly settled: boolean;
}

export function factsOf(history: History, boundsWithoutJumps: Bounds): Facts {
  const clockBackMs = clockBack(history);
  const transactionMs = boundsWithoutJumps.transactionMs + clockBackMs;
  const bounds = { ...boundsWithoutJumps, transactionMs };
  const repeated = repeatedCalls(history);
  const calls = callsOf(history, repeated);
  const callsByRpc = Map.groupBy(calls, ({ request }) => request.rpc);
  const seen = calls.flatMap(seenOf);
  const numbers = new Map(seen.map(({ task }) => [task.token.secret, task.attempt]));
  const reports = new Map<string, Report[]>();
  for (const report of calls.flatMap((call) => reportsOf(call, repeated.has(call.sent.call)))) {
    const { token } = report.report;
    const key = tokenKey(token, numbers.get(token.secret) ?? 0);
    reports.set(key, [...(reports.get(key) ?? []), report]);
  }
  const strategies = strategiesSeen(seen);
  const plans = new Map(history.final.definitions.map((d) => [d.id, planOf(d.definition)]));
  const pauses = Map.groupBy(callsByRpc.get("PauseRun") ?? [], ({ request }) =>
    "runId" in request ? request.runId : null,
  );
  const byId = new Map(history.final.runs.map((run) => [run.runId, run]));
  const runs = new Map<string, RunFacts>();
  for (const run of history.final.runs) {
    const plan = plans.get(run.definitionId);
    if (!plan) throw new Error(`run ${run.runId} is of definition ${run.definitionId}, not listed`);
    const all = handOutsOf(run, reports, strategies);
    const above = aboveOf(byId, run);
    runs.set(run.runId, {
      run,
      plan,
      handOuts: byStep(all.filter(({ task }) => task !== "verify")),
      verifies: byStep(all.filter(({ task }) => task === "verify")),
      pauses: pauses.get(run.runId) ?? [],
      above,
      pausedFromAbove: above.some((runId) => pauses.has(runId)),
    });
  }
  const of = <K extends "fault" | "effect" | "owner" | "webhook">(kind: K) =>
    history.records.filter(
      (record): record is Extract<typeof record, { kind: K }> => record.kind === kind,
    );
  return {
    history,
    bounds,
    clockBackMs,
    failing: new Set(
      of("fault").flatMap(({ fault, target }) =>
        fault.kind === "run" && fault.did === "always-fails" ? target : [],
      ),
    ),
    calls,
    callsByRpc,
    runs,
    reports,
    seen,
    numbers,
    faults: of("fault"),
    effects: of("effect"),
    owners: of("owner"),
    webhooks: of("webhook"),
  };
}

function aboveOf(byId: ReadonlyMap<string, FinalRun>, run: FinalRun): readonly string[] {
  const parent = run.parent && byId.get(run.parent.runId);
  return parent ? [parent.runId, ...aboveOf(byId, parent)] : [];
}

function clockBack({ records }: History): number {
  return records.reduce(
    (total, record) =>
      record.kind === "fault" && record.fault.kind === "clock"
        ? total + Math.max(0, -record.fault.byMs)
        : total,
    0,
  );
}

function callsOf(history: History, repeated: ReadonlySet<number>): readonly Call[] {
  const answers = new Map<number, ReceivedAnswer[]>();
  const calls: (Call & { readonly answers: ReceivedAnswer[] })[] = [];
  history.records.forEach((record, index) => {
    if (record.kind === "call") {
      const received: ReceivedAnswer[] = [];
      answers.set(record.call, received);
      calls.push({ sent: record, request: record.request, index, answers: received });
    } else if (record.kind === "answer") {
      const received = answers.get(record.call);
      if (!received)
        throw new Error(`call ${record.call} is answered, but no record shows that it was sent`);
      const answer = repeated.has(record.call) ? unlessAsked(record.answer) : record.answer;
      received.push({ at: record.at, index, answer, record });
    }
  });
  return calls;
}

function reportsOf(call: Call, isRepeated: boolean): readonly Report[] {
  const { request } = call;
  const [received] = call.answers;
  if (request.rpc === "CompleteDeferred")
    return [{ call, report: request.result, fate: fateOf(call), called: true }];
  if (request.rpc !== "Complete") return [];
  return request.results.map((report, index) => {
    const fate = reportFate(received?.answer, index);
    return { call, report, fate: isRepeated ? unlessFailed(fate) : fate, called: false };
  });
}

function reportFate(answer: Answer | undefined, index: number): Fate {
  if (answer?.kind === "completed") return answer.answers[index] ?? { kind: "unknown" };
  return answer?.kind === "refused"
    ? { kind: "refused", reason: answer.reason }
    : { kind: "unknown" };
}

function seenOf(call: Call): readonly Seen[] {
  const { request } = call;
  if (request.rpc !== "PollTask" && request.rpc !== "Complete") return [];
  return call.answers.flatMap((received) =>
    received.answer.kind === "polled" || received.answer.kind === "completed"
      ? received.answer.tasks.map((task) => ({ call, received, session: request.session, task }))
      : [],
  );
}

/**
 * The index of the strategy is the last part of the key under which its effect is made; of a gate
 * that is the number of items after which it is asked.
 */
function strategiesSeen(seen: readonly Seen[]): ReadonlyMap<string, number> {
  return new Map(
    seen.map(({ task: { token, attempt, idempotencyKey, effectKey } }) => {
      const [last] = (effectKey ?? idempotencyKey).split("/").slice(-1);
      return [tokenKey(token, attempt), Number(last?.replace("after-", ""))];
    }),
  );
}

/** An attempt was ended as no agent answered for it; what its agent reports later may settle it. */
const GIVEN_UP: ReadonlySet<string> = new Set(["lease", "attempt", "forgotten"]);

function handOutsOf(
  run: FinalRun,
  reports: ReadonlyMap<string, readonly Report[]>,
  strategies: ReadonlyMap<string, number>,
): readonly HandOut[] {
  const { runId } = run;
  const overtaken = new Set(
    run.interventions.flatMap(({ rule, n, step, fence }) =>
      (GIVEN_UP.has(rule) && n === 1) || rule === "callback" ? [`${step}/${fence}`] : [],
    ),
  );
  const all: HandOut[] = [];
  for (const row of run.attempts) {
    if (row.kind !== "perform" && row.kind !== "compensate" && row.kind !== "verify") continue;
    const { step, kind: task, fence, attempt, startedAt, endedAt: at, outcome } = row;
    const key = tokenKey({ runId, step, task, fence }, task === "verify" ? row.n : 0);
    const reported = reports.get(key) ?? [];
    const kinds = new Set(reported.map(({ report }) => report.outcome.kind));
    const settled =
      task !== "verify" &&
      !endedBySupervisor(outcome) &&
      (overtaken.has(`${step}/${fence}`) ||
        kinds.size > 1 ||
        reported.some(({ called }) => called) ||
        kinds.has("unknown") ||
        kinds.has("deferred"));
    const strategy = strategies.get(key) ?? null;
    all.push({
      step,
      task,
      fence,
      strategy,
      startedAt,
      settled,
      silent: isSilent(outcome, overtaken.has(`${step}/${fence}`)),
      attempt: task === "verify" ? row.n : attempt,
      end: { at, outcome },
      secret: null,
    });
  }
  for (const step of run.steps) {
    for (const lease of [step.forward, step.undo]) {
      if (lease.kind !== "LEASED") continue;
      const { task, fence, attempt, grantedAt: startedAt, secret } = lease;
      const key = tokenKey({ runId, step: step.no, task, fence }, attempt);
      const strategy = strategies.get(key) ?? null;
      const open = { end: null, secret, settled: false, silent: false } as const;
      all.push({ step: step.no, task, fence, attempt, strategy, startedAt, ...open });
    }
  }
  return all;
}

function byStep(handOuts: readonly HandOut[]): ReadonlyMap<number, readonly HandOut[]> {
  const found = new Map<number, HandOut[]>();
  for (const handOut of handOuts)
    found.set(handOut.step, [...(found.get(handOut.step) ?? []), handOut]);
  // Stable: rows of one fence, which there should not be, stay in their order.
  for (const of of found.values())
    of.sort((a, b) => a.fence - b.fence || (a.task === "verify" ? a.attempt - b.attempt : 0));
  return found;
}

/** `number`: of the try; it distinguishes the verifies of one fence. */
export function tokenKey(token: Omit<TokenParts, "secret">, number: number): string {
  const { runId, step, task, fence } = token;
  return `${runId}/${step}/${task}/${fence}${task === "verify" ? `.${number}` : ""}`;
}

/** Only the supervisor writes these. An agent's own codes never start with `drover.`. */
export function endedBySupervisor(outcome: OutcomeFact): boolean {
  if (["undelivered", "unsent", "superseded"].includes(outcome.kind)) return true;
  return outcome.kind === "unknown" && SUPERVISOR_CODES.has(outcome.code);
}

const SUPERVISOR_CODES: ReadonlySet<string> = new Set([
  "drover.lost",
  "drover.timeout",
  "drover.stalled",
  "drover.callback",
]);

/** A task that ran past its time may have been stopped by its agent, which reports so itself. */
function isSilent(outcome: OutcomeFact, overtaken: boolean): boolean {
  if (outcome.kind !== "unknown" || outcome.code === "drover.callback") return false;
  return outcome.code === "drover.lost" || (SUPERVISOR_CODES.has(outcome.code) && overtaken);
}

/** From when on a hand-out can have no further effect; null: it is still out. */
export function quietFrom(
  { plan }: RunFacts,
  { step, task, end, silent }: HandOut,
): EpochMs | null {
  if (!end) return null;
  if (!silent || task === "verify") return end.at;
  return end.at + (planStepAt(plan, step)?.timeouts.settleMs ?? 0);
}

/** Questions about a step that a person has answered, by the answers that are wanted. */
export function answered(
  { run }: RunFacts,
  step: number,
  ...answers: readonly AnswerKind[]
): readonly { readonly at: EpochMs; readonly reason: EscalationReason; readonly by: AnswerKind }[] {
  return run.escalations.flatMap((row) =>
    row.step === step && row.answer && row.closedAt !== null && answers.includes(row.answer.answer)
      ? [{ at: row.closedAt, reason: row.reason, by: row.answer.answer }]
      : [],
  );
}

/** Calls of one kind, with their request as it is. */
export function callsTo<R extends Request["rpc"]>(
  facts: Facts,
  ...rpcs: readonly R[]
): readonly Call<Extract<Request, { rpc: R }>>[] {
  const wanted = new Set<string>(rpcs);
  return rpcs
    .flatMap((rpc) => facts.callsByRpc.get(rpc) ?? [])
    .filter((call): call is Call<Extract<Request, { rpc: R }>> => wanted.has(call.request.rpc))
    .sort((a, b) => a.index - b.index);
}

/** What the caller knows of a call that does one thing. */
export function fateOf(call: Call): Fate {
  const [received] = call.answers;
  if (!received || received.answer.kind === "unknown") return { kind: "unknown" };
  if (received.answer.kind === "refused")
    return { kind: "refused", reason: received.answer.reason };
  const { answer } = received;
  return { kind: "accepted", repeated: answer.kind === "done" && answer.repeated };
}

/** The run that made the effect of a step that is reused of it. */
export function reusedStep(
  { run }: RunFacts,
  step: number,
): FinalRun["reused"][number] | undefined {
  return run.reused.find((one) => one.step === step);
}

/** `step "flight" of run r1`, for a message. */
export function stepName({ run, plan }: RunFacts, step: number): string {
  return `step "${planStepAt(plan, step)?.id ?? step}" of run ${run.runId}`;
}

export function allHandOuts(run: RunFacts): readonly HandOut[] {
  return [...run.handOuts.values()].flat();
}
