// Escalations that a pass opens, closes and answers, as rows. An escalation that one pass opens and
// closes is one insert. Older escalations are answered first and closed then, so that the close
// which follows from an answer does not touch the answered one.
import type { EpochMs } from "../core/model/attempt.ts";
import type { Effect } from "../core/model/effect.ts";
import type { AnswerKind, EscalationReason } from "../core/model/history.ts";

/** An escalation with this reason stays open when its step moves on: no step waits for it. */
export const STAYS_OPEN: EscalationReason = "doubled";

interface Closing {
  readonly closedBy: string;
  readonly answer: EscalationAnswer | null;
}

export interface EscalationAnswer {
  readonly answer: AnswerKind;
  readonly by: string;
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

export interface EscalationChanges {
  readonly escalations: readonly EscalationInsert[];
  readonly escalationsAnswered: readonly (Closing & { readonly n: number })[];
  readonly escalationsReminded: readonly Extract<Effect, { kind: "escalation-reminded" }>[];
  /** Closes the open escalations of the step, except those with the reason `STAYS_OPEN`. */
  readonly escalationsClosed: readonly { readonly step: number; readonly by: string }[];
}

export function escalationChanges(effects: readonly Effect[]): EscalationChanges {
  const asked: EscalationInsert[] = [];
  const answered: (Closing & { n: number })[] = [];
  const closed: { step: number; by: string }[] = [];
  const close = (of: (one: EscalationInsert) => boolean, closing: Closing): boolean => {
    const found = asked.flatMap((one, place) =>
      one.closing === null && of(one) ? [{ one, place }] : [],
    );
    for (const { one, place } of found) asked[place] = { ...one, closing };
    return found.length > 0;
  };
  for (const effect of effects) {
    if (effect.kind === "escalated") {
      const { n, step, reason, code, message, wakeAt, deadlineAt } = effect;
      asked.push({ n, step, reason, code, message, wakeAt, deadlineAt, closing: null });
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
      const { n, answer, by, why } = effect;
      // The same words as within the pass (core/evolve.ts).
      const closedBy = `answered "${answer}" by ${by}`;
      const closing = { closedBy, answer: { answer, by, why } };
      if (!close((one) => one.n === n, closing)) answered.push({ n, ...closing });
    }
  }
  return {
    escalations: asked,
    escalationsReminded: effects.filter((effect) => effect.kind === "escalation-reminded"),
    escalationsAnswered: answered,
    escalationsClosed: closed,
  };
}
