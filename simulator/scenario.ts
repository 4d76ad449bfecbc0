// A scenario: what agents, people and the outside world do to one run, and the expected result.
// Durations are milliseconds; times count from the start of the run.
import type { Payload } from "@drover/server/core/model/payload.ts";

/** What an agent does with one task that it was handed. */
export type Act =
  | SucceedAct
  | FailAct
  /**
   * It reports an unknown outcome; `effect`: the remote service has performed the request all the
   * same.
   */
  | {
      readonly kind: "unknown";
      readonly effect: boolean;
      readonly code: string;
      readonly afterMs: number;
    }
  /** For a verify task: it reports whether the effect exists. */
  | { readonly kind: "check"; readonly afterMs: number }
  /**
   * It sends heartbeats, never ends and ignores cancellation. `progress`: it stays at this value;
   * null: it advances.
   */
  | { readonly kind: "hang"; readonly effect: boolean; readonly progress: number | null }
  /** Its process stops without heartbeats; `resumes` null: for ever. */
  | {
      readonly kind: "freeze";
      readonly effect: boolean;
      readonly resumes: { readonly forMs: number; readonly answer: SucceedAct | FailAct } | null;
    }
  /** It does its work, sends no heartbeats, and answers long after its lease was lost. */
  | { readonly kind: "answer-late"; readonly output: Payload | null; readonly byMs: number }
  | { readonly kind: "crash"; readonly effect: boolean; readonly afterMs: number }
  /** Another party will report the outcome; `callback` null: no report ever comes. */
  | {
      readonly kind: "defer";
      readonly effect: boolean;
      readonly afterMs: number;
      readonly callback: { readonly inMs: number; readonly answer: SucceedAct | FailAct } | null;
    }
  | { readonly kind: "again"; readonly inMs: number }
  | { readonly kind: "release" };

export interface SucceedAct {
  readonly kind: "succeed";
  readonly output: Payload | null;
  readonly afterMs: number;
}

export interface FailAct {
  readonly kind: "fail";
  readonly code: string;
  readonly message: string;
  readonly permanent: boolean;
  readonly noEffect: boolean;
  readonly retryAfterMs: number | null;
  readonly effect: boolean;
  readonly afterMs: number;
}

/** How long a task takes by default. */
export const WORK_MS = 1_000;

export const SUCCEED: Act = Object.freeze({ kind: "succeed", output: null, afterMs: WORK_MS });
export const CHECK: Act = Object.freeze({ kind: "check", afterMs: WORK_MS });

/** The tasks that a script is for: all of a name, those of one step, or that of one item. */
export interface ScriptKey {
  /** "*": every task that no other key names. */
  readonly task: string;
  readonly step: string | null;
  readonly item: number | null;
}

export interface Script extends ScriptKey {
  /** As written in the file. */
  readonly key: string;
  /** Set by this scenario and not for the whole file: then at least one task must use it. */
  readonly isOwn: boolean;
  /** One act for each time that a task is handed out; the last one repeats. Never empty. */
  readonly acts: readonly Act[];
}

/** An action of a person, or a fault of servers and agents. */
export type ScriptedAction =
  | { readonly kind: "signal"; readonly name: string; readonly payload: Payload | null }
  | {
      readonly kind: "decide";
      readonly step: string;
      readonly approve: boolean;
      readonly by: string | null;
      /** null: the roles that the step requires. */
      readonly roles: readonly string[] | null;
      readonly comment: string;
      readonly form: Payload | null;
    }
  | {
      readonly kind: "answer";
      readonly answer: string;
      /** null: any open escalation. */
      readonly step: string | null;
      readonly payload: Payload | null;
      readonly by: string | null;
    }
  | { readonly kind: "cancel"; readonly undo: boolean }
  /** null: the run itself. */
  | { readonly kind: "pause" | "resume"; readonly queue: string | null }
  | { readonly kind: "leave" | "return"; readonly queue: string }
  /** The server is killed, and starts again after `forMs`. */
  | { readonly kind: "kill"; readonly forMs: number };

export interface ScenarioEvent {
  /** At a time, or some time after a state was reached for the first time. */
  readonly on:
    | { readonly kind: "at"; readonly ms: number }
    | { readonly kind: "when"; readonly state: string; readonly afterMs: number };
  readonly action: ScriptedAction;
  /** The event's path in the file. */
  readonly path: string;
}

/** Both ends are included. */
export interface Range {
  readonly least: number;
  readonly most: number;
  readonly text: string;
}

export interface Expectations {
  readonly run: string | null;
  readonly reason: string | null;
  readonly withinMs: number | null;
  readonly steps: ReadonlyMap<string, string>;
  /** As "lease of hotel", "deadline"; null: anything is accepted. */
  readonly interventions: readonly string[] | null;
  /**
   * As "unknown of capture", in the order in which they were opened; null: anything is accepted.
   */
  readonly escalations: readonly string[] | null;
  /** As "hotel FAILED"; each state is reached after the one before it. */
  readonly order: readonly string[];
  readonly times: ReadonlyMap<string, Range>;
  readonly calls: ReadonlyMap<string, Range>;
  readonly effects: readonly string[] | null;
  readonly outputs: ReadonlyMap<string, Payload>;
  readonly inputs: ReadonlyMap<string, Payload>;
}

export interface Scenario {
  readonly name: string;
  readonly input: Payload | null;
  readonly key: string;
  readonly seed: number;
  /** When the run is started, in milliseconds since 1970. */
  readonly startMs: number;
  /** The scenario ends after this time. */
  readonly withinMs: number;
  readonly scripts: readonly Script[];
  readonly events: readonly ScenarioEvent[];
  readonly expect: Expectations;
  /** The scenario's path in the file. */
  readonly path: string;
}

/** As written in a file: `hotel`, `chunks[2]`. */
export function stepName(step: string, item: number | null | undefined): string {
  return item === null || item === undefined ? step : `${step}[${item}]`;
}
