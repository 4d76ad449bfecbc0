// Clients of a served world, one for each transport: what was answered, and the status with its
// details.
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

interface GrpcClientOptions {
  /** Of a server that speaks TLS. */
  readonly ca?: Buffer | null;
  /** As in the SDKs, a call that the server has not begun is repeated. */
  readonly retries?: boolean;
}

export function grpcClient(
  port: number,
  host = "127.0.0.1",
  { ca = null, retries = false }: GrpcClientOptions = {},
): GrpcClient {
  const channel = ca === null ? credentials.createInsecure() : credentials.createSsl(ca);
  const client = new Client(`${host}:${port}`, channel, {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_retries": retries ? 1 : 0,
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

// biome-ignore lint/suspicious/noExplicitAny: the JSON of an answer, read by tests
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
