// drover namespace create, list, pause and resume; drover workflow pause and resume.
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

test("a namespace is made in a region, and what was there already is told", async () => {
  const asked: unknown[] = [];
  server.play({
    createNamespace: (request) => {
      asked.push(request);
      return { namespace: { name: "team", region: "eu" }, existed: asked.length > 1 };
    },
  });
  const made = await say("namespace create team --region eu");
  expect(made.stdout).toBe("namespace team made, in the region eu\n");
  const again = await say("namespace create team --region eu");
  expect(again.stdout).toBe("namespace team was there already, in the region eu\n");
  expect(asked[0]).toMatchObject({ name: "team", region: "eu" });
});

test("namespaces are listed with their regions, and a region that nobody watches is named", async () => {
  server.play({
    listNamespaces: () => ({
      namespaces: [
        { name: "default", region: "default" },
        { name: "team", region: "eu" },
      ],
      regions: [
        { name: "default", watchedPartitions: 256, partitions: 256 },
        { name: "eu", watchedPartitions: 0, partitions: 256 },
      ],
    }),
  });
  const listed = await say("namespace list");
  expect(listed.stdout).toMatch(/^NAMESPACE +REGION *\ndefault +default *\nteam +eu/);
  expect(listed.stderr).toContain("region eu: nobody watches 256 of its 256 partitions");
  expect(listed.stderr).toContain("drover supervisor --region eu");
  expect(listed.stderr).not.toContain("region default");
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
