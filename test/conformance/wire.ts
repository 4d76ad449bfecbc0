/**
 * What is between the program under test and the servers: every call of an agent passes here,
 * is decoded and stored, and does what the scenario wants of it. So what an agent sends is seen as
 * it sends it, whatever its language, and the network goes wrong at the time that a scenario means.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import {
  AgentService,
  type AppendLogsRequestSchema,
  type AppendLogsResponseSchema,
  type CompleteRequestSchema,
  type CompleteResponseSchema,
  type HeartbeatRequestSchema,
  type HeartbeatResponseSchema,
  type PollTaskRequestSchema,
  type PollTaskResponseSchema,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { openHttp1Side } from "./wire-http1.ts";
import { openHttp2Side } from "./wire-http2.ts";
import { createLane, type Lane, type RawCall } from "./wire-lane.ts";
import { openPipes, type Pipes } from "./wire-pipes.ts";

/** What programs get as DROVER_TOKEN. The servers of the suite are open: the wire looks at it. */
export const TOKEN = `drover_${"conformance".padEnd(43, "0")}`;

export interface Wire extends Pipes {
  readonly poll: Lane<typeof PollTaskRequestSchema, typeof PollTaskResponseSchema>;
  readonly heartbeat: Lane<typeof HeartbeatRequestSchema, typeof HeartbeatResponseSchema>;
  readonly complete: Lane<typeof CompleteRequestSchema, typeof CompleteResponseSchema>;
  readonly logs: Lane<typeof AppendLogsRequestSchema, typeof AppendLogsResponseSchema>;
  /** One more address before the same lanes, with connections of its own. */
  beside(): Promise<Pipes>;
  /** Sends the calls of all lanes to this server from now on. */
  route(address: string): void;
}

/** `server`: host:port of the server behind it. */
export async function openWire(server: string): Promise<Wire> {
  const count = { arrived: 0 };
  const lane = <I extends DescMessage, O extends DescMessage>(method: { input: I; output: O }) =>
    createLane({ input: method.input, output: method.output, address: server, count });
  const poll = lane(AgentService.method.pollTask);
  const heartbeat = lane(AgentService.method.heartbeat);
  const complete = lane(AgentService.method.complete);
  const logs = lane(AgentService.method.appendLogs);
  const arriveAt = (way: number) => ({
    "/drover.v1.AgentService/PollTask": (raw: RawCall) => poll.arrive(raw, way),
    "/drover.v1.AgentService/Heartbeat": (raw: RawCall) => heartbeat.arrive(raw, way),
    "/drover.v1.AgentService/Complete": (raw: RawCall) => complete.arrive(raw, way),
    "/drover.v1.AgentService/AppendLogs": (raw: RawCall) => logs.arrive(raw, way),
  });
  const opened: { close(): Promise<void> }[] = [];
  async function openAddress(): Promise<Pipes> {
    const arrive = arriveAt(opened.length);
    const http2 = await openHttp2Side(arrive);
    const http1 = await openHttp1Side(arrive);
    const pipes = await openPipes({ http1: http1.port, http2: http2.port });
    opened.push({
      async close(): Promise<void> {
        await pipes.close();
        http2.close();
        http1.close();
      },
    });
    return pipes;
  }
  const pipes = await openAddress();
  return Object.freeze({
    ...pipes,
    poll,
    heartbeat,
    complete,
    logs,
    beside: openAddress,
    route(address: string): void {
      for (const { route } of [poll, heartbeat, complete, logs]) route(address);
    },
    async close(): Promise<void> {
      await Promise.all(opened.map(({ close }) => close()));
    },
  });
}
