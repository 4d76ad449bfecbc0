// drover queue list, pause, resume and limit.
import { afterAll, beforeAll, expect, test } from "vitest";
import { drover } from "../../support/drover-process.ts";
import { type FakeScheduler, startFakeScheduler } from "../../support/fake-scheduler.ts";

const AT = { seconds: 1_767_225_600n };

let server: FakeScheduler;
beforeAll(async () => {
  server = await startFakeScheduler();
});
afterAll(() => server.stop());

const queue = (...args: readonly string[]) =>
  drover(["queue", ...args], { env: { DROVER_ADDRESS: server.address } });

test("a queue is paused for a reason, and the way back is said", async () => {
  const asked: object[] = [];
  server.play({
    pauseQueue: (request) => {
      asked.push(request);
      const pause = { sinceTime: AT, reason: "the bank is down" };
      return { queue: { name: "bank", depth: 7, leased: 2, pause } };
    },
  });
  const { code, stdout, stderr } = await queue("pause", "bank", "--reason", "the bank is down");
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout:
      "queue bank is paused since 2026-01-01 00:00:00Z: the bank is down; 7 wait, 2 with agents\n",
  });
  expect(stderr).toContain("drover queue resume bank");
  expect(asked).toMatchObject([
    { namespace: "default", queue: "bank", reason: "the bank is down" },
  ]);
});

test("a queue is resumed", async () => {
  server.play({ resumeQueue: () => ({ queue: { name: "bank", depth: 7 } }) });
  const { stdout } = await queue("resume", "bank");
  expect(stdout).toBe("queue bank is not paused; 7 wait, 0 with agents\n");
});

test("queues are listed with what waits, and a paused namespace is said", async () => {
  server.play({
    listQueues: () => ({
      queues: [
        {
          ...{ name: "bank", depth: 10_000, leased: 3, agents: 2, oldestTime: AT },
          pause: { sinceTime: AT, reason: "" },
        },
        { name: "mail" },
      ],
      namespacePause: { sinceTime: AT, reason: "moving" },
    }),
  });
  const { stdout, stderr } = await queue("list");
  expect(stdout).toMatch(
    /bank +10000 or more +2026-01-01 00:00:00Z +3 +2 +since 2026-01-01 00:00:00Z/,
  );
  expect(stderr).toContain("the namespace is paused since 2026-01-01 00:00:00Z: moving");
});

test("limits are set all at once, and taken away", async () => {
  const asked: unknown[] = [];
  server.play({
    setQueueLimits: ({ limits }) => {
      asked.push(limits);
      const given = limits?.leased ? { limits: { ...limits, burst: 5 } } : {};
      return { queue: { name: "bank", ...given } };
    },
  });
  const { stdout } = await queue("limit", "bank", "--leased", "10", "--per-second", "4.5");
  expect(stdout).toBe("queue bank limits: 10 with agents; 4.5 a second, 5 at once\n");
  expect((await queue("limit", "bank", "--none")).stdout).toBe("queue bank limits: none\n");
  expect(asked).toMatchObject([
    { leased: 10, perSecond: 4.5, burst: 0 },
    { leased: 0, perSecond: 0, burst: 0 },
  ]);
});

test.for([[], ["--none", "--leased", "3"], ["--per-second", "lots"], ["--leased", "0"]])(
  "limits that say nothing, or two things, are a mistake of usage: %o",
  async (args) => {
    expect((await queue("limit", "bank", ...args)).code).toBe(2);
  },
);
