/**
 * The client for services that start runs and need to know how they ended.
 *
 * The client repeats every call, with growing and jittered waits, as long as it is unknown whether
 * the call took effect, or the server asks for a later repeat. That is safe because each call is
 * idempotent: `schedule` by its key and `signal` by its id, which the client makes if the caller
 * gives none, and the other calls by their effect. Any other error is thrown at once as
 * DroverCallError.
 */
import { type Approvals, createApprovals } from "./approvals.ts";
import { createCall } from "./call.ts";
import { openChannel } from "./channel.ts";
import { type Circuits, createCircuits } from "./circuits.ts";
import { clearChannel } from "./clear-channel.ts";
import { systemClock } from "./clock.ts";
import { type Codec, noCodec } from "./codec.ts";
import { type Commands, createCommands } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { type Duration, durationMs } from "./duration.ts";
import { createEscalations, type Escalations } from "./escalations.ts";
import { createHooks, type Hooks } from "./hooks.ts";
import { type Logger, warningLogger } from "./logger.ts";
import { createNamespaces, type Namespaces } from "./namespaces.ts";
import { createOperations, type Operations } from "./operations.ts";
import { createOutage } from "./outage.ts";
import { createQueues, type Queues } from "./queues.ts";
import { createOutputQueries, type OutputQueries } from "./run-outputs.ts";
import { createRunQueries, type RunQueries } from "./run-queries.ts";
import { createRunWatch, type RunWatch } from "./run-watch.ts";
import { createSchedules, type Schedules } from "./schedules.ts";
import { createStarts, type Starts } from "./starts.ts";
import { createTriggers, type Triggers } from "./triggers.ts";
import { createWorkflows, type Workflows } from "./workflows.ts";

export interface ClientOptions extends Connection {
  /** Namespace of the client. Default: "default". */
  readonly namespace?: string;
  /** How long a call is repeated while the server cannot be reached. Default 30 s. */
  readonly patience?: Duration;
  /** Encrypts or compresses the payloads of runs. Default: none. */
  readonly codec?: Codec;
  /**
   * Log of the client, which says that calls fail and are repeated. Default: warnings, as warnings
   * of the process.
   */
  readonly log?: Logger;
  /** Who calls, for the audit, unless a call or a JWT says it. Default: not said. */
  readonly by?: string;
  /** The kind of program that calls, for the audit, such as `mcp`. Default: not said. */
  readonly via?: string;
}

/** Calls for runs and workflows, and below, by subject, all others. */
export interface Client extends Commands, OutputQueries, RunQueries, RunWatch, Starts, Workflows {
  /** Approvals that wait for a person; `decide` approves or rejects. */
  readonly approvals: Approvals;
  /** Questions that wait for a person. */
  readonly escalations: Escalations;
  /** Webhooks, which report events. */
  readonly hooks: Hooks;
  /** Schedules, which start runs by a calendar. */
  readonly schedules: Schedules;
  /** Triggers, which start or continue runs on calls over HTTP and at the ends of other runs. */
  readonly triggers: Triggers;
  /** Queues: waiting tasks, tasks that agents hold, pauses and limits. */
  readonly queues: Queues;
  /** Circuit breakers, and cordons of agents. */
  readonly circuits: Circuits;
  /** This namespace and others: regions, pauses, retention, limits. */
  readonly namespaces: Namespaces;
  /** State for operators: agents, supervisors, interventions, and what needs a person. */
  readonly operations: Operations;
  /** Closes the connection; may be called twice. */
  close(): void;
}

export function createClient(options: ClientOptions): Client {
  const { namespace = "", patience = "30s", codec = noCodec, log = warningLogger } = options;
  const patienceMs = durationMs(patience);
  const channel = clearChannel(openChannel(options, headersOf(options)), codec);
  const outage = createOutage(log, patienceMs);
  const call = createCall(channel, patienceMs, outage);
  const queries = createRunQueries(call, namespace);
  const watch = createRunWatch({ call, channel, namespace, patienceMs, outage });
  return Object.freeze({
    ...queries,
    ...watch,
    ...createOutputQueries(watch, queries),
    ...createStarts(call, namespace, codec, systemClock),
    ...createWorkflows(call, namespace),
    ...createCommands(call, namespace, codec),
    approvals: createApprovals(call, namespace),
    escalations: createEscalations(call, namespace, codec),
    hooks: createHooks(call, namespace),
    schedules: createSchedules(call, namespace, codec),
    triggers: createTriggers(call, namespace),
    queues: createQueues(call, namespace),
    circuits: createCircuits(call, namespace),
    namespaces: createNamespaces(call, namespace),
    operations: createOperations(call, namespace),
    close: channel.close,
  });
}

/** Headers have no characters but those of ASCII. */
function headersOf({ by, via }: ClientOptions): Readonly<Record<string, string>> {
  return {
    ...(by && { "drover-by": encodeURIComponent(by) }),
    ...(via && { "drover-via": via }),
  };
}
