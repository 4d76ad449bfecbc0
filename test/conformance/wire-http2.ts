/** Native gRPC on the wire: taken from the agent as bytes, sent on as bytes. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  type ServiceError,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { type Failure, failures, type RawCall, type RawReply } from "./wire-lane.ts";

export interface Side {
  readonly port: number;
  close(): void;
}

/** Of each message: what the namespace allows, and more. */
const bytesMax = 64 * 1024 * 1024;
const channelOptions = { "grpc.max_receive_message_length": bytesMax };

/** `arrive`, by the path of the method. */
export async function openHttp2Side(
  arrive: Readonly<Record<string, (call: RawCall) => void>>,
): Promise<Side> {
  const server = new Server({ ...channelOptions, "grpc.max_send_message_length": bytesMax });
  const clients = new Map<string, Client>();
  const definitions: Record<string, ServiceDefinition[string]> = {};
  const handlers: UntypedServiceImplementation = {};
  const same = (data: Buffer) => data;

  function clientOf(address: string): Client {
    const known = clients.get(address);
    if (known !== undefined) return known;
    const made = new Client(address, credentials.createInsecure(), {
      ...channelOptions,
      "grpc.initial_reconnect_backoff_ms": 50,
      "grpc.max_reconnect_backoff_ms": 200,
      "grpc.use_local_subchannel_pool": 1,
    });
    clients.set(address, made);
    return made;
  }

  for (const [path, take] of Object.entries(arrive)) {
    definitions[path] = {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    handlers[path] = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
      take(rawCall(path, call, callback, clientOf));
  }
  server.addService(definitions, handlers);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    port,
    close(): void {
      server.forceShutdown();
      for (const client of clients.values()) client.close();
    },
  };
}

function rawCall(
  path: string,
  call: ServerUnaryCall<Buffer, Buffer>,
  callback: sendUnaryData<Buffer>,
  clientOf: (address: string) => Client,
): RawCall {
  const deadline = call.getDeadline();
  const endMs = deadline instanceof Date ? deadline.getTime() : deadline;
  const gone = new Promise<void>((resolve) => call.once("cancelled", () => resolve()));
  return {
    timeoutMs: Number.isFinite(endMs) ? endMs - Date.now() : null,
    authorization: String(call.metadata.get("authorization")[0] ?? ""),
    gone,
    read: (schema) => fromBinary(schema, call.request),
    send: (address) =>
      new Promise<RawReply>((resolve) => {
        const same = (data: Buffer) => data;
        const sent = clientOf(address).makeUnaryRequest(
          path,
          same,
          same,
          call.request,
          new Metadata(),
          { deadline },
          (error: ServiceError | null, data?: Buffer) => {
            resolve({
              code: error?.code ?? 0,
              read: (schema) => fromBinary(schema, data ?? new Uint8Array()),
              pass: () => callback(error, data),
            });
          },
        );
        void gone.then(() => sent.cancel());
      }),
    answer: (schema, message) => callback(null, Buffer.from(toBinary(schema, message))),
    fail(failure: Failure): void {
      const status = failures[failure];
      const metadata = new Metadata();
      if (status.details.length > 0)
        metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, status)));
      callback({ code: status.code, details: status.message, metadata });
    },
  };
}
