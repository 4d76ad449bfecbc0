/**
 * The client of services that start work and want to know how it went.
 *
 * Every call is repeated, with growing and jittered waits, as long as nobody knows whether it took
 * effect or the server asks to come back later. That is safe because each of them is idempotent:
 * `schedule` by its key, which is made here if the caller gives none, the others by what they do.
 * Any other refusal is thrown at once as DroverCallError.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type * as wire from "@drover/proto/drover/v1/run_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type RunFilterSchema,
  RunOrder,
  type RunRefSchema,
  SchedulerService,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { createBackoff, repeat } from "./backoff.ts";
import { DroverCallError, verdictOf } from "./call-error.ts";
import { openChannel } from "./channel.ts";
import { sleep, systemClock } from "./clock.ts";
import { toDuration } from "./duration.ts";
import { toPayload } from "./payload.ts";
import {
  type Attempt,
  type Escalation,
  type Intervention,
  type Run,
  readAttempt,
  readEscalation,
  readIntervention,
  readRun,
  readStep,
  type Step,
} from "./runs.ts";
import { toDefinition, type WorkflowSpec } from "./workflow.ts";

export interface ClientOptions {
  /** host:port. */
  readonly address: string;
  /** Default: "default". */
  readonly namespace?: string;
  /** For how long a call is repeated while the server cannot be reached. Default 30 s. */
  readonly patienceMs?: number;
}

/** A run by its id, or by the caller's own key. */
export type RunName = string | { readonly key: string };

export interface CallControl {
  readonly signal?: AbortSignal;
}

