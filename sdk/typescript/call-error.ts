/**
 * Why a call, or one item of a call, was refused: the status, with the details that the server
 * attached as google.rpc messages.
 *
 * Three kinds of errors matter to a caller:
 * - unknown: it is not known whether the call took effect; repeat it;
 * - later: nothing was changed, and the call may work after `retryAfterMs`;
 * - definite: nothing was changed, and a repeat fails again unless something else changes.
 */
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "@drover/proto/google/rpc/error_details_pb.ts";
import { type Status, StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import { fromDuration } from "./duration.ts";
import { type ErrorReason, readReason } from "./error-reason.ts";

const callCodes = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

export type CallCode = (typeof callCodes)[number];

export interface CallField {
  /** Path in the request, such as `definition.steps[2].needs[0]`. */
  readonly path: string;
  readonly message: string;
}

export class DroverCallError extends Error {
  readonly code: CallCode;
  /**
   * Stable name, see ErrorReason; UNSPECIFIED: one of a newer server, which this SDK does not know;
   * empty: the error was not made by a Drover server.
   */
  readonly reason: ErrorReason | "";
  readonly fields: readonly CallField[];
  readonly metadata: Readonly<Record<string, string>>;
  /** How long to wait before the call is repeated; null if the server did not say. */
  readonly retryAfterMs: number | null;

  constructor(code: CallCode, message: string, details: CallErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "DroverCallError";
    this.code = code;
    this.reason = details.reason ?? "";
    this.fields = details.fields ?? [];
    this.metadata = details.metadata ?? {};
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

export interface CallErrorDetails {
  readonly reason?: ErrorReason | "";
  readonly fields?: readonly CallField[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export type CallOutcome = "unknown" | "later" | "definite";

const unknownCodes: ReadonlySet<CallCode> = new Set([
  "UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "CANCELLED",
  "INTERNAL",
  "UNKNOWN",
]);

export function callOutcomeOf(error: DroverCallError): CallOutcome {
  if (unknownCodes.has(error.code)) return "unknown";
  return error.code === "RESOURCE_EXHAUSTED" && error.retryAfterMs !== null ? "later" : "definite";
}

/**
 * Whether the error of a whole Complete is about its results, which only a Drover server can say.
 * Any other error is about the call, and says nothing about the tasks.
 */
export function isAboutResults({ code, reason, fields }: DroverCallError): boolean {
  if (reason === "MESSAGE_TOO_LARGE") return true;
  const named = fields.some(({ path }) => path.startsWith("results["));
  return code === "INVALID_ARGUMENT" && reason !== "" && named;
}

/** The error of a status; its code must not be OK. */
export function callErrorOfStatus(status: Status, cause?: unknown): DroverCallError {
  let details: CallErrorDetails = cause === undefined ? {} : { cause };
  for (const detail of status.details) {
    const info = anyUnpack(detail, ErrorInfoSchema);
    if (info?.domain === "drover")
      details = { ...details, reason: readReason(info.reason), metadata: info.metadata };
    const bad = anyUnpack(detail, BadRequestSchema);
    if (bad !== undefined) {
      const fields = bad.fieldViolations.map((v) => ({ path: v.field, message: v.description }));
      details = { ...details, fields };
    }
    const retry = anyUnpack(detail, RetryInfoSchema);
    if (retry?.retryDelay !== undefined) {
      details = { ...details, retryAfterMs: fromDuration(retry.retryDelay) };
    }
  }
  return new DroverCallError(callCodes[status.code] ?? "UNKNOWN", status.message, details);
}

/**
 * The error that gRPC rejects with: a code, a text, and usually the whole status in the trailers.
 */
export interface GrpcFailure {
  readonly code: number;
  readonly details: string;
  readonly metadata: { get(key: string): (string | Buffer)[] };
}

export function callErrorOfGrpc(failure: GrpcFailure): DroverCallError {
  const code = callCodes[failure.code] ?? "UNKNOWN";
  const [packed] = failure.metadata.get("grpc-status-details-bin");
  if (packed instanceof Buffer) {
    try {
      const status = fromBinary(StatusSchema, packed);
      if (status.code === failure.code) return callErrorOfStatus(status, failure);
    } catch {
      // Details that cannot be read do not change the meaning of the code.
    }
  }
  return new DroverCallError(code, failure.details, { cause: failure });
}
