// drover namespace pause and resume, drover workflow pause and resume.
import { afterAll, beforeAll, expect, test } from "vitest";
import { drover } from "../../support/drover-process.ts";
import { type FakeScheduler, startFakeScheduler } from "../../support/fake-scheduler.ts";

const pause = { sinceTime: { seconds: 1_767_225_600n }, reason: "moving" };

let server: FakeScheduler;
beforeAll(async () => {
  server = await startFakeScheduler();
});
afterAll(() => server.stop());

const say = (line: string) => drover(line.split(" "), { env: { DROVER_ADDRESS: server.address } });

test("a namespace is paused for a reason, and resumed", async () => {
  const asked: unknown[] = [];
  server.play({
    pauseNamespace: (request) => {
      asked.push(request);
      return { pause };
    },
    resumeNamespace: () => ({}),
  });
  const paused = await say("namespace pause --namespace team --reason moving");
  expect(paused.stdout).toBe("namespace team is paused since 2026-01-01 00:00:00Z: moving\n");
  expect(asked).toMatchObject([{ namespace: "team", reason: "moving" }]);
  const resumed = await say("namespace resume --namespace team");
  expect(resumed.stdout).toBe("namespace team is not paused\n");
});

test("a workflow is paused for a reason, and resumed", async () => {
  const asked: unknown[] = [];
  server.play({
    pauseWorkflow: (request) => {
      asked.push(request);
      return { pause };
    },
    resumeWorkflow: () => ({}),
  });
  const paused = await say("workflow pause order --reason moving");
  expect(paused.stdout).toBe("workflow order is paused since 2026-01-01 00:00:00Z: moving\n");
  expect(paused.stderr).toContain("drover workflow resume order");
  expect(asked).toMatchObject([{ namespace: "default", workflow: "order", reason: "moving" }]);
  expect((await say("workflow resume order")).stdout).toBe("workflow order is not paused\n");
});
