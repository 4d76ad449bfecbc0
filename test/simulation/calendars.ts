// People of one namespace who maintain schedules: they create, pause, resume and delete them, run
// them now and backfill what has passed. After the heal the schedules continue for a while, and are
// then paused, so that all runs can end.
import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  BackfillScheduleRequestSchema,
  CreateScheduleRequestSchema,
  DeleteScheduleRequestSchema,
  OverlapPolicy,
  PauseScheduleRequestSchema,
  ResumeScheduleRequestSchema,
  type ScheduleSpec,
  ScheduleSpecSchema,
  TriggerScheduleRequestSchema,
} from "@drover/proto/drover/v1/schedule_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { payloadField } from "../../server/api/calls/payload.ts";
import type { Definition } from "../../server/core/definition/definition.ts";
import type { Chance } from "../../simulator/chance.ts";
import type { Client } from "./client.ts";
import type { ScheduleCommand } from "./history-facts.ts";
import { untilAnswered } from "./people.ts";
import { register } from "./registrar.ts";
import { json, QUEUES, QUICK } from "./workload.ts";
import { canaryOf } from "./world.ts";

const SCHEDULING_SHARE = 0.35;
/** The shortest that there is, so that occurrences come in a world that lasts some ten seconds. */
const EVERY_MS = 10_000;
const GOES_ON_MS_MAX = 8_000;

export async function maintainSchedules(client: Client): Promise<void> {
  const { process, namespace, world } = client;
  const { chance, clock } = process;
  if (!chance.happens(SCHEDULING_SHARE)) return;
  const canary = canaryOf(world, namespace);
  const workflow = `${canary}-by-the-clock`;
  const definition = { ...byTheClock(chance), workflow };
  while ((await register(client, definition)) === null) await clock.sleep(500);
  const names = Array.from({ length: chance.between(1, 2) }, (_, no) => `${canary}-clock-${no}`);
  await Promise.all(names.map((name) => maintain(client, name, workflow)));
  await clock.sleep(chance.between(0, GOES_ON_MS_MAX));
  for (const name of names) await pause(client, name);
  void pauseOnAndOn(client, names);
}

/** Some take so long that the next occurrence comes meanwhile. */
function byTheClock(chance: Chance): Omit<Definition, "workflow"> {
  const isLong = chance.happens(0.3);
  const wait = { kind: "wait", forMs: chance.between(4_000, 13_000) } as const;
  const queue = chance.pick(QUEUES);
  const retry = [{ attempts: 3, initialMs: 200 }];
  return {
    timeoutMs: 40_000,
    steps: [
      { id: "s0", needs: [], task: "book", queue, timeouts: QUICK, retry },
      ...(isLong ? [{ id: "s1", needs: ["s0"], ...wait }] : []),
    ],
  };
}

/** A call may still be in flight. */
async function pauseOnAndOn(client: Client, names: readonly string[]): Promise<void> {
  for (;;) {
    await client.process.clock.sleep(2_000);
    for (const name of names) await pause(client, name);
  }
}

async function maintain(client: Client, name: string, workflow: string): Promise<void> {
  const { world, process } = client;
  const { chance, clock } = process;
  const spec = randomSpec(client, workflow);
  await clock.sleep(chance.between(0, 2_000));
  world.faults.count("schedule made");
  await make(client, name, spec);
  for (let number = 1; ; number++) {
    await clock.sleep(chance.between(500, 5_000));
    if (world.faults.calm) return;
    const draw = chance.fraction();
    if (draw < 0.35) {
      world.faults.count("schedule paused");
      await pause(client, name);
      await clock.sleep(chance.between(100, 6_000));
      await resume(client, name);
    } else if (draw < 0.6) {
      world.faults.count("schedule run now");
      await runNow(client, name, `now-${number}`);
    } else if (draw < 0.8) {
      world.faults.count("schedule backfilled");
      await backfill(client, name);
    } else {
      world.faults.count("schedule deleted");
      await remove(client, name);
      await clock.sleep(chance.between(0, 2_000));
      await make(client, name, spec);
    }
  }
}

