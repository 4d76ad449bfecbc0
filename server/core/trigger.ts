// A trigger as its author wrote it: what it waits for, and what it does then. Its texts are
// templates; what they come to is a `Triggered`, which is checked here whatever rendered it.
import type { EndKind } from "./model.ts";
import type { Payload } from "./payload.ts";

export type TriggerAuth =
  | {
      readonly kind: "hmac";
      /** In lower case. */
      readonly header: string;
      readonly prefix: string;
      /** The header of the time that is signed; null: the body alone is. */
      readonly timestampHeader: string | null;
      readonly toleranceMs: number;
    }
  | { readonly kind: "bearer" };

export type TriggerSource =
  | { readonly kind: "http"; readonly auth: TriggerAuth }
  /** No states: each. */
  | { readonly kind: "run-end"; readonly workflow: string; readonly states: readonly EndKind[] };

/** Texts and the JSON of payloads are templates. */
export type TriggerAction =
  | {
      readonly kind: "schedule";
      readonly workflow: string;
      readonly version: number;
      readonly input: Payload | null;
      /** "": each call begins a run. */
      readonly key: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly priority: number;
    }
  | {
      readonly kind: "signal";
      /** One of the two is "". */
      readonly runKey: string;
      readonly runId: string;
      readonly name: string;
      readonly signalId: string;
      readonly payload: Payload | null;
    }
  | { readonly kind: "complete"; readonly callbackToken: string; readonly outcome: Payload };

export interface TriggerDefinition {
  readonly name: string;
  readonly source: TriggerSource;
  /** A condition; "": always. */
  readonly when: string;
  readonly action: TriggerAction;
}

/**
 * How many triggers may stand behind each other, each set off by the end of a run that the one
 * before has begun: what begins itself without an end stops there.
 */
export const TRIGGER_DEPTH_MAX = 16;

/** For so long at least a repeat is told by its key. */
export const REPEAT_KNOWN_MS = 24 * 3_600_000;

export const SIGNATURE_TOLERANCE_MS = 300_000;

export interface TriggerProblem {
  /** Of the field, as `schedule.key`. */
  readonly path: string;
  readonly message: string;
}

/** What a field of an action comes to: the name of a workflow, a key of a person's own, ... */
export type TextRule = "name" | "key" | "label" | "id" | "token";

const NAME = /^[A-Za-z0-9._-]{1,128}$/;
const KEY = /^[^\p{Cc}]{1,256}$/u;
const LABEL = /^[^\p{Cc}]{0,256}$/u;
const UUID = /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;

/** What is wrong with a text that is rendered, or that needs no rendering; null: nothing. */
export function textProblem(text: string, rule: TextRule): string | null {
  switch (rule) {
    case "name":
      return NAME.test(text) ? null : is(text, "1 to 128 characters of A-Z, a-z, 0-9, . _ and -");
    case "key":
      return KEY.test(text) ? null : is(text, "1 to 256 characters, without control characters");
    case "label":
      return LABEL.test(text) ? null : is(text, "256 characters at most, no control characters");
    case "id":
      return UUID.test(text) ? null : is(text, "the id of a run");
    case "token":
      return text.length > 0 && text.length <= 512 ? null : "has to be a callback token";
  }
}

function is(text: string, wanted: string): string {
  const shown = text.length > 60 ? `${text.slice(0, 60)}...` : text;
  return `is ${JSON.stringify(shown)}, and has to be ${wanted}`;
}

/** What is wrong with a definition beyond single fields and its expressions; null: nothing. */
export function triggerProblem({ source, action }: TriggerDefinition): TriggerProblem | null {
  if (source.kind === "run-end" && action.kind !== "schedule")
    return {
      path: action.kind,
      message: "is nothing that the end of a run can do: it schedules a workflow",
    };
  if (source.kind === "run-end" && action.kind === "schedule" && action.key !== "")
    return {
      path: "schedule.key",
      message: "is for calls over HTTP: a run that ends has a key of its own; leave it out",
    };
  if (action.kind === "signal" && (action.runKey === "") === (action.runId === ""))
    return {
      path: "signal.run_key",
      message: "or signal.run_id names the run: give one of the two",
    };
  return null;
}

/** The key of the run that the end of another one sets off: so it is one, whoever applies it. */
export function keyOfEnd(trigger: string, runId: string): string {
  return `trigger:${trigger}:${runId}`;
}
