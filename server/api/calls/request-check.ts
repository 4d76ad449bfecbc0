// Validates a request before a handler sees it: the rules of the proto, the limits of payloads, and
// no unknown fields in a definition. A problem below an item of a batch becomes that item's answer;
// any other problem fails the call, and then no part of the call is done.
import { type DescMessage, isMessage, type Message } from "@bufbuild/protobuf";
import { createValidator, type Validator, type Violation } from "@bufbuild/protovalidate";
import {
  type CompleteRequest,
  CompleteRequestSchema,
  type HeartbeatReport,
  HeartbeatReportSchema,
  type HeartbeatRequest,
  HeartbeatRequestSchema,
  type TaskResult,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { PayloadSchema } from "@drover/proto/drover/v1/payload_pb.ts";
import {
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { DroverError, FieldProblem } from "../../errors.ts";
import { contractMax } from "./contract-limits.ts";
import { refusal } from "./errors.ts";
import { createFinder, type Finder } from "./message-walk.ts";
import { DEFAULT_NAMESPACE } from "./namespace-names.ts";
import { payloadProblem } from "./payload.ts";
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

interface Checks {
  readonly validator: Validator;
  readonly payloads: Finder;
  readonly definitions: Finder;
  readonly everything: Finder;
  /** The limit of one payload in the namespace that the request names; "": it names none. */
  readonly payloadBytesMax: (namespace: string) => number;
}

/** `ofNamespace`: the payload limit that a namespace has set; null: the limit of `limits`. */
export function createRequestCheck(
  limits: { readonly payloadBytesMax: number },
  ofNamespace: (name: string) => number | null = () => null,
): RequestCheck {
  const checks: Checks = {
    validator: createValidator({ regexMatch: matchesProtoPattern }),
    payloads: createFinder(PayloadSchema),
    definitions: createFinder(WorkflowDefinitionSchema),
    everything: createFinder("every"),
    payloadBytesMax: (namespace) => ofNamespace(namespace) ?? limits.payloadBytesMax,
  };
  return Object.freeze({
    check: (desc: DescMessage, message: Message, itemField: string | null) =>
      check(checks, desc, message, itemField),
    checkDefinition: (definition: WorkflowDefinition) => checkDefinition(checks, definition),
    warm: (desc: DescMessage, empty: Message) => void violations(checks, desc, empty),
  });
}

function check(
  checks: Checks,
  desc: DescMessage,
  message: Message,
  itemField: string | null,
): ItemErrors {
  const unknown = unknownFieldErrors(checks, desc, message, itemField);
  const ofCall: FieldProblem[] = [];
  const ofItems = new Map<number, FieldProblem[]>();
  for (const violation of violations(checks, desc, withSampledItems(message))) {
    const problem = problemOf(message, violation);
    const item = itemField === null ? null : itemOf(violation, itemField);
    if (item === null) ofCall.push(problem);
    else ofItems.set(item, [...(ofItems.get(item) ?? []), problem]);
  }
  if (ofCall.length > 0) throw refusal("INVALID_REQUEST", ofCall);
  const errors = payloadErrors(checks, desc, message, itemField);
  for (const [item, problems] of ofItems) errors.set(item, refusal("INVALID_REQUEST", problems));
  for (const [item, error] of unknown) errors.set(item, error);
  return errors;
}

function checkDefinition(checks: Checks, definition: WorkflowDefinition): void {
  const problems = violations(checks, WorkflowDefinitionSchema, definition).map((violation) =>
    problemOf(definition, violation),
  );
  if (problems.length > 0) throw refusal("INVALID_DEFINITION", problems);
  payloadErrors(checks, WorkflowDefinitionSchema, definition, null);
}

/** What breaks the rules of the proto. */
function violations(
  { validator }: Checks,
  desc: DescMessage,
  message: Message,
): readonly Violation[] {
  const result = validator.validate(desc, message);
  if (result.kind === "error") throw result.error;
  return result.kind === "invalid" ? result.violations : [];
}

/** Throws what is wrong with the call; returns what is wrong with an item. */
function unknownFieldErrors(
  checks: Checks,
  desc: DescMessage,
  message: Message,
  itemField: string | null,
): Map<number, DroverError> {
  const errors = new Map<number, DroverError>();
  const itemsOf = Map.groupBy(unknownFields(checks, desc, message), ({ path }) =>
    itemField === null ? null : itemIndex(path, itemField),
  );
  for (const [item, of] of itemsOf) {
    const error = refusal("INVALID_DEFINITION", of);
    if (item === null) throw error;
    errors.set(item, error);
  }
  return errors;
}

function unknownFields(
  { definitions, everything }: Checks,
  desc: DescMessage,
  message: Message,
): readonly FieldProblem[] {
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
  return problems;
}

/** Throws what is wrong with the call; returns what is wrong with an item. */
function payloadErrors(
  { payloads, payloadBytesMax }: Checks,
  desc: DescMessage,
  message: Message,
  itemField: string | null,
): Map<number, DroverError> {
  const errors = new Map<number, DroverError>();
  const bytesMax = payloadBytesMax(namespaceOf(message));
  payloads.find(desc, message, (found, path) => {
    const error = isMessage(found, PayloadSchema) && payloadProblem(found, path, bytesMax);
    if (!error) return;
    const item = itemField === null ? null : itemIndex(path(), itemField);
    if (item === null) throw error;
    if (!errors.has(item)) errors.set(item, error);
  });
  return errors;
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

const RESULTS_MAX = contractMax(CompleteRequestSchema, "results");
const REPORTS_MAX = contractMax(HeartbeatRequestSchema, "reports");
const TOKEN_MAX = contractMax(HeartbeatReportSchema, "task_token");
const JSON_BYTES_MAX = contractMax(PayloadSchema, "json");
/** One UTF-16 unit of JavaScript is at most 3 bytes of UTF-8. */
const CHARACTER_BYTES_MAX = 3;

/**
 * A busy agent reports hundreds of successes in a call, and sends heartbeats for hundreds of tasks
 * in another. Validating each item by the rules of the proto took an eighth of what a server
 * allocates, so one item is validated in place of all items that cannot break a rule. An item that
 * is certainly valid here must be valid by those rules: a property test ensures that.
 *
 * The request with one of its items, if all are certainly valid; otherwise unchanged.
 */
export function withSampledItems(message: Message): Message {
  if (
    isMessage(message, CompleteRequestSchema) &&
    areCertainlyValid(message.results, RESULTS_MAX, isCertainlyValidResult)
  ) {
    const sampled: CompleteRequest = { ...message, results: message.results.slice(0, 1) };
    return sampled;
  }
  if (
    isMessage(message, HeartbeatRequestSchema) &&
    areCertainlyValid(message.reports, REPORTS_MAX, isCertainlyValidReport)
  ) {
    const sampled: HeartbeatRequest = { ...message, reports: message.reports.slice(0, 1) };
    return sampled;
  }
  return message;
}

function areCertainlyValid<Item>(
  items: readonly Item[],
  itemsMax: number,
  isCertainlyValid: (item: Item) => boolean,
): boolean {
  return items.length > 1 && items.length <= itemsMax && items.every(isCertainlyValid);
}

/** A success with no output, or with a JSON text. */
export function isCertainlyValidResult({ taskToken, outcome }: TaskResult): boolean {
  if (!isCertainlyValidToken(taskToken) || outcome?.kind.case !== "success") return false;
  const { output, outputProblem } = outcome.kind.value;
  if (outputProblem !== "") return false;
  if (output === undefined) return true;
  const { contentType, body } = output;
  if (contentType !== "" && contentType !== "application/json") return false;
  if (body.case !== "json") return false;
  return body.value.length > 0 && body.value.length * CHARACTER_BYTES_MAX <= JSON_BYTES_MAX;
}

/** A report that says only that the task is still running. */
export function isCertainlyValidReport({ taskToken, progress, details }: HeartbeatReport): boolean {
  return isCertainlyValidToken(taskToken) && progress === undefined && details === undefined;
}

function isCertainlyValidToken(token: string): boolean {
  return token.length > 0 && token.length <= TOKEN_MAX;
}

/** As many patterns as the proto has. The limit refuses a rule that makes patterns of its input. */
const PATTERNS_MAX = 256;
const compiled = new Map<string, RegExp>();

/**
 * Matches the patterns of the proto with V8's own engine: RE2 in JavaScript took 7 % of all that a
 * loaded server allocates. RE2 guards against patterns of strangers, and these patterns are
 * Drover's own: a test checks for each of them that both engines agree and that it takes linear
 * time at most. Patterns that authors write in definitions still use RE2 (expressions/pattern.ts).
 */
export function matchesProtoPattern(pattern: string, text: string): boolean {
  return compileProtoPattern(pattern).test(text);
}

/** Throws if V8 cannot compile the pattern. */
export function compileProtoPattern(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known) return known;
  if (compiled.size >= PATTERNS_MAX)
    throw new Error(
      `the proto has more than ${PATTERNS_MAX} patterns, of which "${pattern.slice(0, 40)}" is one: raise PATTERNS_MAX, or let a rule use a fixed pattern`,
    );
  const made = new RegExp(withRe2Dot(pattern), "u");
  compiled.set(pattern, made);
  return made;
}

/** In RE2 a dot excludes the line feed only; in JavaScript it excludes four kinds of line ends. */
function withRe2Dot(pattern: string): string {
  const pieces = /\\.|\[(?:\\.|[^\]\\])*\]|\./gsu;
  return pattern.replace(pieces, (piece) => (piece === "." ? "[^\\n]" : piece));
}