export interface ScheduleSpec {
  /** A registered workflow by name, or a definition for this run alone. */
  readonly workflow: string | WorkflowSpec;
  /** Of a registered workflow. Default: the default version. */
  readonly version?: number;
  /** JSON, or a Payload. */
  readonly input?: unknown;
  /** The caller's own name for the run: the same key starts one run only. Default: random. */
  readonly key?: string;
  /** 1 (first) to 9 (last). Default 5. */
  readonly priority?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface Scheduled {
  readonly runId: string;
  readonly key: string;
  /** False: an earlier call with this key made it. */
  readonly created: boolean;
}

export interface Registered {
  readonly name: string;
  readonly version: number;
  /** False: this content was registered before. */
  readonly created: boolean;
}

export interface GetRunSpec extends CallControl {
  readonly attempts?: boolean;
  readonly interventions?: boolean;
  readonly escalations?: boolean;
}

export interface RunDetails {
  readonly run: Run;
  readonly steps: readonly Step[];
  readonly attempts: readonly Attempt[];
  readonly interventions: readonly Intervention[];
  readonly escalations: readonly Escalation[];
}

export interface ListRunsSpec extends CallControl {
  readonly states?: readonly Exclude<keyof typeof RunState, "UNSPECIFIED">[];
  readonly workflow?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  /** Default: newest first. */
  readonly order?: "newest-first" | "oldest-first";
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
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

export interface CancelSpec extends CallControl {
  /** What becomes of work that was done. Default: it is undone. */
  readonly undo?: "compensate" | "leave";
  readonly reason?: string;
}

export interface Client {
  /** A definition, or its text in YAML or JSON. */
  registerWorkflow(
    definition: WorkflowSpec | string,
    options?: CallControl & { readonly keepDefault?: boolean },
  ): Promise<Registered>;
  schedule(spec: ScheduleSpec, options?: CallControl): Promise<Scheduled>;
  getRun(run: RunName, options?: GetRunSpec): Promise<RunDetails>;
  listRuns(options?: ListRunsSpec): Promise<RunPage>;
  /** The state now and after each change, to the end of the run; goes on after a break. */
  watchRun(
    run: RunName,
    options?: CallControl & { readonly afterVersion?: bigint },
  ): AsyncGenerator<RunSnapshot, void, undefined>;
  /** The run when it has ended; waits as long as that takes, or until the signal is aborted. */
  waitRun(run: RunName, options?: CallControl): Promise<Run>;
  cancelRun(run: RunName, options?: CancelSpec): Promise<Run>;
  /** Ends the connection; may be called twice. */
  close(): void;
}

/** Time for one try of a call; for WaitRun beyond its own wait. */
const tryMs = 10_000;
const waitMs = 30_000;

export function createClient(options: ClientOptions): Client {
  const { namespace = "", patienceMs = 30_000 } = options;
  const channel = openChannel(options.address);
  const rpc = SchedulerService.method;

  /** One method, repeated as the contract allows. */
  const unary: typeof channel.unary = (method, request, { timeoutMs, signal }) =>
    repeat(() => channel.unary(method, request, { timeoutMs, signal }), {
      clock: systemClock,
      patienceMs,
      signal,
    });

  async function* watchRun(
    name: RunName,
    { signal, afterVersion = 0n }: CallControl & { readonly afterVersion?: bigint } = {},
  ): AsyncGenerator<RunSnapshot, void, undefined> {
    const run = toRef(name);
    const backoff = createBackoff(systemClock);
    let seen = afterVersion;
    let failingSinceMs: number | null = null;
    for (;;) {
      signal?.throwIfAborted();
      const openedMs = systemClock.monotonicMs();
      let failure: DroverCallError | undefined;
      try {
        const request = { namespace, run, afterVersion: seen };
        for await (const answer of channel.stream(rpc.watchRun, request, signal)) {
          const snapshot = readSnapshot(answer);
          seen = snapshot.run.version;
          failingSinceMs = null;
          backoff.reset();
          yield snapshot;
          if (snapshot.run.ended) return;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof DroverCallError) || verdictOf(error) === "definite") throw error;
        const nowMs = systemClock.monotonicMs();
        // A stream that stood for long without a change had reached the server.
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
      const answer = await unary(rpc.registerWorkflow, request, { timeoutMs: tryMs, signal });
      return { name: answer.name, version: answer.version, created: answer.created };
    },

    async schedule(spec: ScheduleSpec, { signal }: CallControl = {}): Promise<Scheduled> {
      const key = spec.key ?? crypto.randomUUID();
      const input = toPayload(spec.input);
      const request = {
        namespace,
        key,
        target: toTarget(spec),
        priority: spec.priority ?? 0,
        labels: { ...spec.labels },
        ...(input && { input }),
      };
      const answer = await unary(rpc.schedule, request, { timeoutMs: tryMs, signal });
      return { runId: answer.runId, key, created: answer.created };
    },

    async getRun(name: RunName, spec: GetRunSpec = {}): Promise<RunDetails> {
      const request = {
        namespace,
        run: toRef(name),
        includeAttempts: spec.attempts ?? false,
        includeInterventions: spec.interventions ?? false,
        includeEscalations: spec.escalations ?? false,
      };
      const answer = await unary(rpc.getRun, request, { timeoutMs: tryMs, signal: spec.signal });
      return {
        ...readSnapshot(answer),
        attempts: answer.attempts.map(readAttempt),
        interventions: answer.interventions.map(readIntervention),
        escalations: answer.escalations.map(readEscalation),
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
      const answer = await unary(rpc.listRuns, request, { timeoutMs: tryMs, signal: spec.signal });
      return { runs: answer.runs.map(readRun), nextPageToken: answer.nextPageToken };
    },

    watchRun,

    async waitRun(name: RunName, { signal }: CallControl = {}): Promise<Run> {
      const request = { namespace, run: toRef(name), wait: toDuration(waitMs) };
      for (;;) {
        const sentMs = systemClock.monotonicMs();
        const answer = await unary(rpc.waitRun, request, { timeoutMs: waitMs + tryMs, signal });
        if (answer.ended) return readRun(present(answer.run));
        // A server that drains answers at once: do not ask it again in a hurry.
        const restMs = 100 - (systemClock.monotonicMs() - sentMs);
        if (restMs > 0) await sleep(systemClock, restMs, signal);
      }
    },

    async cancelRun(name: RunName, spec: CancelSpec = {}): Promise<Run> {
      const request = {
        namespace,
        run: toRef(name),
        undo: spec.undo === "leave" ? Undo.LEAVE : Undo.COMPENSATE,
        reason: spec.reason ?? "",
      };
      const answer = await unary(rpc.cancelRun, request, { timeoutMs: tryMs, signal: spec.signal });
      return readRun(present(answer.run));
    },

    close: channel.close,
  });
}

function toRef(name: RunName): MessageInitShape<typeof RunRefSchema> {
  return typeof name === "string"
    ? { ref: { case: "runId", value: name } }
    : { ref: { case: "key", value: name.key } };
}

function toTarget({ workflow, version = 0 }: ScheduleSpec) {
  return typeof workflow === "string"
    ? { case: "workflow" as const, value: { name: workflow, version } }
    : { case: "definition" as const, value: toDefinition(workflow) };
}

function toFilter(spec: ListRunsSpec): MessageInitShape<typeof RunFilterSchema> {
  return {
    states: (spec.states ?? []).map((state) => RunState[state]),
    workflow: spec.workflow ?? "",
    labels: { ...spec.labels },
    ...(spec.createdAfter && { createdAfter: timestampFromDate(spec.createdAfter) }),
    ...(spec.createdBefore && { createdBefore: timestampFromDate(spec.createdBefore) }),
  };
}

function readSnapshot(answer: {
  run?: wire.Run | undefined;
  steps: readonly wire.Step[];
}): RunSnapshot {
  return { run: readRun(present(answer.run)), steps: answer.steps.map(readStep) };
}

function present(run: wire.Run | undefined): wire.Run {
  if (run === undefined)
    throw new DroverCallError("INTERNAL", "The server answered without a run.");
  return run;
}
