/**
 * The options of an agent, their defaults, and their checks: a mistake is found at the start, not
 * by a refused poll.
 */
import { type Clock, systemClock } from "./clock.ts";
import { type Codec, noCodec } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { type Duration, durationMs } from "./duration.ts";
import type { Handler } from "./handler.ts";
import { type Logger, warningLogger } from "./logger.ts";
import type { BoundHandler } from "./typed-handler.ts";

export interface AgentOptions extends Connection {
  /** Namespace to work for. Default: "default". */
  readonly namespace?: string;
  /** Name of the agent, for people; need not be unique. */
  readonly id: string;
  /** Version of the program, for people. */
  readonly version?: string;
  /** Labels, for people. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Queues to poll, by name or with a weight. Default: the queue "default". */
  readonly queues?: readonly (string | { readonly name: string; readonly weight: number })[];
  /** Maximum number of tasks at a time, 1 to 10,000. Default 10. */
  readonly slots?: number;
  /**
   * The handlers, including those of tasks that verify and undo: a list of `handle(task, ...)` for
   * defined tasks, or an object with the names of tasks that have no definition.
   */
  readonly handlers: readonly BoundHandler[] | Readonly<Record<string, Handler>>;
  /** How long running handlers may take to finish when the agent stops. Default 15 s. */
  readonly grace?: Duration;
  /**
   * How long a handler may take to end after its signal was aborted. After that the agent drains
   * without it, and `done` is rejected, so that the process can be replaced. Default 10 s.
   */
  readonly cancelGrace?: Duration;
  /** Encrypts or compresses what handlers read and write. Default: none. */
  readonly codec?: Codec;
  /** How long a poll waits for a task, 1 to 60 s. Default 30 s. */
  readonly pollWait?: Duration;
  /** Stops at SIGTERM and SIGINT; the second signal kills the process. Default false. */
  readonly handleSignals?: boolean;
  /** Log of the agent. Default: warnings and errors, as warnings of the process. */
  readonly log?: Logger;
  /** Clock, for tests. */
  readonly clock?: Clock;
}

export interface AgentSettings {
  readonly connection: Connection;
  readonly namespace: string;
  readonly id: string;
  readonly version: string;
  readonly labels: Record<string, string>;
  readonly queues: readonly { readonly name: string; readonly weight: number }[];
  readonly slots: number;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly graceMs: number;
  readonly cancelGraceMs: number;
  readonly codec: Codec;
  readonly pollWaitMs: number;
  readonly handleSignals: boolean;
  readonly log: Logger;
  readonly clock: Clock;
}

const namePattern = /^[A-Za-z0-9._-]{1,128}$/;
const handlersMax = 100;
const queuesMax = 100;
const slotsMax = 10_000;

export function checkAgentOptions(options: AgentOptions): AgentSettings {
  const handlers = handlersOf(options);
  const queues = (options.queues ?? ["default"]).map((queue) =>
    typeof queue === "string" ? { name: queue, weight: 1 } : queue,
  );
  if (options.namespace !== undefined) checkName("namespace", options.namespace);
  checkName("id", options.id);
  for (const name of handlers.keys()) checkName("name of a handler", name);
  for (const { name, weight } of queues) {
    checkName("name of a queue", name);
    checkNumber(`weight of queue ${name}`, weight, 1, 1_000);
  }
  checkNumber("number of handlers", handlers.size, 1, handlersMax);
  checkNumber("number of queues", queues.length, 1, queuesMax);
  const { slots = 10, grace = "15s", cancelGrace = "10s", pollWait = "30s" } = options;
  checkNumber("slots", slots, 1, slotsMax);
  return {
    connection: options,
    namespace: options.namespace ?? "",
    id: options.id,
    version: options.version ?? "",
    labels: { ...options.labels },
    queues,
    slots,
    handlers,
    graceMs: checkDuration("grace", grace, "0s", "1d"),
    cancelGraceMs: checkDuration("cancelGrace", cancelGrace, "0s", "1d"),
    codec: options.codec ?? noCodec,
    pollWaitMs: checkDuration("pollWait", pollWait, "1s", "1m"),
    handleSignals: options.handleSignals ?? false,
    log: options.log ?? warningLogger,
    clock: options.clock ?? systemClock,
  };
}

function handlersOf({ handlers }: AgentOptions): ReadonlyMap<string, Handler> {
  if (!(Symbol.iterator in handlers)) return new Map(Object.entries(handlers));
  const byName = new Map<string, Handler>();
  for (const { task, handler } of handlers) {
    if (byName.has(task.name))
      throw new TypeError(`The task "${task.name}" has two handlers; leave one of them.`);
    byName.set(task.name, handler);
  }
  return byName;
}

function checkName(what: string, name: string): void {
  if (!namePattern.test(name)) {
    throw new TypeError(
      `The ${what} is "${name}"; it must be 1 to 128 characters of letters, digits, ".", "_", "-".`,
    );
  }
}

function checkNumber(what: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new RangeError(`The ${what} is ${value}; it must be a whole number ${min} to ${max}.`);
  }
}

function checkDuration(what: string, value: Duration, min: Duration, max: Duration): number {
  const ms = durationMs(value);
  if (ms < durationMs(min) || ms > durationMs(max))
    throw new RangeError(`The ${what} is ${value}; it must be ${min} to ${max}.`);
  return ms;
}
