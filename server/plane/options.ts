// What a control plane is made of: its store, its clock, and what it tells others.
import type { Logger } from "pino";
import type { Clock, Random } from "../clock.ts";
import type { SupervisorConfig } from "../config.ts";
import type { CircuitSettings } from "../core/model/circuit.ts";
import type { AllShards } from "../store/all-shards.ts";
import type { HandlerLogs } from "../store/handler-logs.ts";
import type { InboxRows } from "../store/inbox.ts";
import type { Shards } from "../store/shards.ts";
import type { EngineStore } from "../store/store.ts";
import type { Supervision } from "../supervisor/ownership.ts";
import type { Post } from "../supervisor/webhook-deliveries.ts";
import type { Measures } from "../telemetry/measures.ts";
import type { SpanSink } from "../telemetry/spans.ts";

export interface ControlPlaneOptions {
  /** All shards together. */
  readonly store: AllShards;
  readonly shards: Shards<EngineStore>;
  readonly clock: Clock;
  /** For parts that only check whether something has happened, and may wait; left out: `clock`. */
  readonly patient?: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly address: string;
  readonly isRetryable: (error: unknown) => boolean;
  /** Sends webhooks; left out: this process sends none. */
  readonly post?: Post;
  /** Runs that users have scheduled by SQL; left out: they cannot. */
  readonly inbox?: InboxRows;
  /** Where the lines of handlers are stored; left out: none are. */
  readonly logs?: HandlerLogs;
  /** When circuits open, and for how long; left out: as CIRCUIT_DEFAULTS. */
  readonly circuits?: CircuitSettings;
  /** Where spans are sent, and of which share of the runs; left out: nothing is traced. */
  readonly spans?: { readonly sink: SpanSink; readonly ratio: number } | undefined;
  /** Records what was done; left out: no metrics. */
  readonly measures?: Measures;
  /** What this process watches; left out: all, as a server with its supervisor embedded. */
  readonly supervision?: Supervision;
  /** The partitions that exist; left out: all of every region. */
  readonly partitions?: readonly number[];
  /** Left out: the defaults. */
  readonly settings?: SupervisorConfig;
  /** Calls that begin runs, and events of runs, that may wait for the store; left out: 20,000. */
  readonly waitingMax?: number | undefined;
}
