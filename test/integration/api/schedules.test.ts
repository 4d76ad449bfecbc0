/** Schedules over the wire: what is refused, with the path of the field, and nothing stored. */
import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { OverlapPolicy, type ScheduleSpecSchema } from "@drover/proto/drover/v1/schedule_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import { startWorld, type World } from "./rpc-world.ts";

const rpc = SchedulerService.method;
type Spec = MessageInitShape<typeof ScheduleSpecSchema>;
const seconds = (count: number) => ({ seconds: BigInt(count), nanos: 0 });
const cron = (expression: string, timeZone = "Europe/Berlin"): Pick<Spec, "calendar"> => {
  return { calendar: { case: "cron", value: { expression, timeZone } } };
};
const every = (s: number, offset = 0): Pick<Spec, "calendar"> => {
  const value = { every: seconds(s), offset: seconds(offset) };
  return { calendar: { case: "interval", value } };
};
const NIGHTLY: Spec = { ...cron("30 2 * * *"), workflow: "holiday" };

let world: World;
let grpc: GrpcClient;
beforeEach(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  grpc.close();
  await world.close();
});

async function ask<M extends Parameters<GrpcClient["unary"]>[0]>(
  method: M,
  request: MessageInitShape<M["input"]>,
): Promise<MessageShape<M["output"]>> {
  const { answer, message } = await grpc.unary(method, request);
  if (!answer) throw new Error(message);
  return answer as MessageShape<M["output"]>;
}

const create = (spec: Spec, name = "nightly") => grpc.unary(rpc.createSchedule, { name, spec });

