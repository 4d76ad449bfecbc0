// A trigger as its author wrote it: its source, its condition and its action. The texts of the
// action are templates. The rendered texts are checked by the rules of this file.
import type { EndKind } from "../model/model.ts";
import type { Payload } from "../model/payload.ts";

export type TriggerAuth =
  | {
      readonly kind: "hmac";
      /** In lower case. */
      readonly header: string;
      readonly prefix: string;
      /** The header of the time that is signed; null: the body alone is signed. */
      readonly timestampHeader: string | null;
      readonly toleranceMs: number;
    }
  | { readonly kind: "bearer" };

export type TriggerSource =
  | { readonly kind: "http"; readonly auth: TriggerAuth }
  /** Without `states`: every end. */
  | { readonly kind: "run-end"; readonly workflow: string; readonly states: readonly EndKind[] };

/** Texts and the JSON of payloads are templates. */
export type TriggerAction =
  | {
      readonly kind: "schedule";
      readonly workflow: string;
      readonly version: number;
      readonly input: Payload | null;
      /** "": no key, so each call begins a run. */
      readonly key: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly priority: number;
    }
  | {
      readonly kind: "signal";
      /** Exactly one of the two is not "". */
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
 * Most triggers in a row, each caused by the end of a run that the previous one has started. An
 * endless chain stops there.
 */
export const TRIGGER_DEPTH_MAX = 16;

/** A repeated call is recognized by its key for at least this time. */
export const DEDUP_WINDOW_MS = 24 * 3_600_000;

export const SIGNATURE_TOLERANCE_MS = 300_000;

export interface TriggerProblem {
  /** Path of the field, such as `schedule.key`. */
  readonly path: string;
  readonly message: string;
}

/** The kind of value that a field of an action must have: a workflow's name, a caller's key, ... */
export type TextRule = "name" | "key" | "label" | "id" | "token";

const NAME = /^[A-Za-z0-9._-]{1,128}$/;
const KEY = /^[^\p{Cc}]{1,256}$/u;
const LABEL = /^[^\p{Cc}]{0,256}$/u;
const UUID = /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;

/** The problem with a text that is rendered, or that needs no rendering; null: none. */
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

/** The problem with a definition beyond single fields and expressions; null: none. */
export function triggerProblem({ source, action }: TriggerDefinition): TriggerProblem | null {
  if (source.kind === "run-end" && action.kind !== "schedule")
    return {
      path: action.kind,
      message: "is not possible at the end of a run, which can only schedule a workflow",
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

/** The key of the run that the end of another run begins, so that a repeat begins no second run. */
export function keyOfEnd(trigger: string, runId: string): string {
  return `trigger:${trigger}:${runId}`;
}
