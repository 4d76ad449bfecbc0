/**
 * A Drover server without an engine: real gRPC on a real port, and every answer is given by the
 * test.
 *
 * Each method has an inbox. A test takes a call out of it with `next` and answers it, or sets once
 * with `always` what is answered to each. A call without an answer stays parked.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "@drover/proto/google/rpc/error_details_pb.ts";
import { type Status, StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { toDuration } from "../../sdk/typescript/duration.ts";

export interface Incoming<I extends DescMessage, O extends DescMessage> {
  readonly request: MessageShape<I>;
  answer(response: MessageInitShape<O>): void;
  /** `field`: the path of what is wrong. */
  fail(code: number, reason?: string, retryAfterMs?: number, field?: string): void;
  /** Resolves when the caller has given the call up. */
  readonly cancelled: Promise<void>;
}

export interface Inbox<I extends DescMessage, O extends DescMessage> {
  next(): Promise<Incoming<I, O>>;
  always(reply: (call: Incoming<I, O>) => void): void;
}

export interface Streaming<I extends DescMessage, O extends DescMessage> {
  readonly request: MessageShape<I>;
  send(response: MessageInitShape<O>): void;
  end(): void;
  fail(code: number): void;
  readonly cancelled: Promise<void>;
}

/** A google.rpc.Status as the server sends it. */
export function status(
  code: number,
  reason: string,
  retryAfterMs?: number,
  field?: string,
): Status {
  const info = create(ErrorInfoSchema, { reason, domain: "drover" });
  const details = [anyPack(ErrorInfoSchema, info)];
  if (retryAfterMs !== undefined) {
    const retry = create(RetryInfoSchema, { retryDelay: toDuration(retryAfterMs) });
    details.push(anyPack(RetryInfoSchema, retry));
  }
  if (field !== undefined) {
    const violation = { field, description: "is what the script refuses" };
    const bad = create(BadRequestSchema, { fieldViolations: [violation] });
    details.push(anyPack(BadRequestSchema, bad));
  }
  return create(StatusSchema, { code, message: `${reason} by the script`, details });
}

export type FakeServer = Awaited<ReturnType<typeof startFakeServer>>;

export async function startFakeServer(port = 0) {
  const server = new Server();
  const definitions: Record<string, ServiceDefinition[string]> = {};
  const handlers: UntypedServiceImplementation = {};
  const unanswered = new Set<() => void>();

  function unary<I extends DescMessage, O extends DescMessage>(method: Method<I, O>): Inbox<I, O> {
    const queue = createQueue<Incoming<I, O>>();
    definitions[method.localName] = definitionOf(method, false);
    handlers[method.localName] = (
      call: ServerUnaryCall<MessageShape<I>, MessageShape<O>>,
      callback: sendUnaryData<MessageShape<O>>,
    ) => {
      const taken = incoming(method, call, (...reply) => {
        unanswered.delete(drop);
        callback(...reply);
      });
      const drop = () => taken.fail(14);
      unanswered.add(drop);
      queue.push(taken);
    };
    return queue;
  }

  function streaming<I extends DescMessage, O extends DescMessage>(method: Method<I, O>) {
    const queue = createQueue<Streaming<I, O>>();
    definitions[method.localName] = definitionOf(method, true);
    handlers[method.localName] = (call: ServerWritableStream<MessageShape<I>, MessageShape<O>>) =>
      queue.push({
        request: call.request,
        send: (response) => void call.write(create(method.output, response)),
        end: () => call.end(),
        fail: (code) => void call.emit("error", { code, details: "failed by the script" }),
        cancelled: new Promise((resolve) => call.on("cancelled", resolve)),
      });
    return queue;
  }

  const inboxes = {
    poll: unary(AgentService.method.pollTask),
    heartbeat: unary(AgentService.method.heartbeat),
    complete: unary(AgentService.method.complete),
    registerWorkflow: unary(SchedulerService.method.registerWorkflow),
    setDefaultVersion: unary(SchedulerService.method.setDefaultVersion),
    getWorkflow: unary(SchedulerService.method.getWorkflow),
    schedule: unary(SchedulerService.method.schedule),
    scheduleBatch: unary(SchedulerService.method.scheduleBatch),
    getRun: unary(SchedulerService.method.getRun),
    listRuns: unary(SchedulerService.method.listRuns),
    explainRun: unary(SchedulerService.method.explainRun),
    waitRun: unary(SchedulerService.method.waitRun),
    cancelRun: unary(SchedulerService.method.cancelRun),
    pauseRun: unary(SchedulerService.method.pauseRun),
    resumeRun: unary(SchedulerService.method.resumeRun),
    bulkAction: unary(SchedulerService.method.bulkAction),
    retryRun: unary(SchedulerService.method.retryRun),
    rerunFrom: unary(SchedulerService.method.rerunFrom),
    signal: unary(SchedulerService.method.signal),
    decide: unary(SchedulerService.method.decide),
    completeDeferred: unary(SchedulerService.method.completeDeferred),
    listEscalations: unary(OperatorService.method.listEscalations),
    getEscalation: unary(OperatorService.method.getEscalation),
    resolveEscalation: unary(OperatorService.method.resolveEscalation),
    claimEscalation: unary(OperatorService.method.claimEscalation),
    releaseEscalation: unary(OperatorService.method.releaseEscalation),
    putHook: unary(OperatorService.method.putHook),
    listHooks: unary(OperatorService.method.listHooks),
    deleteHook: unary(OperatorService.method.deleteHook),
    listDeliveries: unary(OperatorService.method.listDeliveries),
    watchRun: streaming(SchedulerService.method.watchRun),
  };
  server.addService(definitions, handlers);
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, given) =>
      error === null ? resolve(given) : reject(error),
    );
  });
  return {
    ...inboxes,
    port: bound,
    address: `127.0.0.1:${bound}`,
    /** Fails the calls that were taken and never answered. */
    release(): void {
      for (const drop of unanswered) drop();
    },
    /** Breaks every connection. */
    stop: () => server.forceShutdown(),
  };
}

