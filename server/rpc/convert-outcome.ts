// How a task ended, from the wire to the core, and the digest by which a repeated report is known.
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  FailureClass,
  type Outcome as OutcomeMessage,
  OutcomeSchema,
} from "@drover/proto/drover/v1/task_pb.ts";
import type { Outcome } from "../core/model.ts";
import { DroverError } from "../errors.ts";
import { payloadFrom } from "./payload.ts";

export type ReportedOutcome = Exclude<Outcome, { kind: "undelivered" }>;

const UNKNOWN_CODE = "drover.unknown";

/** `path` as in `results[3].outcome`. Throws NOT_SUPPORTED for what this engine cannot do yet. */
export function outcomeFrom({ kind }: OutcomeMessage, path: string): ReportedOutcome {
  switch (kind.case) {
    case "success":
      return { kind: "success", output: payloadFrom(kind.value.output) };
    case "failed":
      return {
        kind: "failure",
        class: kind.value.failureClass === FailureClass.PERMANENT ? "permanent" : "transient",
        code: kind.value.code,
        message: kind.value.message,
        retryAfterMs: kind.value.retryAfter ? durationMs(kind.value.retryAfter) : null,
        noEffect: kind.value.noEffect,
      };
    case "unknown":
      return {
        kind: "unknown",
        code: kind.value.code === "" ? UNKNOWN_CODE : kind.value.code,
        message: kind.value.message,
      };
    case "released":
      return { kind: "released" };
    case "cancelled":
      return { kind: "cancelled", noEffect: kind.value.noEffect };
    case "again":
    case "deferred":
      throw notSupported(`${path}.${kind.case}`, kind.case);
    case undefined:
      throw notSupported(path, "an outcome of a newer version");
  }
}

function notSupported(path: string, what: string): DroverError {
  const message = `${what} is not supported yet: report another outcome`;
  return new DroverError("NOT_SUPPORTED", `${path}: ${message}`, { fields: [{ path, message }] });
}

/** SHA-256, hex, of the outcome as sent: fields in their order, payload bytes as they are. */
export function outcomeDigest(message: OutcomeMessage): string {
  return createHash("sha256").update(toBinary(OutcomeSchema, message)).digest("hex");
}
