// Validates a request before a handler sees it: the rules of the proto, the limits of payloads, and
// no unknown fields in a definition. A problem below an item of a batch becomes that item's answer;
// any other problem fails the call, and then no part of the call is done.
import { type DescMessage, isMessage, type Message } from "@bufbuild/protobuf";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import { PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import {
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { DroverError, FieldProblem } from "../../errors.ts";
import { refusal } from "./errors.ts";
import { createFinder } from "./message-walk.ts";
import { DEFAULT_NAMESPACE } from "./namespace-names.ts";
import { payloadProblem } from "./payload.ts";
import { withoutPlainItems } from "./plain-items.ts";
import { matchesProtoPattern } from "./proto-pattern.ts";
import { itemOf, problemOf } from "./violation.ts";

/** By index in the batch. */
export type ItemErrors = ReadonlyMap<number, DroverError>;

export interface RequestCheck {
  /** Throws what is wrong with the call; returns what is wrong with its items. */
  check(desc: DescMessage, message: Message, itemField: string | null): ItemErrors;
  /** The same for a definition that came as a text: every problem is INVALID_DEFINITION. */
  checkDefinition(definition: WorkflowDefinition): void;
  /** The first use of a type's rules takes about 100 ms; this call takes that time in advance. */
  warm(desc: DescMessage, empty: Message): void;
}

/** `ofNamespace`: the payload limit that a namespace has set; null: the limit of `limits`. */
export function createRequestCheck(
  limits: { readonly payloadBytesMax: number },
  ofNamespace: (name: string) => number | null = () => null,
): RequestCheck {
  const validator = createValidator({ regexMatch: matchesProtoPattern });
  const payloads = createFinder(PayloadSchema);
  const definitions = createFinder(WorkflowDefinitionSchema);
  const everything = createFinder("every");

  function violations(desc: DescMessage, message: Message): readonly Violation[] {
    const result = validator.validate(desc, message);
    if (result.kind === "error") throw result.error;
    return result.kind === "invalid" ? result.violations : [];
  }

  /** Throws what is wrong with the call; adds what is wrong with an item to `errors`. */
  function refuseUnknownFields(
    desc: DescMessage,
    message: Message,
    itemField: string | null,
    errors: Map<number, DroverError>,
  ): void {
    const problems: FieldProblem[] = [];
    definitions.find(desc, message, (definition, at) => {
      everything.find(WorkflowDefinitionSchema, definition, (part, below) => {
        for (const field of part.$unknown ?? [])
          problems.push({
            path: [at(), below()].filter((piece) => piece !== "").join("."),
            message: `field number ${field.no} is unknown: leave it out, or use a newer server`,
          });
      });
    });
    const itemsOf = Map.groupBy(problems, ({ path }) =>
      itemField === null ? null : itemIndex(path, itemField),
    );
    for (const [item, of] of itemsOf) {
      const error = refusal("INVALID_DEFINITION", of);
      if (item === null) throw error;
      errors.set(item, error);
    }
  }

  function payloadErrors(desc: DescMessage, message: Message, itemField: string | null) {
    const errors = new Map<number, DroverError>();
    const bytesMax = ofNamespace(namespaceOf(message)) ?? limits.payloadBytesMax;
    payloads.find(desc, message, (found, path) => {
      const error = isMessage(found, PayloadSchema) && payloadProblem(found, path, bytesMax);
      if (!error) return;
      const item = itemField === null ? null : itemIndex(path(), itemField);
      if (item === null) throw error;
      if (!errors.has(item)) errors.set(item, error);
    });
    return errors;
  }

  function check(desc: DescMessage, message: Message, itemField: string | null): ItemErrors {
    const unknown = new Map<number, DroverError>();
    refuseUnknownFields(desc, message, itemField, unknown);
    const ofCall: FieldProblem[] = [];
    const ofItems = new Map<number, FieldProblem[]>();
    for (const violation of violations(desc, withoutPlainItems(message))) {
      const problem = problemOf(message, violation);
      const item = itemField === null ? null : itemOf(violation, itemField);
      if (item === null) ofCall.push(problem);
      else ofItems.set(item, [...(ofItems.get(item) ?? []), problem]);
    }
    if (ofCall.length > 0) throw refusal("INVALID_REQUEST", ofCall);
    const errors = payloadErrors(desc, message, itemField);
    for (const [item, problems] of ofItems) errors.set(item, refusal("INVALID_REQUEST", problems));
    for (const [item, error] of unknown) errors.set(item, error);
    return errors;
  }

  function checkDefinition(definition: WorkflowDefinition): void {
    const problems = violations(WorkflowDefinitionSchema, definition).map((violation) =>
      problemOf(definition, violation),
    );
    if (problems.length > 0) throw refusal("INVALID_DEFINITION", problems);
    payloadErrors(WorkflowDefinitionSchema, definition, null);
  }

  return Object.freeze({
    check,
    checkDefinition,
    warm: (desc: DescMessage, empty: Message) => void violations(desc, empty),
  });
}

/** "": the request has no namespace. */
function namespaceOf(message: Message): string {
  if (!("namespace" in message) || typeof message.namespace !== "string") return "";
  return message.namespace === "" ? DEFAULT_NAMESPACE : message.namespace;
}

function itemIndex(path: string, itemField: string): number | null {
  const found = /^([a-z_]+)\[(\d+)\]/.exec(path);
  return found?.[1] === itemField ? Number(found[2]) : null;
}
