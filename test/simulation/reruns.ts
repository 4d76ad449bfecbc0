// A client that reruns runs that have ended, and some that have not. It repeats calls that were not
// answered, and reuses a request id for another request.
import { create } from "@bufbuild/protobuf";
import {
  RerunFromRequestSchema,
  type RerunFromResponse,
  RerunVersion,
  RetryRunRequestSchema,
  type RetryRunResponse,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { payloadField } from "../../server/api/calls/payload.ts";
import { type Client, recordAnswer } from "./client.ts";
import type { Request } from "./history.ts";
import { answerSeen, isToRepeat } from "./seen.ts";
import type { ServerProcess } from "./server-process.ts";
import { runInput } from "./workload.ts";
import { canaryOf } from "./world.ts";

const CALL_MS_MAX = 3_000;
const TRIES_MAX = 20;
const REQUEST_IDS = 2;

interface Wish {
  readonly runId: string;
  readonly requestId: string;
  readonly from: string | null;
  readonly version: RerunVersion;
  readonly changed: boolean;
}

export async function rerunSome(client: Client): Promise<void> {
  const { world, process, runIds } = client;
  const { chance, clock } = process;
  while (!world.faults.calm) {
    await clock.sleep(chance.between(300, 3_000));
    if (runIds.length < 4 || world.faults.calm) continue;
    const wish = {
      // The oldest are those that may have ended.
      runId: chance.pick(runIds.slice(0, -3)),
      requestId: `again-${chance.between(1, REQUEST_IDS)}`,
      from: chance.happens(0.6) ? null : chance.pick(["", "s0", "s1", "s2"]),
      version: chance.happens(0.15) ? RerunVersion.NEWEST : RerunVersion.SAME,
      changed: chance.happens(0.3),
    };
    world.faults.count(wish.from === null ? "retried" : "re-run");
    void untilAnswered(client, wish);
  }
}

async function untilAnswered(client: Client, wish: Wish): Promise<void> {
  const { world, process, runIds } = client;
  const { chance, clock } = process;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const server = chance.pick(world.servers);
    const call = world.recorder.call(process.name, server.name, askedOf(client, wish));
    const reply = await send(client, server, wish);
    const answer = answerSeen<RerunFromResponse | RetryRunResponse>(
      reply,
      ({ runId, created }) => ({
        kind: "scheduled",
        runId,
        created,
      }),
    );
    recordAnswer(client, call, answer, reply.bytes);
    if (answer.kind === "scheduled" && answer.created) runIds.push(answer.runId);
    if (!isToRepeat(answer)) return;
    await clock.sleep(chance.between(50, 600));
  }
}

function askedOf({ namespace }: Client, wish: Wish): Request {
  const { runId, requestId, from, version, changed } = wish;
  const digest = JSON.stringify([from, version, from !== null && changed]);
  const rpc = from === null ? "RetryRun" : "RerunFrom";
  return { rpc, namespace, runId, requestId, from, digest };
}

function send(client: Client, server: ServerProcess, wish: Wish) {
  const { world, process, namespace } = client;
  const { runId, requestId, from, version, changed } = wish;
  const run = { ref: { case: "runId", value: runId } } as const;
  const common = { namespace, run, requestId, version };
  const { retryRun, rerunFrom } = SchedulerService.method;
  if (from === null) {
    const request = create(RetryRunRequestSchema, common);
    return world.network.unary(process, server, retryRun, request, CALL_MS_MAX);
  }
  const input = changed ? payloadField("input", runInput(canaryOf(world, namespace))) : {};
  const request = create(RerunFromRequestSchema, { ...common, stepId: from, ...input });
  return world.network.unary(process, server, rerunFrom, request, CALL_MS_MAX);
}
