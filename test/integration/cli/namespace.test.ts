// drover namespace create, list, show, retention, limit, pause and resume; drover workflow pause
// and resume.
import { afterAll, beforeAll, expect, test } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import { type FakeScheduler, startFakeScheduler } from "../../support/fake-scheduler.ts";

const pause = { sinceTime: { seconds: 1_767_225_600n }, reason: "moving" };

let server: FakeScheduler;
beforeAll(async () => {
  server = await startFakeScheduler();
});
afterAll(() => server.stop());

const say = (line: string) =>
  callDrover(line.split(" "), { env: { DROVER_ADDRESS: server.address } });

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
  expect(resumed.stdout).toBe("namespace team resumed\n");
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
  expect(made.stdout).toBe("namespace team created, in the region eu\n");
  const again = await say("namespace create team --region eu");
  expect(again.stdout).toBe("namespace team exists already, in the region eu\n");
  expect(asked[0]).toMatchObject({ name: "team", region: "eu" });
});

test("namespaces are listed with their regions, and a region without supervisors is named", async () => {
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
  expect(listed.stderr).toContain("region eu: no supervisor for 256 of its 256 partitions");
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
  expect((await say("workflow resume order")).stdout).toBe("workflow order resumed\n");
});

const limits = { openRuns: 100, runsPerSecond: 5, burst: 10, payloadBytes: 65_536 };
const limitWords = "100 open runs; 5 runs a second, 10 at once; payloads of 65536 bytes";

test("a namespace is shown with what it keeps and what it may take", async () => {
  const created = { seconds: 1_767_225_600n };
  const plain = { name: "team", region: "eu", createTime: created };
  server.play({ getNamespace: () => ({ namespace: plain }) });
  expect((await say("namespace show --namespace team")).stdout).toBe(
    "namespace     team\nregion        eu\ncreated       2026-01-01 00:00:00Z\n" +
      "retains runs  for ever\nlimits        none\n",
  );
  const retention = { seconds: 2_592_000n };
  server.play({
    listNamespaces: () => ({ namespaces: [{ ...plain, retention, limits }], regions: [] }),
  });
  const listed = (await say("namespace list")).stdout;
  expect(listed).toContain(`for 30d00h after their end  ${limitWords}\n`);
});

test("how long runs are kept is set, or taken back", async () => {
  const asked: unknown[] = [];
  server.play({
    setNamespaceRetention: ({ namespace, retention }) => {
      asked.push(retention?.seconds);
      return { namespace: { name: namespace, ...(retention ? { retention } : {}) } };
    },
  });
  const kept = await say("namespace retention 30d --namespace team");
  expect(kept.stdout).toBe("namespace team retains runs for 30d00h after their end\n");
  const forever = await say("namespace retention forever --namespace team");
  expect(forever.stdout).toBe("namespace team retains runs for ever\n");
  expect(asked).toEqual([2_592_000n, undefined]);
  expect((await say("namespace retention soon")).code).toBe(2);
});

test("limits are set together, or all taken back", async () => {
  const asked: unknown[] = [];
  server.play({
    setNamespaceLimits: (request) => {
      asked.push(request.limits);
      return { namespace: { name: "default", ...(asked.length === 1 ? { limits } : {}) } };
    },
  });
  const line = "namespace limit --open-runs 100 --per-second 5 --burst 10 --payload 64k";
  expect((await say(line)).stdout).toBe(`namespace default limits: ${limitWords}\n`);
  expect((await say("namespace limit --none")).stdout).toBe("namespace default limits: none\n");
  expect(asked).toMatchObject([limits, { openRuns: 0, runsPerSecond: 0, payloadBytes: 0 }]);
  for (const wrong of ["", " --none --open-runs 5", " --payload 3M", " --payload x"])
    expect((await say(`namespace limit${wrong}`)).code).toBe(2);
});
