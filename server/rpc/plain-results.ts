// A busy agent reports hundreds of successes in a call, and judging each by the rules of the proto
// took a tenth of what a server allocates. So one stands for all those that cannot break a rule.
// What is plain here has to be right there: a property test holds that.
import { isMessage, type Message } from "@bufbuild/protobuf";
import {
  type CompleteRequest,
  CompleteRequestSchema,
  type TaskResult,
} from "@drover/proto/drover/v1/agent_service_pb.ts";

/** Limits of the proto: results of a call, characters of a token, bytes of a JSON text. */
const RESULTS_MAX = 1_000;
const TOKEN_MAX = 512;
const JSON_BYTES_MAX = 2 * 1024 * 1024;
/** A character of JavaScript is at most so many of UTF-8. */
const CHARACTER_BYTES_MAX = 3;

/** The request with one of its results, where all are plain; else as it is. */
export function withoutPlainResults(message: Message): Message {
  if (!isMessage(message, CompleteRequestSchema)) return message;
  const { results } = message;
  if (results.length < 2 || results.length > RESULTS_MAX || !results.every(isPlain)) return message;
  const brief: CompleteRequest = { ...message, results: results.slice(0, 1) };
  return brief;
}

/** A success with no output, or a JSON text. */
export function isPlain({ taskToken, outcome }: TaskResult): boolean {
  if (taskToken.length === 0 || taskToken.length > TOKEN_MAX) return false;
  if (outcome?.kind.case !== "success") return false;
  const { output } = outcome.kind.value;
  if (output === undefined) return true;
  const { contentType, body } = output;
  if (contentType !== "" && contentType !== "application/json") return false;
  if (body.case !== "json") return false;
  return body.value.length > 0 && body.value.length * CHARACTER_BYTES_MAX <= JSON_BYTES_MAX;
}
