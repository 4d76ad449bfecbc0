// Logs: one JSON line for each event, with the ids of its subject and never a payload. On a
// terminal the same lines are formatted for people.
import { type DestinationStream, type Logger, pino } from "pino";
import pretty from "pino-pretty";
import type { LogConfig } from "../config.ts";

const STDERR = 2;
/** Fields that may hold headers: a caller's credentials must not be in the log. */
const REDACTED = ["authorization", "*.authorization", "*.*.authorization"];

export function createLog(config: LogConfig): Logger {
  const redact = { paths: REDACTED, censor: "***" };
  const options = { level: config.level, base: null, redact };
  if (!config.pretty) return pino(options, pino.destination({ dest: STDERR, sync: true }));
  const stream: DestinationStream = pretty({
    destination: STDERR,
    sync: true,
    translateTime: "HH:MM:ss.l",
    ignore: "event",
    messageFormat: "{event} {msg}",
  });
  return pino(options, stream);
}
