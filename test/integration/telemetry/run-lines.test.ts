/** The log lines about runs, on a real PostgreSQL, and the data that they never contain. */
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { spanLines } from "../../../server/telemetry/span-lines.ts";
import { SPANS, type SpanData } from "../../../server/telemetry/spans.ts";
import { endOf, openPlane, scheduleInline, testAgent } from "../../support/control-plane.ts";
import { undoneBy, workflow } from "../../support/core-world.ts";
import { createTestDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const CANARY = "canary-7";

interface Line {
  readonly event: string;
  readonly run?: string;
  readonly [field: string]: unknown;
}

async function given(level: string) {
  const lines: Line[] = [];
  const log = pino({ level, base: null }, { write: (text) => void lines.push(JSON.parse(text)) });
  const { connectionString, drop } = await createTestDatabase();
  onTestFinished(drop);
  const plane = await openPlane(connectionString, { log });
  onTestFinished(plane.close);
  return { plane, lines };
}

/** A run that is undone after a failure, with the canary wherever a caller can write. */
async function aRun({ plane }: Awaited<ReturnType<typeof given>>): Promise<string> {
  const definition = workflow({
    a: { compensate: undoneBy("undo") },
    b: { needs: ["a"], onFailure: "compensate" },
  });
  const runId = await scheduleInline(plane, definition, { secret: CANARY });
  const agent = testAgent(plane, "worker");
  const output = { kind: "json", json: `"${CANARY}"` } as const;
  await agent.report(await agent.take(), { kind: "success", output });
  const failed = { kind: "failure", class: "permanent", code: "gone" } as const;
  const failure = { message: CANARY, retryAfterMs: null, noEffect: false };
  await agent.report(await agent.take(), { ...failed, ...failure });
  await agent.report(await agent.take(), { kind: "success", output });
  await endOf(plane, runId);
  return runId;
}

test("a line is logged for each that happened, with run, step and attempt, and no payload", async () => {
  const world = await given("debug");
  const runId = await aRun(world);
  const logged = await until("the line of the run's end", () => {
    const own = world.lines.filter(({ run }) => run === runId);
    return own.some(({ event }) => event === "run") ? own : null;
  });
  expect(logged.map(({ event, step }) => [event, step])).toEqual(
    expect.arrayContaining([
      ["queue", "a"],
      ["perform", "a"],
      ["perform", "b"],
      ["stop", undefined],
      ["compensate", "a"],
      ["run", undefined],
    ]),
  );
  expect(logged.find(({ event, outcome }) => event === "perform" && outcome === "failure")).toEqual(
    {
      level: 30,
      time: expect.any(Number),
      event: "perform",
      ms: expect.any(Number),
      run: runId,
      step: "b",
      attempt: 1,
      fence: 1,
      task: "perform",
      queue: "default",
      agent: "worker",
      outcome: "failure",
      "error.type": "gone",
      msg: "perform b",
    },
  );
  for (const { event } of logged) expect(Object.keys(SPANS)).toContain(event);
  expect(JSON.stringify(world.lines)).not.toContain(CANARY);
});

test("a server that logs only what is wrong logs nothing of runs", async () => {
  const world = await given("warn");
  await aRun(world);
  expect(world.lines).toEqual([]);
});

test("a line of a run that is traced names its trace and its span", () => {
  const lines: Line[] = [];
  const log = pino({ level: "info" }, { write: (text) => void lines.push(JSON.parse(text)) });
  const ids = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
  const span: SpanData = {
    of: "perform",
    name: "perform a",
    role: "client",
    ...ids,
    parentId: null,
    state: "",
    startMs: 1_000,
    endMs: 3_500,
    error: null,
    links: [],
    attributes: { "drover.run.id": "r1", "drover.step.id": "a", "drover.attempt": 2 },
  };
  spanLines(log)?.([span], {});
  spanLines(log)?.([span], null);
  const about = { event: "perform", ms: 2_500, run: "r1", step: "a", attempt: 2 };
  expect(lines[0]).toMatchObject({ ...about, trace: ids.traceId, span: ids.spanId });
  expect(lines[1]).toMatchObject(about);
  expect(lines[1]).not.toHaveProperty("trace");
});
