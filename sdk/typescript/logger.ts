/**
 * Where the SDK says what it does: the shape of pino, so that a pino logger fits as it is.
 *
 * Without one, only what a person must act on is said, as a warning of the process.
 */

import type { Task } from "@drover/proto/drover/v1/task_pb.ts";

export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What every line about an attempt has, in the SDKs of all languages. */
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

export const quietLogger: Logger = Object.freeze({
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error(fields: object, message: string): void {
    process.emitWarning(`${message} ${JSON.stringify(fields)}`, { type: "DroverWarning" });
  },
});
