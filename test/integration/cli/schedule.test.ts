// drover schedule, against a real server: each command of the guide, and what is refused.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { callDrover } from "../../support/drover-call.ts";
import type { Ended } from "../../support/drover-process.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";

const GUIDE = new URL("../../../docs/SCHEDULES.md", import.meta.url);
const DAY = 86_400_000;

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
  for (const workflow of ["etl", "cache"])
    await client.registerWorkflow({ workflow, steps: [{ id: "go", signal: "go" }] });
});
afterAll(async () => {
  client.close();
  await server.stop();
});

function drover(...args: readonly string[]): Promise<Ended> {
  return callDrover(args, { env: { DROVER_ADDRESS: server.address } });
}

async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await drover(...args);
  if (code !== 0) throw new Error(`drover ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** The words of a line of a shell. */
function words(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

test("each command of the guide does what the guide promises, one after the other", async () => {
  const [, shell = ""] = /^```sh\n(.*?)^```$/ms.exec(readFileSync(GUIDE, "utf8")) ?? [];
  const outputs: string[] = [];
  for (const line of shell.trim().split("\n")) outputs.push(await done(...words(line).slice(1)));
  expect(outputs[0]).toBe("schedule nightly created\n");
  expect(outputs[2]).toMatch(
    /^nightly +etl +30 2 \* \* MON-FRI Europe\/Berlin +on +\d{4}-\d\d-\d\d/m,
  );
  expect(outputs[2]).toMatch(/^refresh +cache +every 15m00s +on/m);
  expect(outputs[3]).toMatch(/^overlap +skip$/m);
  expect(outputs[3]).toMatch(/T02:30:00\[Europe\/Berlin\]$/m);
  expect(outputs[4]).toBe("schedule nightly paused\n");
  expect(outputs[5]).toBe("schedule nightly resumed\n");
  expect(outputs[6]).toMatch(/^run \S+ started$/m);
  expect(outputs[7]?.match(/would start/g)).toHaveLength(23);
  expect(outputs[8]).toBe("schedule nightly changed\n");
  expect(outputs[9]).toBe("schedule nightly deleted\n");
});

describe("a schedule", () => {
  const daily = ["--cron", "0 0 * * *"];

  test("is backfilled, and its runs are listed with it and found by its label", async () => {
    await done("schedule", "create", "days", "etl", ...daily);
    const range = ["--from", "2025-03-01", "--to", "2025-03-04", "--concurrency", "2"];
    const first = await done("schedule", "backfill", "days", ...range);
    expect(first.match(/ started/g)).toHaveLength(3);
    const again = await done("schedule", "backfill", "days", ...range, "-o", "json");
    const { occurrences } = JSON.parse(again);
    expect(occurrences).toHaveLength(3);
    const described = await done("schedule", "show", "days");
    for (const { runId } of occurrences) expect(described).toContain(runId);
    expect(described).toMatch(/started +\S+ +pending +2025-03-03T00:00:00\[UTC\]/);
    const runs = await done("run", "list", "--label", "drover.schedule=days", "-o", "json");
    expect(
      JSON.parse(runs)
        .runs.map(({ runId }: { runId: string }) => runId)
        .sort(),
    ).toEqual(occurrences.map(({ runId }: { runId: string }) => runId).sort());
    await done("schedule", "delete", "days");
  });

  test.for<[string, readonly string[], string]>([
    ["a cron that is none", ["--cron", "0 2 * *"], "spec.cron.expression"],
    ["a zone that is none", ["--cron", "0 2 * * *", "--time-zone", "Bonn"], "no time zone"],
    ["an interval that is too short", ["--every", "5s"], "spec.interval.every"],
  ])("with %s is refused: what is wrong is printed, and nothing made", async ([, args, why]) => {
    const { code, stderr } = await drover("schedule", "create", "bad", "etl", ...args);
    expect(code).toBe(1);
    expect(stderr).toContain(why);
    expect((await drover("schedule", "show", "bad")).code).toBe(4);
  });

  test("needs a calendar, and one of them", async () => {
    const none = await drover("schedule", "create", "bad", "etl");
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining("give the times of the schedule"),
    ]);
    const both = await drover("schedule", "create", "bad", "etl", ...daily, "--every", "1h");
    expect(both.code).toBe(2);
  });

  test("is made, changed, run and deleted through the SDK", async () => {
    const { schedules } = client;
    const spec = {
      calendar: { every: "1h", offset: "5m" },
      workflow: "cache",
      input: { shop: 7 },
      overlap: "buffer-one" as const,
    };
    const made = await schedules.create("hourly", spec);
    expect(made).toMatchObject({
      created: true,
      schedule: { calendar: { everyMs: 3_600_000, offsetMs: 300_000 }, overlap: "buffer-one" },
    });
    expect((await schedules.create("hourly", spec)).created).toBe(false);
    const first = await schedules.trigger("hourly", { requestId: "r1" });
    expect(await schedules.trigger("hourly", { requestId: "r1" })).toEqual({
      runId: first.runId,
      created: false,
    });
    const second = await schedules.trigger("hourly");
    await expect(schedules.trigger("hourly")).rejects.toMatchObject({
      reason: "CONCURRENCY_LIMIT",
    });
    const { last } = await schedules.get("hourly");
    expect(last.map(({ runId, runState, cause }) => [runId, runState, cause])).toEqual([
      [second.runId, "PENDING", "TRIGGER"],
      [first.runId, "RUNNING", "TRIGGER"],
    ]);
    expect(await schedules.pause("hourly", { reason: "why" })).toMatchObject({
      paused: { reason: "why" },
    });
    expect((await schedules.resume("hourly")).paused).toBeNull();
    const changed = await schedules.update("hourly", { ...spec, calendar: { cron: "@daily" } });
    expect(changed.calendar).toEqual({ cron: "@daily", timeZone: "UTC" });
    const range = { start: new Date(Date.now() - 4 * DAY), end: new Date(Date.now() - DAY) };
    const seen = await Array.fromAsync(schedules.backfill("hourly", { ...range, dryRun: true }));
    expect(seen.map(({ runId }) => runId)).toEqual([null, null, null]);
    expect((await schedules.list()).schedules.map(({ name }) => name)).toContain("hourly");
    expect(await schedules.delete("hourly")).toEqual({ deleted: true });
  });
});

test("a schedule whose workflow is paused is held, and says how to resume it", async () => {
  await client.registerWorkflow({ workflow: "report", steps: [{ id: "go", task: "go" }] });
  await done("schedule", "create", "hourly", "report", "--every", "1h");
  await done("schedule", "create", "daily", "report", "--every", "24h", "--paused");
  expect(await done("schedule", "list")).toMatch(/^hourly +report +every 1h00m +on /m);
  await done("workflow", "pause", "report", "--reason", "wrong prices");
  const listed = await done("schedule", "list");
  expect(listed).toMatch(/^hourly +report +every 1h00m +held: workflow is paused /m);
  expect(listed).toMatch(/^daily +report +\S+ +\S+ +paused/m);
  const shown = await drover("schedule", "show", "hourly");
  expect(shown.stdout).toMatch(/^held +workflow is paused, since \S+ \S+Z: wrong prices$/m);
  expect(shown.stderr).toContain("next: drover workflow resume report");
  expect(await done("status")).toContain(
    'workflow "report" is paused and holds 1 schedule: wrong prices',
  );
  await done("workflow", "resume", "report");
  expect(await done("schedule", "list")).toMatch(/^hourly +report +every 1h00m +on /m);
  expect(await done("status")).not.toContain("is paused");
});

test("a run beside which the overlap policy allows no other is named", async () => {
  await done("schedule", "create", "often", "etl", "--every", "24h");
  const [, runId = ""] = /run (\S+)/.exec(await done("schedule", "run", "often")) ?? [];
  const again = await drover("schedule", "run", "often");
  expect(again.code).toBe(1);
  expect(again.stderr).toContain(`overlap is skip, and the run ${runId} is still open`);
});
