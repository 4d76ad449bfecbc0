// Triggers as a message or as a text, and everything that is wrong with one: first the validation
// rules of the proto, then its expressions.
import {
  TriggerDefinitionSchema,
  type TriggerDefinition as TriggerMessage,
} from "@drover/proto/drover/v1/trigger_pb.ts";
import type { TriggerDefinition } from "../../core/definition/trigger.ts";
import { parseDefinitionText } from "../../definition-text/workflow-text.ts";
import { DroverError, type FieldProblem } from "../../errors.ts";
import type { TriggerMapping } from "../../expressions/trigger-mapping.ts";
import type { TriggerWork } from "../../integrations/triggers/trigger-work.ts";
import { refusal } from "../calls/errors.ts";
import type { RequestCheck } from "../calls/request-check.ts";
import { triggerFrom } from "./convert-trigger.ts";

interface TriggerDefinitionDeps {
  readonly check: Pick<RequestCheck, "check">;
  readonly triggers: Pick<TriggerWork, "compile">;
}

export interface SoundTrigger {
  readonly definition: TriggerDefinition;
  readonly mapping: TriggerMapping;
}

/** For a request's field `definition`, which has passed the validation rules of the proto. */
export function triggerOfMessage(
  { triggers }: TriggerDefinitionDeps,
  message: TriggerMessage,
): SoundTrigger {
  return sound(triggers, triggerFrom(message), (path, place) => ({
    path: `definition.${path}`,
    at: place,
  }));
}

/** Each problem names line and column of the text. */
export function triggerOfText(
  { check, triggers }: TriggerDefinitionDeps,
  text: string,
): SoundTrigger {
  const { definition, locate } = parseDefinitionText(text, TriggerDefinitionSchema, "trigger");
  const placed = (path: string) => ({ path, at: locate(path) });
  try {
    check.check(TriggerDefinitionSchema, definition, null);
  } catch (error) {
    if (!(error instanceof DroverError)) throw error;
    const fields = error.fields.map(({ path, message }) => problemAt(placed(path), message));
    throw refusal(error.reason === "INVALID_REQUEST" ? "INVALID_DEFINITION" : error.reason, fields);
  }
  return sound(triggers, triggerFrom(definition), placed);
}

interface Place {
  readonly line: number;
  readonly column: number;
}

interface Placed {
  readonly path: string;
  readonly at: Place | null;
}

function sound(
  { compile }: Pick<TriggerWork, "compile">,
  definition: TriggerDefinition,
  placeOf: (path: string, within: Place | null) => Placed,
): SoundTrigger {
  const compiled = compile(definition);
  if (compiled.ok) return { definition, mapping: compiled.mapping };
  const fields = compiled.problems.map(({ path, message, line, column }) => {
    const within = line === undefined || column === undefined ? null : { line, column };
    return problemAt(placeOf(path, within), message);
  });
  throw refusal("INVALID_DEFINITION", fields);
}

function problemAt({ path, at }: Placed, message: string): FieldProblem {
  const where = at ? ` (line ${at.line}, column ${at.column})` : "";
  return { path, message: `${message}${where}` };
}
