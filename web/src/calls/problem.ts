// What went wrong with a call, for a person: what is wrong, and what to do next. One table.
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "@drover/proto/google/rpc/error_details_pb.ts";

export interface Problem {
  /**
   * unreachable: nobody answered, or only to say "not now"; it is tried again by itself.
   * busy: it was too much, of this or of all together; less, or later, may be done.
   * token: the server wants to know who calls. missing: what was asked for is not there.
   * refused: anything else; trying again changes nothing.
   */
  readonly kind: "unreachable" | "busy" | "token" | "missing" | "refused";
  /** Stable name of the reason; empty: it has none. */
  readonly reason: string;
  readonly message: string;
  readonly next: string;
  /** What is wrong with which field of the request. */
  readonly fields: readonly { readonly path: string; readonly message: string }[];
}

const nextByReason: Readonly<Record<string, string>> = {
  RUN_NOT_FOUND: "Check its id; runs that ended long ago are removed. Look for it under Runs.",
  NAMESPACE_NOT_FOUND: "Choose another namespace at the top of the navigation.",
  WORKFLOW_NOT_FOUND: "Look under Workflows for what is registered.",
  ESCALATION_NOT_FOUND: "Look under Escalations for the questions that there are.",
  RUN_STATE: "The run has moved on meanwhile: look at its state now.",
  ESCALATION_CLOSED: "Somebody or something has answered it: nothing is left to do here.",
  ESCALATION_CLAIMED: "Ask them, or take it over.",
  ANSWER_NOT_ALLOWED: "The run has moved on: choose one of the answers it takes now.",
  COUNT_MISMATCH: "Runs have come or gone since they were counted: count again.",
  PAGE_TOKEN_INVALID: "Load the list again from its start.",
};

export function problemOf(error: unknown): Problem {
  const failure = ConnectError.from(error);
  const info = failure.findDetails(ErrorInfoSchema)[0];
  const reason = info?.domain === "drover" ? info.reason : "";
  const fields = failure
    .findDetails(BadRequestSchema)
    .flatMap((detail) => detail.fieldViolations)
    .map(({ field, description }) => ({ path: field, message: description }));
  const told = { reason, fields, message: failure.rawMessage };
  switch (failure.code) {
    case Code.Unauthenticated:
      return { ...told, kind: "token", next: "Give a token that the server knows." };
    case Code.PermissionDenied: {
      const next = "Ask for a token that may do this; another tab asks for it anew.";
      return { ...told, kind: "token", next };
    }
    case Code.NotFound:
      return { ...told, kind: "missing", next: nextByReason[reason] ?? "Check its name." };
    case Code.Unavailable:
    case Code.Aborted:
    case Code.Canceled:
    case Code.DeadlineExceeded:
      return { ...told, kind: "unreachable", next: "It is tried again by itself." };
    case Code.ResourceExhausted:
      // Limits that somebody has set answer with the same code.
      return reason === "OVERLOADED"
        ? { ...told, kind: "busy", next: "Try it again in a moment." }
        : refusedAs(told);
    case Code.Unknown:
      return isNetworkFailure(failure) ? unreachable : refusedAs(told);
    default:
      return refusedAs(told);
  }
}

const unreachable: Problem = {
  kind: "unreachable",
  reason: "",
  message: "The server does not answer.",
  next: "It is tried again by itself; see whether the server runs.",
  fields: [],
};

/** What fetch throws when there is nobody, and what a stream throws that was cut. */
function isNetworkFailure({ cause, rawMessage }: ConnectError): boolean {
  if (cause instanceof TypeError) return true;
  return /fetch|network|load failed|missing endstream|protocol error|premature/i.test(rawMessage);
}

function refusedAs(told: Omit<Problem, "kind" | "next">): Problem {
  const next = nextByReason[told.reason] ?? "Correct it and try again.";
  return { ...told, kind: "refused", next };
}
