// A scenario: what agents, people and the outside world do to one run, and what must come of it.
// Times are milliseconds, moments count from the start of the run.
import type { Payload } from "../core/payload.ts";

/** What an agent does with one task that it was handed. */
export type Act =
  | SucceedAct
  | FailAct
  /** It reports that it does not know; `effect`: the remote service has done it all the same. */
  | {
      readonly kind: "unknown";
      readonly effect: boolean;
      readonly code: string;
      readonly afterMs: number;
    }
  /** Of a verify: it says what is really there. */
  | { readonly kind: "look"; readonly afterMs: number }
  /**
   * It sends heartbeats, and neither ends nor listens; `progress`: it stands there; null: it moves.
   */
  | { readonly kind: "hang"; readonly effect: boolean; readonly progress: number | null }
  /** Its process stands still: no heartbeats; null: for ever. */
  | {
      readonly kind: "freeze";
      readonly effect: boolean;
      readonly thaw: { readonly forMs: number; readonly answer: SucceedAct | FailAct } | null;
    }
  /** It has done its work, falls silent, and answers when its lease is long lost. */
  | { readonly kind: "answer-late"; readonly output: Payload | null; readonly byMs: number }
  | { readonly kind: "crash"; readonly effect: boolean; readonly afterMs: number }
  /** Another will say how it ended; null: nobody ever does. */
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

/** How long a task takes where nothing is said. */
export const WORK_MS = 1_000;

export const SUCCEED: Act = Object.freeze({ kind: "succeed", output: null, afterMs: WORK_MS });
export const LOOK: Act = Object.freeze({ kind: "look", afterMs: WORK_MS });

/** Whose task it is: any of its name, of one step, or of one item of it. */
export interface ScriptKey {
  /** "*": every task that no other key names. */
  readonly task: string;
  readonly step: string | null;
  readonly item: number | null;
}

export interface Script extends ScriptKey {
  /** As it was written. */
  readonly key: string;
  /** Of this scenario, and not of all in its file: some task has to ask for it. */
  readonly isOwn: boolean;
  /** One for each time that a task is handed out; the last one repeats. Never empty. */
  readonly acts: readonly Act[];
}

/** What a person does, or befalls the server. */
export type ScriptedAction =
  | { readonly kind: "signal"; readonly name: string; readonly payload: Payload | null }
  | {
      readonly kind: "decide";
      readonly step: string;
      readonly approve: boolean;
      readonly by: string | null;
      /** null: those that the step asks for. */
      readonly roles: readonly string[] | null;
      readonly comment: string;
      readonly form: Payload | null;
    }
  | {
      readonly kind: "answer";
      readonly answer: string;
      /** null: whichever question is open. */
      readonly step: string | null;
      readonly payload: Payload | null;
      readonly by: string | null;
    }
  | { readonly kind: "cancel"; readonly undo: boolean }
  /** null: the run itself. */
  | { readonly kind: "pause" | "resume"; readonly queue: string | null }
  | { readonly kind: "leave" | "return"; readonly queue: string }
  /** The server is killed, and comes back so much later. */
  | { readonly kind: "kill"; readonly forMs: number };

export interface ScenarioEvent {
  /** At a moment, or so long after something has come to a state for the first time. */
  readonly on:
    | { readonly kind: "at"; readonly ms: number }
    | { readonly kind: "when"; readonly state: string; readonly afterMs: number };
  readonly deed: ScriptedAction;
  /** Where it stands in the file. */
  readonly path: string;
}

/** Both ends belong to it. */
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
  /** "lease of hotel", "deadline"; null: nothing is said. */
  readonly interventions: readonly string[] | null;
  /** "unknown of capture", in the order in which they were asked. */
  readonly escalations: readonly string[] | null;
  /** "hotel FAILED": each comes after the one before it. */
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
  /** It is played no longer. */
  readonly withinMs: number;
  readonly scripts: readonly Script[];
  readonly events: readonly ScenarioEvent[];
  readonly expect: Expectations;
  /** Where it stands in the file. */
  readonly path: string;
}

/** As written in a file: `hotel`, `chunks[2]`. */
export function stepName(step: string, item: number | null | undefined): string {
  return item === null || item === undefined ? step : `${step}[${item}]`;
}
