// A busy agent reports hundreds of successes in a call, and sends heartbeats for hundreds of tasks
// in another. Validating each item by the rules of the proto took an eighth of what a server
// allocates, so one item is validated in place of all items that cannot break a rule. An item that
// is plain here must be valid by those rules: a property test ensures that.
import { isMessage, type Message } from "@bufbuild/protobuf";
import {
  type CompleteRequest,
  CompleteRequestSchema,
  type HeartbeatReport,
  type HeartbeatRequest,
  HeartbeatRequestSchema,
  type TaskResult,
} from "@drover/proto/drover/v1/agent_service_pb.ts";

/** Limits of the proto: items of a call, characters of a token, bytes of a JSON text. */
const ITEMS_MAX = 1_000;
const TOKEN_MAX = 512;
const JSON_BYTES_MAX = 2 * 1024 * 1024;
/** One UTF-16 unit of JavaScript is at most 3 bytes of UTF-8. */
const CHARACTER_BYTES_MAX = 3;

/** The request with one of its items, if all are plain; otherwise unchanged. */
export function withoutPlainItems(message: Message): Message {
  if (isMessage(message, CompleteRequestSchema) && arePlain(message.results, isPlainResult)) {
    const brief: CompleteRequest = { ...message, results: message.results.slice(0, 1) };
    return brief;
  }
  if (isMessage(message, HeartbeatRequestSchema) && arePlain(message.reports, isPlainReport)) {
    const brief: HeartbeatRequest = { ...message, reports: message.reports.slice(0, 1) };
    return brief;
  }
  return message;
}

function arePlain<Item>(items: readonly Item[], isPlain: (item: Item) => boolean): boolean {
  return items.length > 1 && items.length <= ITEMS_MAX && items.every(isPlain);
}

/** A success with no output, or with a JSON text. */
export function isPlainResult({ taskToken, outcome }: TaskResult): boolean {
  if (!isPlainToken(taskToken) || outcome?.kind.case !== "success") return false;
  const { output, outputProblem } = outcome.kind.value;
  if (outputProblem !== "") return false;
  if (output === undefined) return true;
  const { contentType, body } = output;
  if (contentType !== "" && contentType !== "application/json") return false;
  if (body.case !== "json") return false;
  return body.value.length > 0 && body.value.length * CHARACTER_BYTES_MAX <= JSON_BYTES_MAX;
}

/** A report that says only that the task is still running. */
export function isPlainReport({ taskToken, progress, details }: HeartbeatReport): boolean {
  return isPlainToken(taskToken) && progress === undefined && details === undefined;
}

function isPlainToken(token: string): boolean {
  return token.length > 0 && token.length <= TOKEN_MAX;
}
