// drover queue list, pause, resume and limit.
import { afterAll, beforeAll, expect, test } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import { type FakeScheduler, startFakeScheduler } from "../../support/fake-scheduler.ts";

const AT = { seconds: 1_767_225_600n };

let server: FakeScheduler;
beforeAll(async () => {
  server = await startFakeScheduler();
});
afterAll(() => server.stop());

const queue = (...args: readonly string[]) =>
  callDrover(["queue", ...args], { env: { DROVER_ADDRESS: server.address } });

test("a queue is paused for a reason, and the way back is printed", async () => {
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
      "queue bank paused since 2026-01-01 00:00:00Z: the bank is down; 7 waiting, 2 in progress\n",
  });
  expect(stderr).toContain("drover queue resume bank");
  expect(asked).toMatchObject([
    { namespace: "default", queue: "bank", reason: "the bank is down" },
  ]);
});

test("a queue is resumed", async () => {
  server.play({ resumeQueue: () => ({ queue: { name: "bank", depth: 7 } }) });
  const { stdout } = await queue("resume", "bank");
  expect(stdout).toBe("queue bank resumed: 7 waiting, 0 in progress\n");
});

test("queues are listed with what waits, and a paused namespace is printed", async () => {
  server.play({
    listQueues: () => ({
      queues: [
        {
          name: "bank",
          depth: 10_000,
          leased: 3,
          agents: 2,
          oldestTime: AT,
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
  expect(stdout).toBe("queue bank limits: 10 in progress; 4.5 a second, 5 at once\n");
  expect((await queue("limit", "bank", "--none")).stdout).toBe("queue bank limits: none\n");
  expect(asked).toMatchObject([
    { leased: 10, perSecond: 4.5, burst: 0 },
    { leased: 0, perSecond: 0, burst: 0 },
  ]);
});

const PINS = [
  { workflow: "refund", version: 0, agentVersion: "2.0", pinnedTime: AT },
  { workflow: "refund", version: 7, agentVersion: "2.1", pinnedTime: AT },
];

test("tasks of a workflow are pinned to a version of agents, and the way back is printed", async () => {
  const asked: object[] = [];
  server.play({
    pinQueue: (request) => {
      asked.push(request);
      return { pins: PINS };
    },
    unpinQueue: (request) => {
      asked.push(request);
      return { pins: request.version === 0 ? [] : PINS.slice(0, 1) };
    },
  });
  const of = ["bank", "--workflow", "refund"];
  const pinned = await queue("pin", ...of, "--version", "7", "--agent-version", "2.1");
  expect(pinned.stdout).toBe(
    "queue bank gives the tasks of refund version 7 only to agents of version 2.1\n",
  );
  expect(pinned.stderr).toContain("drover queue unpin bank --workflow refund --version 7");
  expect((await queue("unpin", ...of, "--version", "7")).stdout).toBe(
    "queue bank gives the tasks of refund version 7 only to agents of version 2.0\n",
  );
  expect((await queue("unpin", ...of)).stdout).toBe(
    "queue bank gives the tasks of refund to any agent\n",
  );
  expect(asked).toMatchObject([
    { namespace: "default", queue: "bank", workflow: "refund", version: 7, agentVersion: "2.1" },
    { queue: "bank", workflow: "refund", version: 7 },
    { queue: "bank", workflow: "refund", version: 0 },
  ]);
});

test.for([
  ["pin", "bank", "--agent-version", "2"],
  ["pin", "bank", "--workflow", "refund"],
  ["pin", "bank", "--workflow", "refund", "--agent-version", "2", "--version", "0"],
  ["unpin", "bank"],
])("a pin without what or to whom is a mistake of usage: %o", async (args) => {
  expect((await queue(...args)).code).toBe(2);
});

test("a queue is described with its pins, and with what waits for a version beside the rest", async () => {
  server.play({
    getQueue: () => ({
      queue: { name: "bank", depth: 5 },
      pins: PINS,
      tasks: [
        { task: "charge", depth: 3, agents: 4 },
        { task: "charge", agentVersion: "2.1", depth: 2, agents: 1 },
      ],
    }),
  });
  const { stdout } = await queue("show", "bank");
  expect(stdout).toMatch(/PINNED +VERSION +TO AGENT VERSION +SINCE/);
  expect(stdout).toMatch(/refund +any +2\.0 +2026-01-01 00:00:00Z/);
  expect(stdout).toMatch(/refund +7 +2\.1 +2026-01-01 00:00:00Z/);
  expect(stdout).toMatch(/charge +any +3 /);
  expect(stdout).toMatch(/charge +2\.1 +2 /);
});

test.for([[], ["--none", "--leased", "3"], ["--per-second", "lots"], ["--leased", "0"]])(
  "limits that set nothing, or two things, are a mistake of usage: %o",
  async (args) => {
    expect((await queue("limit", "bank", ...args)).code).toBe(2);
  },
);
