// drover namespace create, list, show, retention, limit, pause and resume; drover workflow pause
// and resume.
import { LimitScope } from "@drover/proto/drover/v1/namespace_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import { type FakeScheduler, startFakeScheduler } from "../../support/fake-scheduler.ts";

const pause = { sinceTime: { seconds: 1_767_225_600n }, reason: "moving" };

let server: FakeScheduler;
beforeAll(async () => {
  server = await startFakeScheduler();
});
afterAll(() => server.stop());

const run = (line: string) =>
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
  const paused = await run("namespace pause --namespace team --reason moving");
  expect(paused.stdout).toBe("namespace team is paused since 2026-01-01 00:00:00Z: moving\n");
  expect(asked).toMatchObject([{ namespace: "team", reason: "moving" }]);
  const resumed = await run("namespace resume --namespace team");
  expect(resumed.stdout).toBe("namespace team resumed\n");
});

test("a namespace is made in a region, and what was there already is printed", async () => {
  const asked: unknown[] = [];
  server.play({
    createNamespace: (request) => {
      asked.push(request);
      return { namespace: { name: "team", region: "eu" }, existed: asked.length > 1 };
    },
  });
  const made = await run("namespace create team --region eu");
  expect(made.stdout).toBe("namespace team created, in the region eu\n");
  const again = await run("namespace create team --region eu");
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
  const listed = await run("namespace list");
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
  const paused = await run("workflow pause order --reason moving");
  expect(paused.stdout).toBe("workflow order is paused since 2026-01-01 00:00:00Z: moving\n");
  expect(paused.stderr).toContain("drover workflow resume order");
  expect(asked).toMatchObject([{ namespace: "default", workflow: "order", reason: "moving" }]);
  expect((await run("workflow resume order")).stdout).toBe("workflow order resumed\n");
});

const limits = { openRuns: 100, runsPerSecond: 5, burst: 10, payloadBytes: 65_536 };
const limitText = "100 open runs; 5 runs a second, 10 at once; payloads of 65536 bytes";

test("a namespace is printed with what it retains and what it may take", async () => {
  const created = { seconds: 1_767_225_600n };
  const plain = { name: "team", region: "eu", createTime: created };
  server.play({ getNamespace: () => ({ namespace: plain }) });
  expect((await run("namespace show --namespace team")).stdout).toBe(
    "namespace     team\nregion        eu\ncreated       2026-01-01 00:00:00Z\n" +
      "retains runs  for ever\nlimits        none\nhandler logs  stored\n",
  );
  const retention = { seconds: 2_592_000n };
  server.play({
    listNamespaces: () => ({ namespaces: [{ ...plain, retention, limits }], regions: [] }),
  });
  const listed = (await run("namespace list")).stdout;
  expect(listed).toContain(`for 30d00h after their end  ${limitText}\n`);
});

test("how long runs are retained is set, or taken back", async () => {
  const asked: unknown[] = [];
  server.play({
    setNamespaceRetention: ({ namespace, retention }) => {
      asked.push(retention?.seconds);
      return { namespace: { name: namespace, ...(retention ? { retention } : {}) } };
    },
  });
  const changed = await run("namespace retention 30d --namespace team");
  expect(changed.stdout).toBe("namespace team retains runs for 30d00h after their end\n");
  const forever = await run("namespace retention forever --namespace team");
  expect(forever.stdout).toBe("namespace team retains runs for ever\n");
  expect(asked).toEqual([2_592_000n, undefined]);
  expect((await run("namespace retention soon")).code).toBe(2);
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
  expect((await run(line)).stdout).toBe(`namespace default limits: ${limitText}\n`);
  expect((await run("namespace limit --none")).stdout).toBe("namespace default limits: none\n");
  expect(asked).toMatchObject([limits, { openRuns: 0, runsPerSecond: 0, payloadBytes: 0 }]);
  for (const wrong of ["", " --none --open-runs 5", " --payload 3M", " --payload x"])
    expect((await run(`namespace limit${wrong}`)).code).toBe(2);
});

test("the limits of use and the weight are set by the same command", async () => {
  const asked: unknown[] = [];
  server.play({
    setNamespaceLimits: ({ limits: given }) => {
      asked.push(given);
      return { namespace: { name: "default", ...(given ? { limits: given } : {}) } };
    },
  });
  const line = "namespace limit --calls-per-second 50 --calls-burst 9 --storage 10G --weight 200";
  expect((await run(line)).stdout).toBe(
    "namespace default limits: 50 calls a second, 9 at once; 10737418240 bytes of runs; weight 200\n",
  );
  const given = { callsPerSecond: 50, callsBurst: 9, storageBytes: 10_737_418_240n, weight: 200 };
  expect(asked).toMatchObject([given]);
  for (const wrong of ["--storage 2000T", "--storage 5x", "--weight 1001", "--calls-burst 5"])
    expect((await run(`namespace limit ${wrong}`)).code).toBe(2);
});

test("all limits are listed with their use, or those that can be changed", async () => {
  const steps = {
    name: "steps",
    what: "steps of a definition",
    scope: LimitScope.FIXED,
    value: 500,
  };
  const openRuns = {
    name: "open-runs",
    what: "runs that have not ended",
    scope: LimitScope.NAMESPACE,
    used: 12,
  };
  const storage = {
    name: "storage-bytes",
    unit: "bytes",
    scope: LimitScope.NAMESPACE,
    value: 1_610_612_736,
  };
  server.play({
    getLimits: ({ namespace }) => ({
      limits: [
        { ...openRuns, hardLimit: 10_000_000, change: "drover namespace limit --open-runs" },
        { ...storage, what: `bytes in ${namespace}` },
        { ...steps, defaultValue: 500, hardLimit: 500 },
      ],
    }),
  });
  const listed = (await run("limits --namespace team")).stdout;
  expect(listed).toMatch(/^LIMIT +VALUE +USED +DEFAULT +AT MOST +OF +CHANGE\n/);
  expect(listed).toMatch(
    /open-runs +none +12 +none +10000000 .*drover namespace limit --open-runs/,
  );
  expect(listed).toMatch(/storage-bytes +1\.5 GiB .*bytes in team/);
  expect(listed).toMatch(/steps +500 +steps of a definition/);
  const changeable = await run("limits --changeable -o json");
  const { limits: found } = JSON.parse(changeable.stdout);
  expect(found.map(({ name }: { name: string }) => name)).toEqual(["open-runs", "storage-bytes"]);
});

test("whether logs of handlers are stored is set by a verb of its own, and shown", async () => {
  const asked: boolean[] = [];
  server.play({
    setNamespaceLogs: ({ namespace, noLogs }) => {
      asked.push(noLogs);
      return { namespace: { name: namespace, noLogs } };
    },
    getNamespace: () => ({ namespace: { name: "team", noLogs: true } }),
    listNamespaces: () => ({ namespaces: [{ name: "team", limits, noLogs: true }], regions: [] }),
  });
  const off = await run("namespace logs off --namespace team");
  expect(off.stdout).toBe("namespace team does not store logs of handlers\n");
  const on = await run("namespace logs on --namespace team");
  expect(on.stdout).toBe("namespace team stores logs of handlers\n");
  expect(asked).toEqual([true, false]);
  expect((await run("namespace logs perhaps")).code).toBe(2);
  expect((await run("namespace show")).stdout).toContain("handler logs  not stored\n");
  expect((await run("namespace list")).stdout).toContain(`${limitText}  off\n`);
});
