/**
 * What a tool answers when it cannot do what was asked: a sentence of this program, the words of
 * the server as data, and what to do next.
 */
import { DroverCallError } from "@drover/sdk";
import { DroverError, type FieldProblem } from "@drover/server/errors.ts";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { CliFailure } from "../failure.ts";
import { placed } from "../text-refusal.ts";
import { visible } from "./answer.ts";

interface Refusal {
  readonly drover: string;
  readonly next: string;
  readonly code: string;
  readonly reason: string;
  readonly message: string;
  readonly fields: readonly FieldProblem[];
}

/** Longer messages are cut, and more fields left out. */
const messageCharsMax = 1_000;
const fieldsMax = 20;

const CHANGED_NOTHING = "The server refused the call, and nothing was changed.";

/** By the reason of the server; others have `CHANGED_NOTHING` alone. */
const SENTENCES: Readonly<Record<string, readonly [drover: string, next: string]>> = {
  NOT_ALLOWED: [
    "The server refused the call: the role or the namespace of this identity does not allow it.",
    "Do not try other ways: a person with that role has to do it.",
  ],
  TOKEN_REQUIRED: [
    "The server refused the call: it requires a valid token, and has got none.",
    "A person has to give drover mcp another token.",
  ],
  RUN_NOT_FOUND: [CHANGED_NOTHING, "search_runs lists the runs of the namespace."],
  NAMESPACE_NOT_FOUND: [CHANGED_NOTHING, "A person has to give drover mcp another namespace."],
  WORKFLOW_NOT_FOUND: [CHANGED_NOTHING, "list_workflows lists the registered workflows."],
  INVALID_DEFINITION: [
    "The definition has mistakes, and no run was started.",
    "Correct each place, and try it with check_workflow.",
  ],
  ESCALATION_NOT_FOUND: [CHANGED_NOTHING, "list_needs_person lists open escalations."],
  ESCALATION_CLOSED: [CHANGED_NOTHING, "show_escalation says how it was closed."],
  ANSWER_NOT_ALLOWED: [CHANGED_NOTHING, "show_escalation lists the answers that it accepts now."],
  DECISION_REFUSED: [
    "The server refused the decision: this person may not decide, or not like this.",
    "list_needs_person lists who may decide. Do not try under another name.",
  ],
  KEY_REUSED: [
    "The key was used before for another request, and nothing was changed.",
    "Use a new key for another run.",
  ],
  SIGNAL_UNKNOWN: [CHANGED_NOTHING, "explain_run says which signal the run waits for."],
  RUN_STATE: [CHANGED_NOTHING, "show_run says in which state the run is."],
  PAYLOAD_TOO_LARGE: [CHANGED_NOTHING, "Store the data elsewhere, and pass its address."],
  OVERLOADED: ["The server is busy, and nothing was changed.", "Repeat the call in a minute."],
  NAMESPACE_LIMIT: [
    "A limit of the namespace is reached, and nothing was changed.",
    "Repeat the call in a minute.",
  ],
};

/** `writes`: whether the tool changes something. */
export function refusalResult(error: unknown, writes: boolean): CallToolResult {
  const { drover, next, code, reason, message, fields } = refusalOf(error, writes);
  const refused = {
    code,
    reason,
    message: cut(message),
    fields: fields.slice(0, fieldsMax).map((field) => {
      const { message: of, line, column } = placed(field);
      return { path: cut(field.path), message: cut(of), line, column };
    }),
    more_fields: Math.max(0, fields.length - fieldsMax),
  };
  const text = JSON.stringify({ drover, refused, next });
  return { content: [{ type: "text", text }], isError: true };
}

function refusalOf(error: unknown, writes: boolean): Refusal {
  if (error instanceof DroverCallError) return refusalOfCall(error, writes);
  if (error instanceof DroverError) {
    const [drover, next] = SENTENCES[error.reason] ?? [CHANGED_NOTHING, ""];
    const { reason, message, fields } = error;
    return { drover, next, code: "INVALID_ARGUMENT", reason, message, fields };
  }
  const isSetting = error instanceof CliFailure;
  return {
    drover: isSetting
      ? "drover mcp cannot call the server: a setting is wrong."
      : "drover mcp failed.",
    next: "A person has to look at it.",
    code: "INTERNAL",
    reason: "",
    message: error instanceof Error ? error.message : String(error),
    fields: [],
  };
}

function refusalOfCall(error: DroverCallError, writes: boolean): Refusal {
  const { code, reason, message, fields } = error;
  const [drover, next] = SENTENCES[reason] ?? wordsOfCode(error, writes);
  return { drover, next, code, reason, message, fields };
}

const UNKNOWN_CODES: ReadonlySet<string> = new Set([
  "UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "CANCELLED",
  "INTERNAL",
  "UNKNOWN",
]);

function wordsOfCode({ code }: DroverCallError, writes: boolean): readonly [string, string] {
  if (!UNKNOWN_CODES.has(code)) return [CHANGED_NOTHING, ""];
  const drover = "The Drover server cannot be reached, or did not answer in time.";
  if (!writes) return [drover, "Repeat the call later."];
  const unknown = `${drover} It is unknown whether the call took effect.`;
  return [unknown, "Repeat it later with the same arguments: that does it once."];
}

function cut(text: string): string {
  const shown = visible(text.slice(0, messageCharsMax));
  return text.length > messageCharsMax ? `${shown}…` : shown;
}
