// A peer that opens streams and cancels them at once loses its connection, and the next ones
// sooner; others are served meanwhile, on both transports, and another server of the same process
// knows nothing of it.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { rapidResets } from "../../support/http2-bytes.ts";
import { type GrpcClient, grpcClient, postJson } from "./rpc-clients.ts";
import { RUN_ID, startWorld, type World } from "./rpc-world.ts";

const { getRun } = SchedulerService.method;
const run = { ref: { case: "runId" as const, value: RUN_ID } };
const PATH = `/${AgentService.typeName}/PollTask`;
/** Fewer than Node itself would end a connection for. */
const MANY = 900;
const FEW = 50;

let world: World;
let grpc: GrpcClient;
const sockets: Socket[] = [];
beforeEach(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  grpc.close();
  await world.close();
});

function attack(streams: number, port = world.port): Socket {
  const socket = connect(port, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined).resume();
  socket.write(rapidResets(streams, PATH));
  return socket;
}

async function othersAreServed(): Promise<void> {
  expect((await grpc.unary(getRun, { run })).code).toBe(0);
  const json = await postJson(world.port, getRun, { run: { runId: RUN_ID } });
  expect(json.http).toBe(200);
}

test("its connection is closed while calls of others continue, over gRPC and over HTTP/1.1", async () => {
  await othersAreServed();
  const one = attack(MANY);
  const other = attack(MANY);
  const closed = Promise.all([once(one, "close"), once(other, "close")]);
  await othersAreServed();
  await closed;
  await othersAreServed();
  expect(world.logged.filter((line) => line.includes("cancels streams"))).toHaveLength(1);
});

test("the next connections of its address are closed after fewer, and can be used as any", async () => {
  const first = attack(FEW);
  const open = grpcClient(world.port);
  expect((await open.unary(getRun, { run })).code).toBe(0);
  expect(first.destroyed).toBe(false);
  await once(attack(MANY), "close");
  await once(attack(FEW), "close");
  const late = grpcClient(world.port);
  expect((await late.unary(getRun, { run })).code).toBe(0);
  late.close();
  open.close();
  await othersAreServed();
});

test("another server in the same process trusts its address as before", async () => {
  const other = await startWorld();
  await once(attack(MANY), "close");
  const there = attack(FEW, other.port);
  const open = grpcClient(other.port);
  expect((await open.unary(getRun, { run })).code).toBe(0);
  expect(there.destroyed).toBe(false);
  expect(other.logged.filter((line) => line.includes("cancels streams"))).toEqual([]);
  open.close();
  await other.close();
});
