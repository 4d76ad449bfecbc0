// What a database error means for the caller: repeat the batch, a lost connection, a database that
// lacks something that only its operator can give it, or a defect.
import pg from "pg";
import { DroverError } from "../../errors.ts";

const STATEMENT_TIMEOUT = "57014";
/** 40001 serialization failure, 40P01 deadlock, 55P03 lock timeout. */
const RETRYABLE = new Set(["40001", "40P01", "55P03", STATEMENT_TIMEOUT]);
/** Class 53: no room on the disk, no memory. */
const LACKS_CLASS = "53";
/** The disk failed to read or write. */
const IO_ERROR = "58030";
/** Too many connections; the server is starting or stopping, or it has ended the session. */
const LOST_CODES = new Set(["53300", "57P01", "57P02", "57P03", "57P05", "25P03", "25006"]);
const LOST_SYSTEM_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOENT",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);
/** "Marked as essential": a node of Citus is away, and the statement was to change all nodes. */
const LOST_MESSAGE =
  /marked as essential|Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed|not queryable/;

function codeOf(error: unknown): string | null {
  if (error instanceof pg.DatabaseError) return error.code ?? null;
  if (error instanceof Error && "code" in error && typeof error.code === "string")
    return error.code;
  return null;
}

/** The batch changed nothing and may be sent again as it is. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof DroverError) return error.metadata.fate === ROLLED_BACK;
  return error instanceof pg.DatabaseError && RETRYABLE.has(error.code ?? "");
}

/** An optimistic transaction was decided by outdated knowledge, and has changed nothing. */
export function isOutdated(error: unknown): boolean {
  return codeOf(error) === "DR001";
}

/** An earlier statement has failed the transaction. */
export function isRefused(error: unknown): boolean {
  return codeOf(error) === "25P02";
}

/** The connection or the server is lost: whether the last statement took effect is not known. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  if (
    code !== null &&
    (LOST_CODES.has(code) || LOST_SYSTEM_CODES.has(code) || code.startsWith("08"))
  )
    return true;
  if (error instanceof AggregateError) return error.errors.some(isConnectionLost);
  return error instanceof Error && LOST_MESSAGE.test(error.message);
}

/** The database is there, and cannot do this now. The statement changed nothing. */
function isWithoutMeans(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError) || isConnectionLost(error)) return false;
  return error.code === IO_ERROR || error.code?.startsWith(LACKS_CLASS) === true;
}

const RETRY_AFTER_MS = 1_000;

const ROLLED_BACK = "rolled-back";

/** The answer of a COMMIT was lost, and it is known that it did not take effect. */
export function rolledBack(cause: unknown): DroverError {
  return new DroverError(
    "STORE_UNAVAILABLE",
    "the connection to the database was lost before this call took effect: repeat it",
    { retryAfterMs: RETRY_AFTER_MS, metadata: { fate: ROLLED_BACK }, cause },
  );
}

/**
 * Wraps an error of the connection, and of a database that lacks room or memory, so that callers
 * learn when to repeat the call; others stay as they are.
 */
export function storeFailure(error: unknown): unknown {
  if (isWithoutMeans(error))
    return new DroverError(
      "STORE_UNAVAILABLE",
      `the database cannot store or read now (${error.message}); this call took no effect: repeat it when the database works again`,
      { retryAfterMs: RETRY_AFTER_MS, cause: error },
    );
  if (!isConnectionLost(error)) return error;
  return new DroverError(
    "STORE_UNAVAILABLE",
    "the database does not answer; whether this call took effect is not known: repeat it",
    { retryAfterMs: RETRY_AFTER_MS, cause: error },
  );
}

/** For reads by people: a statement timeout says that too much was asked for; it is no defect. */
export function readFailure(error: unknown): unknown {
  if (codeOf(error) !== STATEMENT_TIMEOUT) return storeFailure(error);
  return new DroverError(
    "OVERLOADED",
    "the query took longer than its time limit: ask for less, such as a shorter time or one workflow, or repeat it later",
    { retryAfterMs: RETRY_AFTER_MS, cause: error },
  );
}

/** For `catch`: fails with `readFailure`. */
export function throwReadFailure(error: unknown): never {
  throw readFailure(error);
}
