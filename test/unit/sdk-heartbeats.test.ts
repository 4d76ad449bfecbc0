/** The cost of heartbeats for an agent that holds thousands of tasks. */
import { create } from "@bufbuild/protobuf";
import { HeartbeatResponseSchema } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { TaskSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { expect, it } from "vitest";
import { createHeartbeats } from "../../sdk/typescript/heartbeats.ts";
import type { HeldTask } from "../../sdk/typescript/held-task.ts";
import { createManualClock } from "../support/manual-clock.ts";

const HEARTBEAT_EVERY_MS = 5_000;
const nothing = () => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

it("no task that comes or goes makes it read all others", async () => {
  const clock = createManualClock();
  const calls: number[] = [];
  const heartbeats = createHeartbeats({
    clock,
    log,
    send: async (reports) => {
      calls.push(reports.length);
      return create(HeartbeatResponseSchema, { answers: reports.map(() => ({})) });
    },
    endedTo: () => 1n,
  });
  let reads = 0;
  const tasks = Array.from({ length: 1_000 }, () => task(() => reads++));
  for (const one of tasks) heartbeats.add(one);
  for (const one of tasks.slice(0, 900)) heartbeats.remove(one);
  expect(reads).toBe(0);

  await clock.armed(HEARTBEAT_EVERY_MS);
  clock.advance(HEARTBEAT_EVERY_MS);
  await expect.poll(() => calls).toEqual([100]);
  expect(reads).toBeLessThan(1_000);
});

it("what a timer was set for may be gone: the next one that is due counts", async () => {
  const clock = createManualClock();
  let sent = 0;
  const heartbeats = createHeartbeats({
    clock,
    log,
    send: async (reports) => {
      sent += 1;
      return create(HeartbeatResponseSchema, { answers: reports.map(() => ({})) });
    },
    endedTo: () => 1n,
  });
  const first = task(nothing);
  heartbeats.add(first);
  clock.advance(1_000);
  heartbeats.add(task(nothing));
  heartbeats.remove(first);
  clock.advance(HEARTBEAT_EVERY_MS - 1_000);
  expect(sent).toBe(0);
  clock.advance(1_000);
  expect(sent).toBe(1);
});

function task(onRead: () => void): HeldTask {
  return {
    task: create(TaskSchema, { taskToken: "token" }),
    heartbeatIntervalMs: HEARTBEAT_EVERY_MS,
    signal: new AbortController().signal,
    stopped: () => null,
    leftMs: () => 15_000,
    listed: () => {
      onRead();
      return true;
    },
    note: nothing,
    notes: () => ({}),
    noted: nothing,
    carryOn: nothing,
    cancel: nothing,
    lose: nothing,
    stop: nothing,
    end: nothing,
    close: nothing,
  };
}