interface Method<I extends DescMessage, O extends DescMessage> {
  readonly localName: string;
  readonly name: string;
  readonly parent: { readonly typeName: string };
  readonly input: I;
  readonly output: O;
}

function definitionOf<I extends DescMessage, O extends DescMessage>(
  method: Method<I, O>,
  responseStream: boolean,
) {
  const pack = <T extends DescMessage>(schema: T, message: MessageShape<T>) =>
    Buffer.from(toBinary(schema, message));
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: false,
    responseStream,
    requestSerialize: (message: MessageShape<I>) => pack(method.input, message),
    requestDeserialize: (data: Buffer) => fromBinary(method.input, data),
    responseSerialize: (message: MessageShape<O>) => pack(method.output, message),
    responseDeserialize: (data: Buffer) => fromBinary(method.output, data),
  };
}

function incoming<I extends DescMessage, O extends DescMessage>(
  method: Method<I, O>,
  call: ServerUnaryCall<MessageShape<I>, MessageShape<O>>,
  callback: sendUnaryData<MessageShape<O>>,
): Incoming<I, O> {
  return {
    request: call.request,
    answer: (response) => callback(null, create(method.output, response)),
    fail(code, reason, retryAfterMs, field): void {
      const metadata = new Metadata();
      if (reason !== undefined) {
        const packed = toBinary(StatusSchema, status(code, reason, retryAfterMs, field));
        metadata.set("grpc-status-details-bin", Buffer.from(packed));
      }
      callback({ code, details: `failed by the script: ${reason ?? code}`, metadata });
    },
    cancelled: new Promise((resolve) => call.on("cancelled", () => resolve())),
  };
}

function createQueue<T>() {
  const items: T[] = [];
  const takers: ((item: T) => void)[] = [];
  let reply: ((item: T) => void) | null = null;
  return {
    push(item: T): void {
      const taker = takers.shift();
      if (taker !== undefined) taker(item);
      else if (reply !== null) reply(item);
      else items.push(item);
    },
    next(): Promise<T> {
      const item = items.shift();
      if (item !== undefined) return Promise.resolve(item);
      return new Promise((resolve) => takers.push(resolve));
    },
    always(fn: (item: T) => void): void {
      reply = fn;
      for (const item of items.splice(0)) fn(item);
    },
  };
}
