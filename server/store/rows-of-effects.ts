// The rows that the effects of a pass append beside the pages of its run: signals, approvals,
// escalations, interventions, messages between runs; and the tasks that have ended, as
// circuits count them. Both stores write exactly these rows, so SQL
// and memory cannot diverge.

import type { EpochMs, Outcome } from "../core/model/attempt.ts";
import { type OutcomeClass, outcomeClassOf } from "../core/model/circuit.ts";
import type { Effect } from "../core/model/effect.ts";
import type { AnswerKind, EscalationReason, Intervention } from "../core/model/history.ts";
import type { Message } from "../core/model/message.ts";
import type { Payload } from "../core/model/payload.ts";
import type { DerivedLease } from "../core/page/derived-rows.ts";
import { childRef } from "./child-run.ts";
import { partitionOf, regionOf } from "./partition.ts";
import type { Actor, PassRecord } from "./pass-record.ts";
import type { RunHead, RunId, RunRef } from "./run-head.ts";

interface SignalInsert {
  readonly seq: number;
  readonly id: string;
  readonly name: string;
  readonly payload: Payload | null;
  /** The step that took it in the same pass; null: it waits. */
  readonly takenBy: number | null;
}

type DecisionInsert = Extract<Effect, { kind: "decision-stored" }>;

interface OverrideInsert {
  readonly step: number;
  /** Index in the step's strategies. */
  readonly strategy: number;
  readonly input: Payload | null;
}

/** A step that the run reuses from an earlier run. */
export interface ReusedInsert {
  readonly step: number;
  /** The run that made its effect. */
  readonly madeByRun: RunId;
}

/** A message from the run to another one of its region. */
interface MessageInsert {
  readonly to: RunRef;
  readonly message: Message;
}

/**
 * How long the process that has written a message may take to apply it before the owner of the
 * receiving run's partition does so, in milliseconds.
 */
export const MESSAGE_GRACE_MS = 500;

/** An approval step that waits for decisions after the pass. */
interface ApprovalRequest {
  readonly step: number;
  readonly deadlineAt: EpochMs;
}

export interface RowsOfEffects extends EscalationChanges {
  readonly head: RunHead;
  readonly interventions: readonly Intervention[];
  readonly signals: readonly SignalInsert[];
  /** Signals that were stored by an earlier pass. */
  readonly signalsTaken: readonly { seq: number; step: number }[];
  readonly decisions: readonly DecisionInsert[];
  readonly approvalsRequested: readonly ApprovalRequest[];
  readonly overrides: readonly OverrideInsert[];
  readonly reusedSteps: readonly ReusedInsert[];
  readonly messages: readonly MessageInsert[];
  readonly messagesApplied: readonly number[];
  readonly actor: Actor | null;
}

/** What appends rows: the effects of a pass, for its run and its supervisor. */
type Appending = Pick<PassRecord, "head" | "actor" | "effects">;

export function rowsOfEffects(record: Appending): RowsOfEffects {
  const { effects, head, actor } = record;
  return {
    head,
    actor,
    ...escalationChanges(effects),
    ...signalChanges(effects),
    interventions: effects.flatMap((effect) =>
      effect.kind === "intervened" ? [effect.intervention] : [],
    ),
    decisions: effects.filter((effect) => effect.kind === "decision-stored"),
    approvalsRequested: approvalsRequested(effects),
    overrides: [...overridesOf(record), ...overridesKept(effects)],
    reusedSteps: effects.flatMap((effect) =>
      effect.kind === "reused" ? [{ step: effect.step, madeByRun: effect.of }] : [],
    ),
    messages: messagesOf(record),
    messagesApplied: effects.flatMap((effect) =>
      effect.kind === "message-applied" ? [effect.no] : [],
    ),
  };
}

function signalChanges(
  effects: readonly Effect[],
): Pick<RowsOfEffects, "signals" | "signalsTaken"> {
  const taken = effects.filter((effect) => effect.kind === "signal-taken");
  const made = effects.filter((effect) => effect.kind === "signal-stored");
  return {
    signals: made.map(({ seq, id, name, payload }) => {
      const takenBy = taken.find((effect) => effect.seq === seq)?.step ?? null;
      return { seq, id, name, payload, takenBy };
    }),
    signalsTaken: taken.filter(({ seq }) => !made.some((effect) => effect.seq === seq)),
  };
}

/** An approval that ends in the pass that begins it is not requested. */
function approvalsRequested(effects: readonly Effect[]): readonly ApprovalRequest[] {
  const open = new Map<number, ApprovalRequest>();
  for (const effect of effects)
    switch (effect.kind) {
      case "began-waiting":
        if (effect.on === "approval")
          open.set(effect.step, { step: effect.step, deadlineAt: effect.wakeAt });
        break;
      case "succeeded":
      case "failed":
      case "cancelled":
      case "skipped":
      case "escalated":
        open.delete(effect.step);
    }
  return [...open.values()];
}

/** The messages of a pass, in the order in which it wrote them. */
export function messagesOf({
  head,
  effects,
}: Pick<Appending, "head" | "effects">): readonly MessageInsert[] {
  const region = regionOf(head.partition);
  return effects.flatMap((effect) => {
    if (effect.kind === "child-messaged") {
      const { step, fence, message } = effect;
      return [{ to: childRef(head, step, fence), message }];
    }
    if (effect.kind !== "message-sent") return [];
    const { to: runId, message } = effect;
    return [{ to: { runId, partition: partitionOf(region, runId) }, message }];
  });
}

