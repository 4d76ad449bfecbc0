/** The calls of an agent to the server: the fields that each one carries, and its timeout. */
import { hostname } from "node:os";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AgentService,
  type AppendLogsResponse,
  type CompleteResponse,
  type HeartbeatResponse,
  type Next,
  type PollTaskResponse,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import type { AgentSettings } from "./agent-options.ts";
import { openChannel } from "./channel.ts";
import { wallMs } from "./clock.ts";
import { toDuration } from "./duration.ts";
import type { HeartbeatReport } from "./heartbeats.ts";
import type { PollCall } from "./polling.ts";
import type { Polls } from "./polls.ts";
import type { Result } from "./reports.ts";
import type { TaskLogMessage } from "./task-logs.ts";

/** Each call rejects with DroverCallError. */
export interface AgentCalls {
  poll(call: PollCall): Promise<PollTaskResponse>;
  /** `listsAllTo` as in the contract; 0: the reports are only some of the agent's tasks. */
  heartbeat(
    reports: HeartbeatReport[],
    listsAllTo: bigint,
    timeoutMs?: number,
  ): Promise<HeartbeatResponse>;
  /** `next`: the poll that the call carries, if any. */
  complete(results: Result[], next: Next | undefined): Promise<CompleteResponse>;
  appendLogs(logs: TaskLogMessage[]): Promise<AppendLogsResponse>;
  close(): void;
}

/** Timeout of one Heartbeat, Complete or AppendLogs. */
const callMs = 10_000;
/** The server answers a poll at the latest a second before its deadline. */
const pollMarginMs = 10_000;

const rpc = AgentService.method;

export function createAgentCalls(settings: AgentSettings, polls: Polls): AgentCalls {
  const { namespace, id, version, labels, queues, handlers, slots, clock } = settings;
  const channel = openChannel(settings.connection);
  const session = crypto.getRandomValues(new Uint8Array(16));
  const agent = { id, session, version, labels };
  const startedMs = clock.monotonicMs();
  const host = hostname();
  const processNow = () => ({
    host,
    pid: process.pid,
    runningFor: toDuration(clock.monotonicMs() - startedMs),
    capacity: slots,
    clockTime: timestampFromMs(wallMs()),
  });
  return Object.freeze({
    poll({ seq, maxTasks, waitMs, signal }: PollCall) {
      const request = {
        namespace,
        agent,
        pollSeq: seq,
        queues: [...queues],
        tasks: [...handlers.keys()],
        maxTasks,
        wait: toDuration(waitMs),
        lostPolls: polls.lostPolls(),
        process: processNow(),
      };
      return channel.unary(rpc.pollTask, request, { timeoutMs: waitMs + pollMarginMs, signal });
    },
    heartbeat(reports: HeartbeatReport[], listsAllTo: bigint, timeoutMs = callMs) {
      const lostPolls = polls.lostPolls();
      const request = { namespace, agent, lostPolls, reports, listsAllTo };
      return channel.unary(rpc.heartbeat, request, { timeoutMs });
    },
    complete(results: Result[], next: Next | undefined) {
      const request = { namespace, agent, results, ...(next && { next }) };
      return channel.unary(rpc.complete, request, { timeoutMs: callMs });
    },
    appendLogs(logs: TaskLogMessage[]) {
      return channel.unary(rpc.appendLogs, { namespace, agent, logs }, { timeoutMs: callMs });
    },
    close: channel.close,
  });
}
