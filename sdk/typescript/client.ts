/**
 * The client for services that start work and want to know how it ended.
 *
 * The client repeats every call, with growing and jittered waits, as long as it is unknown whether
 * the call took effect, or the server asks for a later repeat. That is safe because each call is
 * idempotent: `schedule` by its key and `signal` by its id, which the client makes if the caller
 * gives none, and the other calls by their effect. Any other error is thrown at once as
 * DroverCallError.
 */
import type * as wire from "@drover/proto/drover/v1/run_pb.ts";
import { StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { RunOrder, SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { createBackoff } from "./backoff.ts";
import { type CallControl, createCall, present, tryMs } from "./call.ts";
import { callOutcomeOf, DroverCallError } from "./call-error.ts";
import { openChannel } from "./channel.ts";
import { type Circuits, createCircuits } from "./circuits.ts";
import { clearChannel } from "./clear-channel.ts";
import { sleep, systemClock } from "./clock.ts";
import { type Codec, noCodec } from "./codec.ts";
import { type Commands, createCommands } from "./commands.ts";
import { toDefinition } from "./definition.ts";
import { type Duration, durationMs, toDuration } from "./duration.ts";
import { createEscalations, type Escalations } from "./escalations.ts";
import { type RunExplanation, readExplanation } from "./explanation.ts";
import { createHooks, type Hooks } from "./hooks.ts";
import { createNamespaces, type Namespaces } from "./namespaces.ts";
import { createOperations, type Operations } from "./operations.ts";
import { createQueues, type Queues } from "./queues.ts";
import { type RunFilterSpec, toFilter } from "./run-filter.ts";
import {
  type Attempt,
  type Decision,
  type Escalation,
  type Intervention,
  type ReceivedSignal,
  type RunWarning,
  readAttempt,
  readDecision,
  readEscalation,
  readIntervention,
  readSetting,
  readSignal,
  readWarning,
  type Setting,
} from "./run-history.ts";
import { type RunName, toRef } from "./run-name.ts";
import { type Run, readRun, readStep, type Step } from "./runs.ts";
import { createSchedules, type Schedules } from "./schedules.ts";
import { createStarts, type Starts } from "./starts.ts";
import { createTriggers, type Triggers } from "./triggers.ts";
import type { WorkflowSpec } from "./workflow.ts";
import { createWorkflows, type Workflows } from "./workflows.ts";

export interface ClientOptions {
  /** Address of the server, as host:port. */
  readonly address: string;
  /** API token to send with each call. Default: the variable DROVER_TOKEN, or none. */
  readonly token?: string;
  /** Namespace of the client. Default: "default". */
  readonly namespace?: string;
  /** How long a call is repeated while the server cannot be reached. Default 30 s. */
  readonly patience?: Duration;
  /** Encrypts or compresses the payloads of runs. Default: none. */
  readonly codec?: Codec;
}

export interface Registered {
  readonly name: string;
  readonly version: number;
  /** False: this content was registered before. */
  readonly created: boolean;
}

/** What to return beside the run and its steps. Default: nothing. */
export interface GetRunSpec extends CallControl {
  readonly attempts?: boolean;
  readonly interventions?: boolean;
  readonly escalations?: boolean;
  readonly signals?: boolean;
  readonly decisions?: boolean;
  /** Every setting with its effective value and the source of that value. */
  readonly settings?: boolean;
}

export interface RunDetails {
  readonly run: Run;
  readonly steps: readonly Step[];
  /** `run.warnings` is their number. */
  readonly warnings: readonly RunWarning[];
  readonly attempts: readonly Attempt[];
  readonly interventions: readonly Intervention[];
  readonly escalations: readonly Escalation[];
  readonly signals: readonly ReceivedSignal[];
  readonly decisions: readonly Decision[];
  readonly settings: readonly Setting[];
}

export interface ListRunsSpec extends CallControl, RunFilterSpec {
  /** Default: newest first. */
  readonly order?: "newest-first" | "oldest-first";
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListItemsSpec extends CallControl {
  /** Items in any of these states. Empty: all. A page may then have fewer items than its size. */
  readonly states?: readonly Exclude<keyof typeof StepState, "UNSPECIFIED">[];
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ItemPage {
  readonly items: readonly Step[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface RunPage {
  readonly runs: readonly Run[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface RunSnapshot {
  readonly run: Run;
  readonly steps: readonly Step[];
}

export interface Client extends Commands, Starts, Workflows {
  /** A definition, or its text in YAML or JSON. */
  registerWorkflow(
    definition: WorkflowSpec | string,
    options?: CallControl & { readonly keepDefault?: boolean },
  ): Promise<Registered>;
  getRun(run: RunName, options?: GetRunSpec): Promise<RunDetails>;
  listRuns(options?: ListRunsSpec): Promise<RunPage>;
  /** The items of a map that have begun, in the order of its list, each as a step. */
  listItems(run: RunName, map: string, options?: ListItemsSpec): Promise<ItemPage>;
  /** Why the run is not moving, what happens next, and what a person can do. */
  explainRun(run: RunName, options?: CallControl): Promise<RunExplanation>;
  /**
   * The current state and each change, until the end of the run; continues after a broken stream.
   */
  watchRun(
    run: RunName,
    options?: CallControl & { readonly afterVersion?: bigint },
  ): AsyncGenerator<RunSnapshot, void, undefined>;
  /**
   * Waits without a limit until the run has ended or the signal is aborted, and returns the run.
   */
  waitRun(run: RunName, options?: CallControl): Promise<Run>;
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

const waitMs = 30_000;

export function createClient(options: ClientOptions): Client {
  const { namespace = "", patience = "30s", codec = noCodec } = options;
  const patienceMs = durationMs(patience);
  const channel = clearChannel(openChannel(options.address, options.token), codec);
  const rpc = SchedulerService.method;

  const call = createCall(channel, patienceMs);

  async function* watchRun(
    name: RunName,
    { signal, afterVersion = 0n }: CallControl & { readonly afterVersion?: bigint } = {},
  ): AsyncGenerator<RunSnapshot, void, undefined> {
    const run = toRef(name);
    const backoff = createBackoff(systemClock);
    let seen = afterVersion;
    let after = "";
    let failingSinceMs: number | null = null;
    for (;;) {
      signal?.throwIfAborted();
      const openedMs = systemClock.monotonicMs();
      let failure: DroverCallError | undefined;
      try {
        // A server of an older version does not know the cursor, and uses the version.
        const request = { namespace, run, after, afterVersion: seen };
        for await (const answer of channel.stream(rpc.watchRun, request, signal)) {
          const snapshot = readSnapshot(answer);
          seen = snapshot.run.version;
          after = answer.cursor;
          failingSinceMs = null;
          backoff.reset();
          yield snapshot;
          if (snapshot.run.ended) return;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof DroverCallError) || callOutcomeOf(error) === "definite") throw error;
        const nowMs = systemClock.monotonicMs();
        // A stream that was open for long without a change had reached the server.
        if (failingSinceMs === null || nowMs - openedMs > tryMs) failingSinceMs = nowMs;
        if (nowMs - failingSinceMs > patienceMs) throw error;
        failure = error;
      }
      await sleep(systemClock, backoff.nextMs(failure), signal);
    }
  }

  return Object.freeze({
    async registerWorkflow(
      definition: WorkflowSpec | string,
      { keepDefault = false, signal }: CallControl & { readonly keepDefault?: boolean } = {},
    ): Promise<Registered> {
      const source =
        typeof definition === "string"
          ? { case: "text" as const, value: definition }
          : { case: "definition" as const, value: toDefinition(definition) };
      const request = { namespace, source, keepDefault };
      const answer = await call(rpc.registerWorkflow, request, { signal });
      return { name: answer.name, version: answer.version, created: answer.created };
    },

    async getRun(name: RunName, spec: GetRunSpec = {}): Promise<RunDetails> {
      const request = {
        namespace,
        run: toRef(name),
        includeAttempts: spec.attempts ?? false,
        includeInterventions: spec.interventions ?? false,
        includeEscalations: spec.escalations ?? false,
        includeSignals: spec.signals ?? false,
        includeDecisions: spec.decisions ?? false,
        includeSettings: spec.settings ?? false,
      };
      const answer = await call(rpc.getRun, request, { signal: spec.signal });
      return {
        ...readSnapshot(answer),
        warnings: answer.warnings.map(readWarning),
        attempts: answer.attempts.map(readAttempt),
        interventions: answer.interventions.map(readIntervention),
        escalations: answer.escalations.map(readEscalation),
        signals: answer.signals.map(readSignal),
        decisions: answer.decisions.map(readDecision),
        settings: answer.settings.map(readSetting),
      };
    },

    async listRuns(spec: ListRunsSpec = {}): Promise<RunPage> {
      const request = {
        namespace,
        filter: toFilter(spec),
        order: spec.order === "oldest-first" ? RunOrder.CREATED_ASC : RunOrder.CREATED_DESC,
        pageSize: spec.pageSize ?? 0,
        pageToken: spec.pageToken ?? "",
      };
      const answer = await call(rpc.listRuns, request, { signal: spec.signal });
      return { runs: answer.runs.map(readRun), nextPageToken: answer.nextPageToken };
    },

    async listItems(
      name: RunName,
      stepId: string,
      { states = [], pageSize = 0, pageToken = "", signal }: ListItemsSpec = {},
    ): Promise<ItemPage> {
      const page = { states: states.map((state) => StepState[state]), pageSize, pageToken };
      const request = { namespace, run: toRef(name), stepId, ...page };
      const { items, nextPageToken } = await call(rpc.listItems, request, { signal });
      return { items: items.map(readStep), nextPageToken };
    },

    async explainRun(name: RunName, { signal }: CallControl = {}): Promise<RunExplanation> {
      const request = { namespace, run: toRef(name) };
      return readExplanation(await call(rpc.explainRun, request, { signal }));
    },

    watchRun,

    async waitRun(name: RunName, { signal }: CallControl = {}): Promise<Run> {
      const request = { namespace, run: toRef(name), wait: toDuration(waitMs) };
      for (;;) {
        const sentMs = systemClock.monotonicMs();
        const answer = await call(rpc.waitRun, request, { timeoutMs: waitMs + tryMs, signal });
        if (answer.ended) return readRun(present(answer.run));
        // A draining server answers at once: do not call it again too fast.
        const restMs = 100 - (systemClock.monotonicMs() - sentMs);
        if (restMs > 0) await sleep(systemClock, restMs, signal);
      }
    },

    ...createStarts(call, namespace, codec, systemClock),
    ...createWorkflows(call, namespace),
    ...createCommands(call, namespace, codec),
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

function readSnapshot(answer: {
  run?: wire.Run | undefined;
  steps: readonly wire.Step[];
}): RunSnapshot {
  return { run: readRun(present(answer.run)), steps: answer.steps.map(readStep) };
}
