/**
 * Random lives of runs, as data that fast-check can shrink.
 *
 * A life is a list of acts of agents, of the supervisor and of people. An act that has nothing to
 * act on does nothing. Numbers named `pick` choose among what there is, modulo its count.
 */
import fc from "fast-check";
import type { AnswerKind } from "../../server/core/model/history.ts";
import type { Message } from "../../server/core/model/message.ts";
import type { End } from "../../server/core/model/model.ts";
import {
  again,
  type CallbackOutcome,
  calledBack,
  cancelled,
  deferred,
  failure,
  type ReportedOutcome,
  released,
  success,
  unknown,
} from "../support/core-outcomes.ts";
import { ODD } from "./random-run.ts";

export type Act =
  | { readonly kind: "claim"; readonly pick: number; readonly session: number }
  | { readonly kind: "try"; readonly pick: number; readonly outcome: ReportedOutcome }
  /** Lost; maybe the run is paused, and whatever it asks a person is answered "retry". */
  | {
      readonly kind: "lose";
      readonly pick: number;
      readonly times: number;
      readonly retries: boolean;
    }
  /** Lost, maybe paused, and then its agent reports after all. */
  | {
      readonly kind: "late";
      readonly pick: number;
      readonly times: number;
      readonly pauses: boolean;
      readonly outcome: ReportedOutcome;
    }
  /** Deferred, maybe paused, and then called back (null: it is not). */
  | {
      readonly kind: "defer";
      readonly pick: number;
      readonly pauses: boolean;
      readonly called: CallbackOutcome | null;
    }
  /** It runs past its time, and then, maybe, its agent reports after all. */
  | {
      readonly kind: "overrun";
      readonly pick: number;
      readonly heartbeats: boolean;
      readonly outcome: ReportedOutcome | null;
    }
  /** Cancelled; the agents report it, maybe, and maybe the person gives the undoing up. */
  | {
      readonly kind: "cancel";
      readonly undo: boolean;
      readonly outcome: ReportedOutcome | null;
      readonly givesUp: boolean;
    }
  | { readonly kind: "heartbeat"; readonly session: number }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "next-timer"; readonly lateMs: number; readonly polled: boolean }
  | { readonly kind: "pass"; readonly inputs: readonly Input[]; readonly draw: number };

/** An event of a pass, before it is known which task or step it is about. */
export type Input =
  | {
      readonly kind: "report";
      readonly of: "anything" | "current" | "open";
      readonly pick: number;
      readonly outcome: ReportedOutcome;
      readonly token: "right" | "wrong-secret" | "other-fence" | "other-step" | "other-task";
    }
  | { readonly kind: "undelivered" | "forgotten"; readonly pick: number }
  | {
      readonly kind: "timer";
      readonly pick: number;
      readonly polled: boolean;
      readonly gapMs: number;
    }
  | {
      readonly kind: "callback";
      readonly of: "anything" | "open";
      readonly pick: number;
      readonly outcome: CallbackOutcome;
    }
  | { readonly kind: "signal"; readonly id: number; readonly name: string }
  | {
      readonly kind: "decide";
      readonly pick: number;
      readonly approver: string;
      readonly approved: boolean;
    }
  | { readonly kind: "answer"; readonly pick: number; readonly answer: AnswerKind }
  | { readonly kind: "pause" }
  | { readonly kind: "message"; readonly message: Message }
  /** The child of a step has ended. */
  | {
      readonly kind: "child";
      readonly pick: number;
      readonly end: End | null;
      readonly output: string;
    }
  | { readonly kind: "resume" }
  | { readonly kind: "run-timer" }
  | { readonly kind: "cancel"; readonly undo: boolean };

export const SESSIONS = 3;

const outcomes: fc.Arbitrary<ReportedOutcome> = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(success(), success(), success(ODD)) },
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      failure("busy"),
      failure("busy", { retryAfterMs: 3_000, noEffect: true }),
      failure("odd"),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      failure("broken", { permanent: true }),
      failure("broken", { permanent: true, noEffect: true }),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(unknown(), released, cancelled(), cancelled({ noEffect: true })),
  },
  { weight: 3, arbitrary: fc.constantFrom(again(), deferred, failure("no", { noEffect: true })) },
);

