/**
 * The log of the SDK: it has the interface of pino, so a pino logger fits.
 *
 * Without a logger, warnings and errors are printed as warnings of the process.
 */
import { inspect } from "node:util";
import type { Task } from "@drover/proto/drover/v1/task_pb.ts";

export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Fields of every line about an attempt, the same in the SDKs of all languages. */
export function attemptFields({
  runId: run,
  stepId: step,
  attempt,
}: Pick<Task, "runId" | "stepId" | "attempt">): object {
  return { run, step, attempt };
}

/** The same log, with these fields in each line. */
export function withFields(log: Logger, fields: object): Logger {
  return Object.freeze({
    debug: (more: object, message: string) => log.debug({ ...fields, ...more }, message),
    info: (more: object, message: string) => log.info({ ...fields, ...more }, message),
    warn: (more: object, message: string) => log.warn({ ...fields, ...more }, message),
    error: (more: object, message: string) => log.error({ ...fields, ...more }, message),
  });
}

/** For a program that gives no logger: prints what may need action, as warnings of the process. */
export const warningLogger: Logger = Object.freeze({
  debug: () => undefined,
  info: () => undefined,
  warn: warnOfProcess,
  error: warnOfProcess,
});

/** As Node prints any warning, to standard error: the line, and below it the stack of `err`. */
function warnOfProcess(fields: object, message: string): void {
  const { err, ...others } = { err: undefined, ...fields };
  const detail = err === undefined ? "" : inspect(err);
  const values = inspect(others, { breakLength: Number.POSITIVE_INFINITY });
  process.emitWarning(`${message} ${values}`, { type: "DroverWarning", detail });
}