/** Runs that need a pass of their own: receivers of messages, and children that have started. */
export function runsToWake(record: PassRecord): readonly RunRef[] {
  return [
    ...messagesOf(record).map(({ to }) => to),
    ...record.effects.flatMap((effect) =>
      effect.kind === "child-began" ? [childRef(record.head, effect.step, effect.fence)] : [],
    ),
  ];
}

/** If a pass replaces a strategy, only the last one at that index is written. */
function overridesOf({ effects }: Pick<Appending, "effects">): readonly OverrideInsert[] {
  const found = new Map<string, OverrideInsert>();
  for (const effect of effects) {
    if (effect.kind !== "strategy-started" || effect.input === null) continue;
    const { step, index: strategy, input } = effect;
    found.set(`${step}/${strategy}`, { step, strategy, input });
  }
  return [...found.values()];
}

/** The undo of a reused step's effect gets the input with which the effect was made. */
function overridesKept(effects: readonly Effect[]): readonly OverrideInsert[] {
  return effects.flatMap((effect) =>
    effect.kind === "reused"
      ? [...effect.inputs].map(([strategy, input]) => ({ step: effect.step, strategy, input }))
      : [],
  );
}

export interface EndedTask {
  readonly lane: number;
  readonly agentId: string;
  readonly session: string;
  readonly runId: RunId;
  readonly end: OutcomeClass;
  readonly result: AttemptResult;
}

/** What an ended attempt says of its agent. `nothing`: it was not performed, or was cancelled. */
type AttemptResult = "done" | "failed" | "unknown" | "nothing";

/** `leases`: the leases that the pass has ended. */
export function endedTasks(
  { head: { runId }, effects }: PassRecord,
  leases: readonly DerivedLease[],
): readonly EndedTask[] {
  if (leases.length === 0) return [];
  const bySecret = new Map(
    effects.flatMap((effect) =>
      effect.kind === "task-ended" ? [[effect.attempt.secret, effect.attempt] as const] : [],
    ),
  );
  return leases.flatMap(({ terms: { lane }, lease }): readonly EndedTask[] => {
    const { secret, agentId, session } = lease;
    const outcome = bySecret.get(secret)?.outcome;
    if (!outcome) return [];
    const transient = outcome.kind === "failure" && outcome.class === "transient";
    const end = outcomeClassOf({ kind: outcome.kind, transient });
    return [{ lane, agentId, session, runId, end, result: resultOf(outcome.kind, end) }];
  });
}

/** For a circuit a permanent failure is good, since the service has answered. Here it is not. */
function resultOf(kind: Outcome["kind"], end: OutcomeClass): AttemptResult {
  if (kind === "failure") return "failed";
  if (kind === "unknown") return "unknown";
  return end === "nothing" ? "nothing" : "done";
}

/** An escalation with this reason stays open when its step moves on: no step waits for it. */
export const STAYS_OPEN: EscalationReason = "doubled";

interface Closing {
  readonly closedBy: string;
  readonly answer: EscalationAnswer | null;
}

export interface EscalationAnswer {
  readonly answer: AnswerKind;
  readonly by: string;
  readonly verified: boolean;
  readonly why: string;
}

interface EscalationInsert {
  readonly n: number;
  readonly step: number;
  readonly reason: EscalationReason;
  readonly code: string;
  readonly message: string;
  readonly wakeAt: EpochMs;
  readonly deadlineAt: EpochMs | null;
  /** A later effect of the same pass has closed it; null: it is open. */
  readonly closing: Closing | null;
}

interface EscalationChanges {
  readonly escalations: readonly EscalationInsert[];
  readonly escalationsAnswered: readonly (Closing & { readonly n: number })[];
  readonly escalationsReminded: readonly Extract<Effect, { kind: "escalation-reminded" }>[];
  /** Closes the open escalations of the step, except those with the reason `STAYS_OPEN`. */
  readonly escalationsClosed: readonly { readonly step: number; readonly by: string }[];
}

/**
 * An escalation that one pass opens and closes is one insert. Older escalations are answered first
 * and closed then, so that the close which follows from an answer does not touch the answered one.
 */
function escalationChanges(effects: readonly Effect[]): EscalationChanges {
  const opened: EscalationInsert[] = [];
  const answered: (Closing & { n: number })[] = [];
  const closed: { step: number; by: string }[] = [];
  const close = (of: (one: EscalationInsert) => boolean, closing: Closing): boolean => {
    const found = opened.flatMap((one, place) =>
      one.closing === null && of(one) ? [{ one, place }] : [],
    );
    for (const { one, place } of found) opened[place] = { ...one, closing };
    return found.length > 0;
  };
  for (const effect of effects) {
    if (effect.kind === "escalated") {
      const { n, step, reason, code, message, wakeAt, deadlineAt } = effect;
      opened.push({ n, step, reason, code, message, wakeAt, deadlineAt, closing: null });
    }
    if (effect.kind === "escalation-closed") {
      const { step, by } = effect;
      close((one) => one.step === step && one.reason !== STAYS_OPEN, {
        closedBy: by,
        answer: null,
      });
      closed.push({ step, by });
    }
    if (effect.kind === "escalation-answered") {
      const { n, answer, by, verified = false, why } = effect;
      // The same words as within the pass (core/evolve.ts).
      const closedBy = `answered "${answer}" by ${by}`;
      const closing = { closedBy, answer: { answer, by, verified, why } };
      if (!close((one) => one.n === n, closing)) answered.push({ n, ...closing });
    }
  }
  return {
    escalations: opened,
    escalationsReminded: effects.filter((effect) => effect.kind === "escalation-reminded"),
    escalationsAnswered: answered,
    escalationsClosed: closed,
  };
}
