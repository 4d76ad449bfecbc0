// Converts errors to the answer of a call: a DroverError becomes a gRPC code, one sentence, and
// details of google.rpc. One table maps each reason to its code. Any other thrown error is a defect
// of the server: it is logged, and answered INTERNAL without its inner text.
//
//   ErrorAnswer     the form between: grpc-js and Connect each send it in their own way
//   toStatus        the same as google.rpc.Status: the answer of one item of a call, and the
//                   details trailer of gRPC
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack, durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "@drover/proto/google/rpc/error_details_pb.ts";
import { type Status, StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import { DroverError, type FieldProblem, type Reason } from "../../errors.ts";

/** The details of a reason besides ErrorInfo, BadRequest (its fields) and RetryInfo (its delay). */
type Extra =
  | { readonly kind: "none" }
  | { readonly kind: "resource"; readonly type: string }
  | { readonly kind: "precondition"; readonly subject: string }
  | { readonly kind: "quota" };

interface ReasonRow {
  readonly code: Code;
  readonly extra: Extra;
  /** The retry delay, if the error itself has none. */
  readonly retryAfterMs?: number;
}

const RETRY_AFTER_MS = 1_000;

const plain = (code: Code): ReasonRow => ({ code, extra: { kind: "none" } });
const resource = (code: Code, type: string): ReasonRow => ({
  code,
  extra: { kind: "resource", type },
});
const precondition = (subject: string): ReasonRow => ({
  code: Code.FAILED_PRECONDITION,
  extra: { kind: "precondition", subject },
});

const REASONS: Readonly<Record<Reason, ReasonRow>> = Object.freeze({
  INVALID_REQUEST: plain(Code.INVALID_ARGUMENT),
  INVALID_DEFINITION: plain(Code.INVALID_ARGUMENT),
  NOT_SUPPORTED: plain(Code.INVALID_ARGUMENT),
  PAYLOAD_TOO_LARGE: { code: Code.INVALID_ARGUMENT, extra: { kind: "quota" } },
  MESSAGE_TOO_LARGE: plain(Code.RESOURCE_EXHAUSTED),
  MALFORMED_MESSAGE: plain(Code.INVALID_ARGUMENT),
  MALFORMED_TOKEN: plain(Code.INVALID_ARGUMENT),
  PAGE_TOKEN_INVALID: plain(Code.INVALID_ARGUMENT),
  DEADLINE_TOO_LONG: plain(Code.INVALID_ARGUMENT),
  NAMESPACE_NOT_FOUND: resource(Code.NOT_FOUND, "namespace"),
  WORKFLOW_NOT_FOUND: resource(Code.NOT_FOUND, "workflow"),
  RUN_NOT_FOUND: resource(Code.NOT_FOUND, "run"),
  TASK_NOT_FOUND: resource(Code.NOT_FOUND, "task"),
  KEY_REUSED: resource(Code.ALREADY_EXISTS, "run"),
  LEASE_LOST: precondition("task"),
  TASK_OVER: precondition("task"),
  RUN_STATE: precondition("run"),
  OVERLOADED: {
    code: Code.RESOURCE_EXHAUSTED,
    extra: { kind: "quota" },
    retryAfterMs: RETRY_AFTER_MS,
  },
  STORE_UNAVAILABLE: { ...plain(Code.UNAVAILABLE), retryAfterMs: RETRY_AFTER_MS },
  DRAINING: { ...plain(Code.UNAVAILABLE), retryAfterMs: RETRY_AFTER_MS },
  INTERNAL: plain(Code.INTERNAL),
  ESCALATION_NOT_FOUND: resource(Code.NOT_FOUND, "escalation"),
  STEP_NOT_FOUND: resource(Code.NOT_FOUND, "step"),
  ESCALATION_CLOSED: precondition("escalation"),
  ANSWER_NOT_ALLOWED: precondition("escalation"),
  DECISION_REFUSED: precondition("step"),
  COUNT_MISMATCH: precondition("runs"),
  NAMESPACE_LIMIT: { code: Code.RESOURCE_EXHAUSTED, extra: { kind: "quota" } },
  NAMESPACE_EXISTS: resource(Code.ALREADY_EXISTS, "namespace"),
  ESCALATION_CLAIMED: precondition("escalation"),
  HOOK_NOT_FOUND: resource(Code.NOT_FOUND, "hook"),
  TRIGGER_NOT_FOUND: resource(Code.NOT_FOUND, "trigger"),
  MAPPING_FAILED: plain(Code.INVALID_ARGUMENT),
  AGENT_NOT_FOUND: resource(Code.NOT_FOUND, "agent"),
  SIGNAL_UNKNOWN: plain(Code.INVALID_ARGUMENT),
  SIGNAL_LIMIT: { code: Code.RESOURCE_EXHAUSTED, extra: { kind: "quota" } },
  SCHEDULE_NOT_FOUND: resource(Code.NOT_FOUND, "schedule"),
  SCHEDULE_EXISTS: resource(Code.ALREADY_EXISTS, "schedule"),
  TOKEN_REQUIRED: plain(Code.UNAUTHENTICATED),
  NOT_ALLOWED: plain(Code.PERMISSION_DENIED),
  TOKEN_NOT_FOUND: resource(Code.NOT_FOUND, "token"),
  KEYS_UNAVAILABLE: {
    code: Code.UNAVAILABLE,
    extra: { kind: "none" },
    retryAfterMs: RETRY_AFTER_MS,
  },
  CONCURRENCY_LIMIT: { code: Code.RESOURCE_EXHAUSTED, extra: { kind: "quota" } },
});

const DOMAIN = "drover";
/** Proxies and some clients refuse more than 8 KiB of trailers, and base64 adds a third. */
const FIELDS_BYTES_MAX = 4_096;
const MESSAGE_CHARS_MAX = 1_024;

interface ErrorDetail {
  readonly desc: DescMessage;
  readonly value: MessageInitShape<DescMessage>;
}

interface ErrorAnswer {
  readonly code: Code;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
}

/** An error of another contract (health, reflection): it has a code, and no reason of Drover. */
export class StandardError extends Error {
  readonly code: Code;

  constructor(code: Code, message: string) {
    super(message);
    this.name = "StandardError";
    this.code = code;
  }
}

export function answerOf(error: DroverError | StandardError): ErrorAnswer {
  if (error instanceof StandardError)
    return { code: error.code, message: sentence(error.message), details: [] };
  const { code, extra, retryAfterMs } = REASONS[error.reason];
  const details: ErrorDetail[] = [
    detail(ErrorInfoSchema, {
      reason: error.reason,
      domain: DOMAIN,
      metadata: { ...error.metadata },
    }),
  ];
  if (error.fields.length > 0) details.push(badRequest(error.fields));
  const retryMs = error.retryAfterMs ?? retryAfterMs;
  if (retryMs !== undefined)
    details.push(detail(RetryInfoSchema, { retryDelay: durationFromMs(Math.ceil(retryMs)) }));
  details.push(...extraDetail(extra, error));
  return { code, message: sentence(error.message), details };
}

export function toStatus(error: DroverError | StandardError): Status {
  const { code, message, details } = answerOf(error);
  return create(StatusSchema, {
    code,
    message,
    details: details.map(({ desc, value }) => anyPack(desc, create(desc, value))),
  });
}

/** The error as callers may see it. `report` is called with an error that is a defect. */
export function visibleError(
  error: unknown,
  report: (defect: unknown) => void,
): DroverError | StandardError {
  if (error instanceof DroverError || error instanceof StandardError) return error;
  report(error);
  return new DroverError(
    "INTERNAL",
    "The server has a defect, and whether the call took effect is unknown: repeat it.",
  );
}

/** The first problem, and how many more the details list. */
export function refusal(
  reason: Reason,
  problems: readonly FieldProblem[],
  metadata: Readonly<Record<string, string>> = {},
): DroverError {
  const [first] = problems;
  if (!first) throw new Error("a refusal needs a problem");
  const more = problems.length - 1;
  const rest = more === 0 ? "" : ` (and ${more} more: see the details)`;
  const where = first.path === "" ? "" : `${first.path}: `;
  return new DroverError(reason, `${where}${first.message}${rest}`, { fields: problems, metadata });
}

function detail<Desc extends DescMessage>(desc: Desc, value: MessageInitShape<Desc>): ErrorDetail {
  return { desc, value };
}

function badRequest(fields: readonly FieldProblem[]): ErrorDetail {
  const listed: { field: string; description: string }[] = [];
  let bytes = 0;
  for (const { path, message } of fields) {
    bytes += path.length + message.length;
    if (listed.length > 0 && bytes > FIELDS_BYTES_MAX) break;
    listed.push({ field: path, description: message.toWellFormed() });
  }
  return detail(BadRequestSchema, { fieldViolations: listed });
}

function extraDetail(extra: Extra, error: DroverError): ErrorDetail[] {
  const description = sentence(error.message);
  switch (extra.kind) {
    case "none":
      return [];
    case "resource": {
      const { name, run_id: runId } = error.metadata;
      const resourceName = name ?? runId ?? "";
      return [detail(ResourceInfoSchema, { resourceType: extra.type, resourceName, description })];
    }
    case "precondition": {
      const violations = [{ type: error.reason, subject: extra.subject, description }];
      return [detail(PreconditionFailureSchema, { violations })];
    }
    case "quota":
      return [detail(QuotaFailureSchema, { violations: [{ subject: error.reason, description }] })];
  }
}

/** gRPC sends the message in a header, so it must be well-formed and of bounded length. */
function sentence(text: string): string {
  const cut = text.length > MESSAGE_CHARS_MAX ? `${text.slice(0, MESSAGE_CHARS_MAX - 1)}…` : text;
  return cut.toWellFormed();
}

/** For the trailer `grpc-status-details-bin`. */
export function statusBytes(error: DroverError | StandardError): Uint8Array {
  return toBinary(StatusSchema, toStatus(error));
}