const OVERLAPS: readonly OverlapPolicy[] = [
  OverlapPolicy.SKIP,
  OverlapPolicy.BUFFER_ONE,
  OverlapPolicy.BUFFER_ALL,
  OverlapPolicy.CANCEL_OTHER,
  OverlapPolicy.ALLOW_ALL,
];

function randomSpec({ process, namespace, world }: Client, workflow: string): ScheduleSpec {
  const { chance } = process;
  const expression = "* * * * *";
  const offset = durationFromMs(chance.between(0, EVERY_MS - 1));
  return create(ScheduleSpecSchema, {
    workflow,
    ...payloadField("input", json({ canary: canaryOf(world, namespace) })),
    calendar: chance.happens(0.2)
      ? { case: "cron", value: { expression, timeZone: "Europe/Berlin" } }
      : { case: "interval", value: { every: durationFromMs(EVERY_MS), offset } },
    overlap: chance.pick(OVERLAPS),
    catchUp: durationFromMs(chance.happens(0.4) ? 10_000 : 3_600_000),
    jitter: durationFromMs(chance.happens(0.3) ? chance.between(100, 3_000) : 0),
  });
}

const done = { kind: "done", run: null, repeated: false } as const;
const ok = () => done;

function asked({ namespace }: Client, command: ScheduleCommand) {
  return { rpc: "ChangeSchedule", namespace, ...command } as const;
}

function make(client: Client, name: string, spec: ScheduleSpec): Promise<void> {
  const { namespace } = client;
  const request = create(CreateScheduleRequestSchema, { namespace, name, spec });
  const method = SchedulerService.method.createSchedule;
  const command = asked(client, { schedule: name, did: "create" });
  return untilAnswered(client, { method, request, asked: command, ok });
}

function pause(client: Client, name: string): Promise<void> {
  const { namespace } = client;
  const request = create(PauseScheduleRequestSchema, { namespace, name, reason: "chance" });
  const method = SchedulerService.method.pauseSchedule;
  const command = asked(client, { schedule: name, did: "pause" });
  return untilAnswered(client, { method, request, asked: command, ok });
}

function resume(client: Client, name: string): Promise<void> {
  const { namespace } = client;
  const request = create(ResumeScheduleRequestSchema, { namespace, name });
  const method = SchedulerService.method.resumeSchedule;
  const command = asked(client, { schedule: name, did: "resume" });
  return untilAnswered(client, { method, request, asked: command, ok });
}

function remove(client: Client, name: string): Promise<void> {
  const { namespace } = client;
  const request = create(DeleteScheduleRequestSchema, { namespace, name });
  const method = SchedulerService.method.deleteSchedule;
  const command = asked(client, { schedule: name, did: "delete" });
  return untilAnswered(client, { method, request, asked: command, ok });
}

function runNow(client: Client, name: string, requestId: string): Promise<void> {
  const { namespace } = client;
  const request = create(TriggerScheduleRequestSchema, { namespace, name, requestId });
  return untilAnswered(client, {
    method: SchedulerService.method.triggerSchedule,
    request,
    asked: asked(client, { schedule: name, did: "run", requestId }),
    ok: ({ runId, created }) => ({ kind: "scheduled", runId, created }),
  });
}

/** Occurrences that lie within the last half minute; what lies ahead of the clock is refused. */
function backfill(client: Client, name: string): Promise<void> {
  const { namespace, process, world } = client;
  const { chance } = process;
  const until = world.databaseClock.now() - chance.between(0, 5_000);
  const from = until - chance.between(5_000, 25_000);
  const request = create(BackfillScheduleRequestSchema, {
    namespace,
    name,
    concurrency: chance.between(1, 3),
    startTime: timestampFromMs(from),
    endTime: timestampFromMs(until),
  });
  return untilAnswered(client, {
    method: SchedulerService.method.backfillSchedule,
    request,
    asked: asked(client, { schedule: name, did: "backfill", from, until }),
    ok: ({ occurrences }) => ({
      kind: "batch",
      results: occurrences.map(({ runId, created }) => ({ kind: "scheduled", runId, created })),
    }),
  });
}
