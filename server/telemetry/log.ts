// Logs: one JSON line for each event, with the ids of what it is about and never a payload. On a
// terminal the same lines are printed for people.
import { type DestinationStream, type Logger, pino } from "pino";
import pretty from "pino-pretty";
import type { ServerConfig } from "../config.ts";

export function createLog(config: Pick<ServerConfig, "logLevel" | "logPretty">): Logger {
  const options = { level: config.logLevel, base: null };
  if (!config.logPretty) return pino(options, pino.destination({ dest: 2, sync: true }));
  const stream: DestinationStream = pretty({
    destination: 2,
    sync: true,
    translateTime: "HH:MM:ss.l",
    ignore: "pid,hostname,event",
    messageFormat: "{event} {msg}",
  });
  return pino(options, stream);
}
