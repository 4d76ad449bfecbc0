// Converts the outcome of a task from protobuf to the core, and computes the digest by which a
// repeated report is recognized.
import { hash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  FailureClass,
  type Outcome as OutcomeMessage,
  OutcomeSchema,
} from "@drover/proto/drover/v1/task_pb.ts";
import type { TaskKind } from "../../core/model/attempt.ts";
import { OUTPUT_LOST } from "../../core/model/evaluator.ts";
import type { Reported } from "../../core/model/event.ts";
import { payloadFrom } from "../calls/payload.ts";

const UNKNOWN_CODE = "drover.unknown";

/** The message has passed the validation rules of the proto. */
export function outcomeFrom({ kind }: OutcomeMessage, task: TaskKind): Reported {
  switch (kind.case) {
    case "success":
      // A compensation that succeeded stays a success: nothing reads its output, so
      // `output_problem` does not matter.
      if (task === "compensate") return { kind: "success", output: payloadFrom(kind.value.output) };
      return endFrom(kind);
    case "failed":
      return endFrom(kind);
    case "unknown":
      return {
        kind: "unknown",
        code: kind.value.code === "" ? UNKNOWN_CODE : kind.value.code,
        message: kind.value.message,
      };
    case "again":
      return { kind: "again", afterMs: kind.value.after ? durationMs(kind.value.after) : 0 };
    case "deferred":
      return { kind: "deferred" };
    case "released":
      return { kind: "released" };
    case "cancelled":
      return { kind: "cancelled", noEffect: kind.value.noEffect };
    case undefined:
      throw new Error("an outcome without a kind has passed the rules");
  }
}

type EndMessage = Extract<OutcomeMessage["kind"], { case: "success" | "failed" }>;

/** The outcomes that a callback may report, too. */
export function endFrom(kind: EndMessage): Extract<Reported, { kind: "success" | "failure" }> {
  if (kind.case === "success") {
    const { output, outputProblem } = kind.value;
    return outputProblem === ""
      ? { kind: "success", output: payloadFrom(output) }
      : outputLost(outputProblem);
  }
  const { failureClass, code, message, retryAfter, noEffect } = kind.value;
  return {
    kind: "failure",
    class: failureClass === FailureClass.PERMANENT ? "permanent" : "transient",
    code,
    message,
    retryAfterMs: retryAfter ? durationMs(retryAfter) : null,
    noEffect,
  };
}

/** The work is done, but its output cannot be sent. A retry would not change that. */
function outputLost(message: string): Extract<Reported, { kind: "failure" }> {
  return {
    kind: "failure",
    class: "permanent",
    code: OUTPUT_LOST,
    message,
    retryAfterMs: null,
    noEffect: false,
  };
}

/** 128 bits of SHA-256 in hex: enough to tell a repeated report from a different one. */
const DIGEST_DIGITS = 32;

/** Covers the outcome as sent: fields in the order of their numbers, payload bytes unchanged. */
export function outcomeDigest(message: OutcomeMessage): string {
  return hash("sha256", toBinary(OutcomeSchema, message), "hex").slice(0, DIGEST_DIGITS);
}
