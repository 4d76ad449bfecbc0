// Describes a failed call for a person: what is wrong, and what to do next. All kinds are in one
// table.
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "@drover/proto/google/rpc/error_details_pb.ts";

export interface Problem {
  /**
   * unreachable: there was no answer, or only "not now"; the call is retried automatically.
   * busy: this call, or all calls together, were too much; a smaller or later call may succeed.
   * token: the server requires a valid API token. missing: the requested object does not exist.
   * defect: the server met an internal error. refused: anything else; a retry changes nothing.
   */
  readonly kind: "unreachable" | "busy" | "token" | "missing" | "defect" | "refused";
  /** Stable name of the reason; empty: it has none. */
  readonly reason: string;
  readonly message: string;
  readonly next: string;
  /** The invalid fields of the request. */
  readonly fields: readonly { readonly path: string; readonly message: string }[];
  /** The message is about one field alone, and is shown at it. */
  readonly isAtField: boolean;
}

const nextByReason: Readonly<Record<string, string>> = {
  RUN_NOT_FOUND: "Check its id; runs that ended long ago are removed. Search for it under Runs.",
  NAMESPACE_NOT_FOUND: "Choose another namespace at the top of the navigation.",
  WORKFLOW_NOT_FOUND: "Workflows lists what is registered.",
  ESCALATION_NOT_FOUND: "Escalations lists the open ones.",
  RUN_STATE: "The state of the run has changed: check it first.",
  ESCALATION_CLOSED: "It was answered already: nothing is left to do here.",
  ESCALATION_CLAIMED: "Ask them, or take it over.",
  ANSWER_NOT_ALLOWED:
    "The state of the run has changed: choose one of the answers that it accepts now.",
  COUNT_MISMATCH: "The number of runs has changed since they were counted: count again.",
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
  const message = failure.rawMessage;
  // Of a decision: `approver` or `form`.
  const refused = reason === "DECISION_REFUSED" ? (info?.metadata.field ?? "") : "";
  const isAtField = refused !== "";
  if (isAtField) fields.push({ path: refused, message });
  const answer = { reason, fields, isAtField, message };
  switch (failure.code) {
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return tokenProblem(answer, info?.metadata ?? {});
    case Code.NotFound:
      return { ...answer, kind: "missing", next: nextByReason[reason] ?? "Check its name." };
    case Code.Unavailable:
    case Code.Aborted:
    case Code.Canceled:
    case Code.DeadlineExceeded:
      return { ...answer, kind: "unreachable", next: "The dashboard retries automatically." };
    case Code.ResourceExhausted:
      // Limits that an operator has set have the same code.
      return reason === "OVERLOADED"
        ? { ...answer, kind: "busy", next: "Try again in a few seconds." }
        : refusedAs(answer);
    case Code.Internal:
    case Code.DataLoss:
      return { ...answer, kind: "defect", next: DEFECT_NEXT };
    case Code.Unknown:
      if (isNetworkFailure(failure)) return unreachable;
      return HTTP_STATUS.test(answer.message) ? httpProblem(answer) : refusedAs(answer);
    default:
      return refusedAs(answer);
  }
}

const unreachable: Problem = {
  kind: "unreachable",
  reason: "",
  message: "The server does not answer.",
  next: "The dashboard retries automatically; check whether the server runs.",
  fields: [],
  isAtField: false,
};

/** The error of fetch if the server cannot be reached, and of a stream that was cut. */
function isNetworkFailure({ cause, rawMessage }: ConnectError): boolean {
  if (cause instanceof TypeError) return true;
  return /fetch|network|load failed|missing endstream|protocol error|premature/i.test(rawMessage);
}

/** The only information of an answer that comes from no handler of the server. */
const HTTP_STATUS = /^HTTP \d{3}$/;
const DEFECT_NEXT = "Try again; if it persists, see the log of the server.";

function httpProblem(answer: Omit<Problem, "kind" | "next">): Problem {
  const message = `The server had an internal error (${answer.message}).`;
  return { ...answer, kind: "defect", message, next: DEFECT_NEXT };
}

const tokenFaults: Readonly<Record<string, string>> = {
  missing: "This server requires an API token.",
  malformed: "This is not an API token of Drover.",
  unknown: "The server does not know this API token.",
  revoked: "This API token is revoked.",
  expired: "This token has expired.",
};

/** The server's message explains how to send a token; here a dialog asks for it. */
function tokenProblem(
  answer: Omit<Problem, "kind" | "next">,
  { why = "", token = "", role = "", needs = "" }: Readonly<Record<string, string>>,
): Problem {
  if (answer.reason === "NOT_ALLOWED" && needs !== "" && role !== "") {
    const message = `The API token "${token}" has the role "${role}", and this action needs ${needs}.`;
    const next = "Get a token that allows this, and open a new tab to enter it.";
    return { ...answer, kind: "token", message, next };
  }
  const message = tokenFaults[why] ?? answer.message;
  return { ...answer, kind: "token", message, next: "Enter a valid token." };
}

function refusedAs(answer: Omit<Problem, "kind" | "next">): Problem {
  const next = nextByReason[answer.reason] ?? "Correct it and try again.";
  return { ...answer, kind: "refused", next };
}