describe("a schedule", () => {
  test("is made once, and listed with its next times", async () => {
    const first = await ask(rpc.createSchedule, { name: "nightly", spec: NIGHTLY });
    expect(first.created).toBe(true);
    const occurrences = first.schedule?.next.map(({ nominalTime }) => nominalTime);
    expect(occurrences?.slice(0, 2)).toEqual([
      "2026-01-01T02:30:00[Europe/Berlin]",
      "2026-01-02T02:30:00[Europe/Berlin]",
    ]);
    expect(occurrences).toHaveLength(10);
    expect(first.schedule?.spec).toMatchObject({
      workflow: "holiday",
      priority: 5,
      overlap: OverlapPolicy.SKIP,
      catchUp: { seconds: 3_600n },
      jitter: { seconds: 0n },
    });
    expect((await ask(rpc.createSchedule, { name: "nightly", spec: NIGHTLY })).created).toBe(false);
    const other = await create({ ...NIGHTLY, priority: 1 });
    expect(other.reason).toBe("SCHEDULE_EXISTS");
  });

  test("is listed by name, paused with its reason, resumed, changed and deleted", async () => {
    for (const name of ["b", "a"]) await ask(rpc.createSchedule, { name, spec: NIGHTLY });
    const { schedules } = world.store;
    world.lists.schedules = async (namespaceId, { after, limit }) => {
      const both = await Promise.all(["a", "b"].map((name) => schedules.find(namespaceId, name)));
      const known = both.filter((one) => one !== null);
      return known.filter(({ name }) => after === null || name > after).slice(0, limit);
    };
    const page = await ask(rpc.listSchedules, { pageSize: 1 });
    expect(page.schedules.map(({ name, next }) => [name, next.length])).toEqual([["a", 3]]);
    const rest = await ask(rpc.listSchedules, { pageSize: 1, pageToken: page.nextPageToken });
    expect(rest).toMatchObject({ schedules: [{ name: "b" }], nextPageToken: "" });
    const paused = await ask(rpc.pauseSchedule, { name: "a", reason: "holidays" });
    expect(paused.schedule).toMatchObject({ pause: { reason: "holidays" }, next: [] });
    const { schedule } = await ask(rpc.resumeSchedule, { name: "a" });
    expect(schedule?.pause).toBeUndefined();
    const spec = { ...every(90), workflow: "holiday", overlap: OverlapPolicy.BUFFER_ALL };
    const changed = await ask(rpc.updateSchedule, { name: "a", spec });
    expect(changed.schedule?.spec?.overlap).toBe(OverlapPolicy.BUFFER_ALL);
    expect(changed.schedule?.next[0]?.nominalTime).toBe("2026-01-01T00:01:30Z");
    expect(await ask(rpc.deleteSchedule, { name: "a" })).toMatchObject({ deleted: true });
    expect(await ask(rpc.deleteSchedule, { name: "a" })).toMatchObject({ deleted: false });
  });

  test.for<[string, Spec, string, string]>([
    ["no cron", { ...NIGHTLY, ...cron("61 * * * *") }, "spec.cron.expression", "minute: 61"],
    ["six fields", { ...NIGHTLY, ...cron("0 0 2 * * *") }, "spec.cron.expression", "five fields"],
    ["no such day", { ...NIGHTLY, ...cron("0 0 30 2 *") }, "spec.cron.expression", "never occurs"],
    ["no zone", { ...NIGHTLY, ...cron("0 2 * * *", "Berlin") }, "spec.cron.time_zone", '"Berlin"'],
    ["too often", { ...NIGHTLY, ...every(9) }, "spec.interval.every", "9.0s"],
    ["a late offset", { ...NIGHTLY, ...every(60, 60) }, "spec.interval.offset", "less than every"],
    ["no calendar", { workflow: "holiday" }, "spec.calendar", "exactly one of cron, interval"],
    ["a short window", { ...NIGHTLY, catchUp: seconds(1) }, "spec.catch_up", "1.0s"],
    [
      "a key of its own beside its policy",
      { ...NIGHTLY, concurrency: { key: "warehouse" } },
      ...(["spec.concurrency", "ALLOW_ALL"] as const),
    ],
  ])("with %s is refused, and not stored", async ([, spec, path, why]) => {
    const { code, reason, message, fields } = await create(spec);
    expect([code, reason]).toEqual([3, "INVALID_REQUEST"]);
    expect(fields.map(([path]) => path)).toContain(path);
    expect(`${message} ${fields.map(([, why]) => why).join()}`).toContain(why);
    expect((await grpc.unary(rpc.getSchedule, { name: "nightly" })).reason).toBe(
      "SCHEDULE_NOT_FOUND",
    );
  });

  test("of a workflow that there is not, or of a hook, is refused", async () => {
    const gone = await create({ ...NIGHTLY, workflow: "gone" });
    expect(gone.reason).toBe("WORKFLOW_NOT_FOUND");
    const hook = await create({ ...NIGHTLY, notifyHook: "ops" });
    expect(hook.reason).toBe("HOOK_NOT_FOUND");
  });

  test("that is not there is NOT_FOUND by every call", async () => {
    const range = { startTime: seconds(0), endTime: seconds(60) };
    const calls = [
      grpc.unary(rpc.getSchedule, { name: "gone" }),
      grpc.unary(rpc.updateSchedule, { name: "gone", spec: NIGHTLY }),
      grpc.unary(rpc.pauseSchedule, { name: "gone" }),
      grpc.unary(rpc.resumeSchedule, { name: "gone" }),
      grpc.unary(rpc.triggerSchedule, { name: "gone", requestId: "r" }),
      grpc.unary(rpc.backfillSchedule, { name: "gone", ...range }),
    ];
    for (const answer of await Promise.all(calls))
      expect([answer.code, answer.reason]).toEqual([5, "SCHEDULE_NOT_FOUND"]);
  });

  test("is backfilled page by page; an empty range or one to come is refused", async () => {
    await ask(rpc.createSchedule, { name: "often", spec: { ...every(10), workflow: "holiday" } });
    const now = Date.UTC(2026, 0, 1) / 1_000;
    const asked = { name: "often", endTime: seconds(now), dryRun: true };
    const page = await ask(rpc.backfillSchedule, { ...asked, startTime: seconds(now - 6_000) });
    expect(page).toMatchObject({ count: 600, nextStartTime: { seconds: BigInt(now - 1_000) } });
    expect(page.occurrences).toHaveLength(500);
    const startTime = page.nextStartTime;
    const rest = await ask(rpc.backfillSchedule, { ...asked, ...(startTime && { startTime }) });
    expect(rest.occurrences).toHaveLength(100);
    expect(rest.nextStartTime).toBeUndefined();
    const wrong = [
      { startTime: seconds(now), endTime: seconds(now) },
      { startTime: seconds(now), endTime: seconds(now + 60) },
    ];
    for (const range of wrong) {
      const { fields } = await grpc.unary(rpc.backfillSchedule, { ...asked, ...range });
      expect(fields.map(([path]) => path)).toEqual(["end_time"]);
    }
  });
});
