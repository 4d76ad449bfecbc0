// A server of the edge alone, on a real port, in front of scripted twins of scheduler, dispatch and
// store; and clients for both transports: native gRPC by grpc-js, Connect and JSON by fetch.
import {
  create,
  createRegistry,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "@drover/proto/google/rpc/error_details_pb.ts";
import { type Status, StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import { type CallOptions, Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { type Clock, systemClock } from "../../../server/clock.ts";
import { RPC_DEFAULTS, type RpcConfig } from "../../../server/config.ts";
import type { Definition } from "../../../server/core/definition.ts";
import type { Dispatcher, HandedTask } from "../../../server/dispatch/dispatcher.ts";
import { formatTaskToken } from "../../../server/dispatch/token.ts";
import type { Log } from "../../../server/rpc/mount.ts";
import { createRpcServer, type RpcServer, type RpcServerDeps } from "../../../server/rpc/server.ts";
import type { Scheduler } from "../../../server/scheduler/scheduler.ts";
import type { Reads, RunDetail, RunRecord } from "../../../server/store/reads.ts";

export const RUN_ID = "0198c0de-0000-7000-8000-00000000002a";
export const SECRET = "ab".repeat(16);
export const SESSION = new Uint8Array(16).fill(7);
export const AGENT = { id: "agent-1", session: SESSION, version: "1.0" };

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export interface World {
  readonly scheduler: Mutable<Scheduler>;
  readonly dispatcher: Mutable<Dispatcher>;
  readonly reads: Mutable<Reads>;
  readonly store: Mutable<RpcServerDeps["store"]>;
  readonly logged: string[];
  readonly server: RpcServer;
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly config?: Partial<RpcConfig>;
  readonly clock?: Clock;
}

export const DEFINITION: Definition = {
  workflow: "holiday",
  steps: [
    { id: "flight", needs: [], task: "book-flight" },
    { id: "hotel", needs: ["flight"], task: "book-hotel", queue: "slow" },
  ],
};

export function runRecord(over: Partial<RunRecord> = {}): RunRecord {
  return {
    runId: RUN_ID,
    namespaceId: 1,
    key: "trip-1",
    workflow: "holiday",
    version: 3,
    definitionId: 9,
    state: "RUNNING",
    reason: null,
    cancelNote: null,
    stateVersion: 1,
    priority: 5,
    labels: { team: "blue" },
    input: { kind: "json", json: '{"to":"Rome"}' },
    createdAt: 1_700_000_000_000,
    endedAt: null,
    deadlineAt: 1_700_000_600_000,
    ...over,
  };
}

export function runDetail(over: Partial<RunDetail> = {}): RunDetail {
  return {
    run: runRecord(),
    steps: new Map(),
    attempts: [],
    interventions: [],
    escalations: [],
    ...over,
  };
}

export function handedTask(over: Partial<HandedTask> = {}): HandedTask {
  return {
    token: token(),
    callbackToken: "callback",
    runId: RUN_ID,
    stepId: "flight",
    attempt: 1,
    workflow: "holiday",
    version: 3,
    kind: "perform",
    task: "book-flight",
    queue: "default",
    input: { kind: "json", json: "1" },
    lastDetails: null,
    output: null,
    idempotencyKey: "key-1",
    effectKey: "",
    fence: 1,
    leaseMs: 30_000,
    attemptMs: 900_000,
    beatEveryMs: 10_000,
    labels: { team: "blue" },
    ...over,
  };
}

export function token(over: { namespace?: string; fence?: number } = {}): string {
  return formatTaskToken({
    namespace: "default",
    runId: RUN_ID,
    step: 0,
    task: "perform",
    fence: 1,
    secret: SECRET,
    ...over,
  });
}

export async function startWorld({ config = {}, clock = systemClock }: WorldOptions = {}) {
  const logged: string[] = [];
  const say = (_fields: object, text: string) => void logged.push(text);
  const log: Log = { info: say, warn: say, error: say };
  const reads: Mutable<Reads> = {
    findRun: async (namespaceId, by) => {
      const known = "runId" in by ? by.runId === RUN_ID : by.key === "trip-1";
      return known && namespaceId === 1 ? runRecord() : null;
    },
    runDetail: async () => runDetail(),
    listRuns: async () => [runRecord()],
    listWorkflows: async () => [
      { name: "holiday", defaultVersion: 2, latestVersion: 3, createdAt: 1_700_000_000_000 },
    ],
  };
  const scheduler: Mutable<Scheduler> = {
    registerWorkflow: async () => ({ version: 3, created: true }),
    schedule: async () => ({ runId: RUN_ID, created: true }),
    cancel: async () => ({ kind: "done" }),
    runChange: (_run, _version, signal) => aborted(signal),
  };
  const dispatcher: Mutable<Dispatcher> = {
    poll: async () => ({ tasks: [handedTask()], waitedMs: 12 }),
    heartbeat: async ({ reports }) => reports.map(() => ({ kind: "carry-on", leaseMs: 30_000 })),
    complete: async ({ results, next }) => ({
      answers: results.map(() => ({ kind: "accepted", repeated: false })),
      tasks: next === null ? [] : [handedTask()],
      waitedMs: 0,
    }),
  };
  const store: Mutable<RpcServerDeps["store"]> = {
    reads,
    namespace: async (name) => (name === "default" ? { id: 1, name, region: 0 } : null),
    definition: async () => DEFINITION,
    workflowVersion: async (_namespaceId, name, version) =>
      name === "holiday" && version <= 3
        ? { definitionId: 9, version: version || 2, createdAt: Date.UTC(2026, 0, 1) }
        : null,
    ready: async () => {},
  };
  const server = createRpcServer({
    scheduler,
    dispatcher,
    store,
    clock,
    log,
    config: { ...RPC_DEFAULTS, port: 0, drainMs: 5_000, ...config },
  });
  const { host, port } = await server.start();
  const close = () => server.stop();
  return { scheduler, dispatcher, reads, store, logged, server, host, port, close } as World;
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A promise and the hand that settles it. */
export function signal<T = void>() {
  return Promise.withResolvers<T>();
}

/** What a call came to, alike for both transports. */
export interface Outcome<Desc extends DescMessage> {
  /** gRPC's number; 0 is OK. */
  readonly code: number;
  readonly message: string;
  readonly answer: MessageShape<Desc> | null;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Path and description of each field. */
  readonly fields: readonly (readonly [string, string])[];
  readonly retryMs: number | null;
  readonly kinds: readonly string[];
}

const DETAILS = createRegistry(
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
);

export function readStatus(status: Status) {
  const details = status.details.flatMap((any) => anyUnpack(any, DETAILS) ?? []);
  const find = <D extends DescMessage>(desc: D) =>
    details.find((detail) => detail.$typeName === desc.typeName) as MessageShape<D> | undefined;
  const delay = find(RetryInfoSchema)?.retryDelay;
  const info = find(ErrorInfoSchema);
  return {
    code: status.code,
    message: status.message,
    reason: info?.domain === "drover" ? info.reason : "",
    metadata: info?.metadata ?? {},
    fields: (find(BadRequestSchema)?.fieldViolations ?? []).map(
      ({ field, description }) => [field, description] as const,
    ),
    retryMs: delay ? Number(delay.seconds) * 1_000 + delay.nanos / 1e6 : null,
    kinds: details.map((detail) => detail.$typeName.replace("google.rpc.", "")),
  };
}

export interface GrpcClient {
  unary<M extends DescMethod>(
    method: M,
    request: MessageInitShape<M["input"]>,
    options?: CallOptions,
  ): Promise<Outcome<M["output"]>>;
  /** Bytes that need not be a message. */
  raw(method: DescMethod, bytes: Uint8Array, metadata?: Metadata): Promise<Outcome<DescMessage>>;
  /** A call that can be cancelled. */
  open<M extends DescMethod>(
    method: M,
    request: MessageInitShape<M["input"]>,
  ): { readonly done: Promise<Outcome<M["output"]>>; cancel(): void };
  stream<M extends DescMethod>(
    method: M,
    request: MessageInitShape<M["input"]>,
    options?: CallOptions,
  ): {
    readonly messages: MessageShape<M["output"]>[];
    /** Resolves when there are as many messages. */
    count(many: number): Promise<void>;
    readonly done: Promise<Outcome<M["output"]>>;
    cancel(): void;
  };
  close(): void;
}

const pathOf = (method: DescMethod) => `/${method.parent.typeName}/${method.name}`;

function outcomeOf<D extends DescMessage>(
  error: ServiceError | null,
  answer: MessageShape<D> | null,
): Outcome<D> {
  if (error === null)
    return {
      ...readStatus(create(StatusSchema)),
      answer,
    };
  const [bytes] = error.metadata?.get("grpc-status-details-bin") ?? [];
  const status =
    bytes instanceof Buffer
      ? fromBinary(StatusSchema, bytes)
      : create(StatusSchema, { code: error.code, message: error.details });
  expectSame(status.code, error.code);
  return { ...readStatus(status), answer: null };
}

function expectSame(a: unknown, b: unknown): void {
  if (a !== b) throw new Error(`the details say ${a}, the status says ${b}`);
}

export function grpcClient(port: number, host = "127.0.0.1"): GrpcClient {
  const client = new Client(`${host}:${port}`, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_retries": 0,
    "grpc.max_receive_message_length": -1,
  });
  const write = (bytes: Uint8Array) => Buffer.from(bytes);

  function start<D extends DescMessage>(
    method: DescMethod,
    bytes: Uint8Array,
    metadata: Metadata,
    options: CallOptions,
  ) {
    const { promise, resolve } = Promise.withResolvers<Outcome<D>>();
    const call = client.makeUnaryRequest(
      pathOf(method),
      write,
      (buffer) => fromBinary(method.output, buffer) as MessageShape<D>,
      bytes,
      metadata,
      options,
      (error, answer) => resolve(outcomeOf<D>(error, answer ?? null)),
    );
    return { done: promise, cancel: () => call.cancel() };
  }

  return {
    unary: (method, request, options = {}) =>
      start<(typeof method)["output"]>(
        method,
        toBinary(method.input, create(method.input, request)),
        new Metadata(),
        options,
      ).done,
    raw: (method, bytes, metadata = new Metadata()) => start(method, bytes, metadata, {}).done,
    open: (method, request) =>
      start(method, toBinary(method.input, create(method.input, request)), new Metadata(), {}),
    stream<M extends DescMethod>(
      method: M,
      request: MessageInitShape<M["input"]>,
      options: CallOptions = {},
    ) {
      const call = client.makeServerStreamRequest(
        pathOf(method),
        write,
        (buffer) => fromBinary(method.output, buffer) as MessageShape<M["output"]>,
        toBinary(method.input, create(method.input, request)),
        new Metadata(),
        options,
      );
      const messages: MessageShape<M["output"]>[] = [];
      const { promise, resolve } = Promise.withResolvers<Outcome<M["output"]>>();
      let wake = () => {};
      call.on("data", (message: MessageShape<M["output"]>) => {
        messages.push(message);
        wake();
      });
      call.on("error", (error: ServiceError) => resolve(outcomeOf<M["output"]>(error, null)));
      call.on("end", () => resolve(outcomeOf<M["output"]>(null, null)));
      return {
        messages,
        async count(many: number) {
          while (messages.length < many)
            await new Promise<void>((go) => {
              wake = go;
            });
        },
        done: promise,
        cancel: () => call.cancel(),
      };
    },
    close: () => client.close(),
  };
}

/** JSON by the Connect protocol, as a person with curl would send it. */
export async function postJson(
  port: number,
  method: DescMethod,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  const response = await fetch(`http://127.0.0.1:${port}${pathOf(method)}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return readConnect(response);
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON of an answer, looked at by tests
export type Json = any;

export async function readConnect(response: Response) {
  const json: Json = await response.json();
  if (response.ok) return { http: response.status, json, ...readStatus(create(StatusSchema)) };
  const status = create(StatusSchema, {
    code: CONNECT_CODES.indexOf(json.code),
    message: json.message,
    details: (json.details ?? []).map((detail: { type: string; value: string }) => ({
      typeUrl: `type.googleapis.com/${detail.type}`,
      value: Buffer.from(detail.value, "base64"),
    })),
  });
  return { http: response.status, json, ...readStatus(status) };
}

const CONNECT_CODES = [
  "ok",
  "canceled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
];