const callbackOutcomes: fc.Arbitrary<CallbackOutcome> = fc.constantFrom(
  calledBack.success,
  calledBack.success,
  calledBack.failure,
);

const ANSWERS: readonly AnswerKind[] = [
  "retry",
  "retry-changed",
  "succeed",
  "skip",
  "compensate",
  "fail",
  "acknowledge",
];

const pick = fc.nat({ max: 30 });
const session = fc.nat({ max: SESSIONS - 1 });

/** Messages that another run may send it. */
const messages: fc.Arbitrary<Message> = fc.oneof(
  fc.constantFrom<Message>({ kind: "permit" }, { kind: "no-permit" }, { kind: "make-room" }),
  fc.constantFrom<Message>({ kind: "pause" }, { kind: "resume" }, { kind: "cancel", undo: true }),
);

/** How a child ends; the last one never began. */
const childEnds: fc.Arbitrary<End | null> = fc.constantFrom(
  { kind: "COMPLETED", reason: "DONE" } as const,
  { kind: "COMPLETED", reason: "DONE" } as const,
  { kind: "FAILED", reason: "STEP_FAILED" } as const,
  { kind: "FAILED", reason: "STEP_FAILED" } as const,
  { kind: "COMPENSATED", reason: "CANCELLED_BY_USER" } as const,
  { kind: "FAILED", reason: "REFUSED" } as const,
  null,
);

const anyInput: fc.Arbitrary<Input> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("report" as const),
      of: fc.constantFrom("anything" as const, "current" as const, "open" as const),
      pick,
      outcome: outcomes,
      token: fc.oneof(
        { weight: 8, arbitrary: fc.constant("right" as const) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            "wrong-secret" as const,
            "other-fence" as const,
            "other-step" as const,
            "other-task" as const,
          ),
        },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("undelivered" as const, "forgotten"), pick }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("timer" as const),
      pick,
      polled: fc.boolean(),
      gapMs: fc.constantFrom(0, 0, 1_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("callback" as const),
      of: fc.constantFrom("anything" as const, "open" as const),
      pick,
      outcome: callbackOutcomes,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("signal" as const),
      id: fc.nat({ max: 5 }),
      name: fc.constantFrom("go", "stop"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("decide" as const),
      pick,
      approver: fc.constantFrom("ada", "bob", "eve"),
      approved: fc.constantFrom(true, true, false),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("answer" as const),
      pick,
      answer: fc.constantFrom(...ANSWERS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pause" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("message" as const), message: messages }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("child" as const),
      pick,
      end: childEnds,
      output: fc.constantFrom("{}", "{}", ODD),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("resume" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("run-timer" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("cancel" as const), undo: fc.boolean() }),
  },
);

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("claim" as const), pick, session }) },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("try" as const), pick, outcome: outcomes }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("lose" as const),
      pick,
      times: fc.integer({ min: 1, max: 3 }),
      retries: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("late" as const),
      pick,
      times: fc.integer({ min: 1, max: 3 }),
      pauses: fc.boolean(),
      outcome: outcomes,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("defer" as const),
      pick,
      pauses: fc.boolean(),
      called: fc.constantFrom(calledBack.success, calledBack.failure, null),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("overrun" as const),
      pick,
      heartbeats: fc.boolean(),
      outcome: fc.option(outcomes),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("cancel" as const),
      undo: fc.constantFrom(true, true, false),
      outcome: fc.option(outcomes),
      givesUp: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("heartbeat" as const), session }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1, 100, 1_500, 2_000, 30_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("next-timer" as const),
      lateMs: fc.constantFrom(0, 0, 1_000, 60_000),
      polled: fc.boolean(),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      inputs: fc.array(anyInput, { minLength: 1, maxLength: 4 }),
      draw: fc.constantFrom(0, 0.5, 0.999),
    }),
  },
);

export const lives: fc.Arbitrary<readonly Act[]> = fc.array(act, { maxLength: 45, size: "max" });
