// The lines that handlers have logged. No decision of the engine reads them.
import type { LogEnd, StoredLine } from "../core/log-lines.ts";
import type { TaskKind } from "../core/model/attempt.ts";
import type { RunId } from "./run-head.ts";

/** A task by what its token contains. */
export interface LoggingTask {
  readonly runId: RunId;
  /** The step key. */
  readonly step: number;
  readonly task: TaskKind;
  readonly fence: number;
  readonly secret: string;
}

/** One attempt at a step. */
export interface AttemptRef {
  readonly step: number;
  readonly kind: TaskKind;
  readonly fence: number;
  /** The number of a verify, else 0. */
  readonly n: number;
}

/** The attempt of a task, while it runs or after its end. */
export interface LoggingAttempt extends AttemptRef {
  readonly runId: RunId;
  readonly attempt: number;
  readonly definitionId: number;
  readonly namespaceId: number;
  /** How long ago it ended, in milliseconds; null: an agent holds the task. */
  readonly endedMsAgo: number | null;
}

/** Decides which lines of an attempt are stored after those that are. */
export interface LogAppend {
  readonly attempt: LoggingAttempt;
  readonly linesAfter: (end: LogEnd) => readonly StoredLine[];
}

export interface LogRecord extends StoredLine, AttemptRef {
  /** Grows in the order in which the lines of a run became visible. */
  readonly id: number;
  readonly attempt: number;
}

interface LogPage {
  readonly runId: RunId;
  /** null: all attempts at all steps, in the order of their ids. Else by the number of the line. */
  readonly attempt: AttemptRef | null;
  /** The id, or the number of the line, of the last one that was read; 0: none. */
  readonly after: number;
  readonly limit: number;
}

export interface HandlerLogs {
  /** In the order of the tasks; null: there is no such attempt, or it ended long ago. */
  attempts(tasks: readonly LoggingTask[]): Promise<readonly (LoggingAttempt | null)[]>;
  /** Stores lines; returns the end of each log. Two calls about one run wait for each other. */
  append(appends: readonly LogAppend[]): Promise<readonly LogEnd[]>;
  lines(page: LogPage): Promise<readonly LogRecord[]>;
}
