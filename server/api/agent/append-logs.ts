// AppendLogs: the lines that handlers log, converted for the dispatcher.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type {
  AppendLogsAnswerSchema,
  LogText as LogTextMessage,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { LogLevel } from "@drover/proto/drover/v1/task_pb.ts";
import type { LogText, LogLevel as Severity } from "../../core/log-lines.ts";
import type { LinesAnswer } from "../../dispatch/dispatcher.ts";
import type { DroverError } from "../../errors.ts";
import { toStatus } from "../calls/errors.ts";

export const LOG_LEVELS: Readonly<Record<Severity, LogLevel>> = Object.freeze({
  debug: LogLevel.DEBUG,
  info: LogLevel.INFO,
  warn: LogLevel.WARN,
  error: LogLevel.ERROR,
});

export function logTextFrom({ time, level, message, fields }: LogTextMessage): LogText {
  if (!time) throw new Error("a line without a time has passed the rules");
  return { at: Math.floor(timestampMs(time)), level: severityOf(level), message, fields };
}

/** A level that this version does not know is information. */
function severityOf(level: LogLevel): Severity {
  switch (level) {
    case LogLevel.DEBUG:
      return "debug";
    case LogLevel.WARN:
      return "warn";
    case LogLevel.ERROR:
      return "error";
    default:
      return "info";
  }
}

type AnswerInit = MessageInitShape<typeof AppendLogsAnswerSchema>;

export function linesAnswer(answer: LinesAnswer): AnswerInit {
  return answer.kind === "stored" ? { status: {}, full: answer.full } : linesError(answer.error);
}

export function linesError(error: DroverError): AnswerInit {
  return { status: toStatus(error) };
}
