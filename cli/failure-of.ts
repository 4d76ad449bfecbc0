/**
 * Converts a thrown error to a failure that can be shown: an error of a call, a database, or
 * another.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "@drover/proto/google/rpc/error_details_pb.ts";
import { DroverError, errorMessage } from "@drover/server/errors.ts";
import { CliFailure, type ExitCode, exitCodes } from "./failure.ts";
import { clean } from "./words.ts";

export function failureText({ message, fields, next }: CliFailure): string {
  // A single field is left out if the sentence already contains its message.
  const isRepeated =
    fields.length === 1 && fields.every((field) => message.includes(field.message));
  const lines = isRepeated
    ? []
    : fields.map(({ path, message: of }) => `  ${clean(path)}: ${clean(of)}`);
  return [`drover: ${clean(message)}`, ...lines, `  next: ${next}`, ""].join("\n");
}

/** Converts any error. `address` is the server that was, or would have been, called. */
export function failureOf(error: unknown, address: string): CliFailure {
  if (error instanceof CliFailure) return error;
  if (error instanceof ConnectError) return ofCall(error, address);
  if (error instanceof DroverError) {
    const next = "correct it and try again";
    return new CliFailure(error.message, { code: exitCodes.failed, next, fields: error.fields });
  }
  const database = ofDatabase(error);
  if (database) return database;
  const next = "drover --help, or set DROVER_DEBUG=1 to see where this came from";
  return new CliFailure(errorMessage(error), { code: exitCodes.failed, next });
}

/** The verbs that start a server or migrate connect to PostgreSQL themselves. */
function ofDatabase(error: unknown): CliFailure | null {
  if (error instanceof AggregateError) return ofDatabase(error.errors[0]);
  if (!(error instanceof Error) || !("code" in error)) return null;
  const code = String(error.code);
  const why = systemErrors[code];
  // 57P03: it is starting, recovering or stopping. 53300: it has no connection left.
  if (code === "57P03" || code === "53300")
    return new CliFailure(`the database takes no connection now: ${clean(error.message)}`, {
      code: exitCodes.unreachable,
      next: "try again in some seconds; a running server waits for its database by itself",
    });
  // 28: wrong role or password; 3D: no such database.
  if (why === undefined && !/^(28|3D)/.test(code)) return null;
  return new CliFailure(`cannot use the database: ${why ?? clean(error.message)}`, {
    code: exitCodes.unreachable,
    next: "correct DATABASE_URL or start that PostgreSQL; drover dev starts an embedded one",
  });
}

const nextByReason: Readonly<Record<string, string>> = {
  RUN_NOT_FOUND: "drover run list",
  WORKFLOW_NOT_FOUND: "drover workflow apply FILE registers one; check --version and --namespace",
  TOKEN_REQUIRED:
    "pass one by --token or DROVER_TOKEN; drover token create --in-database creates the first",
  NOT_ALLOWED:
    "pass another one by --token or DROVER_TOKEN; drover token list shows the role of each",
  TOKEN_NOT_FOUND: "drover token list --all-namespaces --ended",
  NAMESPACE_NOT_FOUND: "drover namespace list; drover namespace create NAME creates one",
  NAMESPACE_EXISTS: "drover namespace list shows its region; choose another name",
  NAMESPACE_LIMIT: "drover namespace show prints its limits; try again in a few seconds",
  RUN_STATE: "drover run show RUN prints the state of the run",
  STEP_NOT_FOUND: "drover run show RUN lists its steps with their kinds",
  DECISION_REFUSED:
    "drover approval show RUN STEP prints the approvers, and the command with the form",
  SIGNAL_UNKNOWN: "drover run why RUN prints the signal that it waits for",
  SIGNAL_LIMIT: "drover run show RUN lists its signals",
  CONCURRENCY_LIMIT: "try again when a run of the key has ended, or wait with --policy queue",
  AGENT_NOT_FOUND: "drover agent list",
  HOOK_NOT_FOUND: "drover hook list; drover hook put NAME URL --new-secret creates one",
  TRIGGER_NOT_FOUND: "drover trigger list",
  MAPPING_FAILED: "drover trigger try NAME --body '{...}' shows the result for another body",
  COUNT_MISMATCH: "count again with --dry-run",
  ESCALATION_CLAIMED: "ask that person, or take over with --anyway",
  ESCALATION_NOT_FOUND: "drover escalation list",
  ESCALATION_CLOSED: "drover escalation show RUN/N prints how it was closed",
  ANSWER_NOT_ALLOWED: "drover escalation show RUN/N lists the answers that it accepts now",
  INVALID_DEFINITION: "correct the text; drover workflow check FILE checks it without a server",
  NOT_SUPPORTED: "leave it out, or use a newer server",
  PAYLOAD_TOO_LARGE: "store the data in object storage and send its address",
  OVERLOADED: "try again in a few seconds",
  STORE_UNAVAILABLE: "try again in a few seconds; the server continues when its database is back",
  DRAINING: "try again in a few seconds, or name another server with --address",
  INTERNAL: "check the server's log, and report it with this message",
};

/**
 * Only errors of a Drover server have its ErrorInfo; without it the call did not reach the server.
 */
function ofCall(error: ConnectError, address: string): CliFailure {
  const info = error.findDetails(ErrorInfoSchema).find(({ domain }) => domain === "drover");
  if (info === undefined) return ofTransport(error, address);
  const fields = error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) =>
      fieldViolations.map(({ field, description }) => ({ path: field, message: description })),
    );
  const earlier = info.metadata.run_id;
  const next =
    info.reason === "KEY_REUSED" && earlier !== undefined
      ? `drover run show ${clean(earlier)}, or use another --key`
      : (nextByReason[info.reason] ?? "correct the request; --help lists what is allowed");
  return new CliFailure(clean(error.rawMessage), { code: exitOf(error.code), next, fields });
}

function exitOf(code: Code): ExitCode {
  switch (code) {
    case Code.NotFound:
      return exitCodes.notFound;
    case Code.Unavailable:
    case Code.DeadlineExceeded:
      return exitCodes.unreachable;
    default:
      return exitCodes.failed;
  }
}

function ofTransport(error: ConnectError, address: string): CliFailure {
  const next = "drover dev starts a server here; --address or DROVER_ADDRESS names another";
  const unreachable = (message: string) =>
    new CliFailure(message, { code: exitCodes.unreachable, next });
  switch (error.code) {
    case Code.Unavailable:
    case Code.Aborted:
      return unreachable(`cannot connect to ${address}: ${clean(causeOf(error))}`);
    case Code.DeadlineExceeded:
      return unreachable(`${address} did not answer in time`);
    default:
      return unreachable(
        `the answer of ${address} is not from a Drover server, or a proxy changed it: ${clean(error.message)}`,
      );
  }
}

const systemErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: "no process listens there",
  ENOTFOUND: "no machine has that name",
  ECONNRESET: "the connection broke",
};

function causeOf({ cause, rawMessage }: ConnectError): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return systemErrors[code] ?? rawMessage;
}
