// What operators read, over gRPC: pages, filters, and what is refused.
import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ListedIntervention } from "../../../server/store/operators.ts";
import { partitionsOf } from "../../../server/store/partition.ts";
import { type OpenedPostgres, openPostgres } from "../../support/opened-postgres.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import {
  inNewNamespace,
  RUN_ID,
  SESSION,
  type StoredNamespace,
  startWorld,
  type World,
} from "./rpc-world.ts";

const {
  getAgent,
  getClusterInfo,
  getOverview,
  getQueue,
  listAgents,
  listHandOvers,
  listInterventions,
  listPartitions,
  listSupervisors,
} = OperatorService.method;

let postgres: OpenedPostgres;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(async () => {
  await postgres.close();
});

let world: World;
let grpc: GrpcClient;
let stored: StoredNamespace;
let tests = 0;
beforeEach(async () => {
  tests++;
  stored = await inNewNamespace(postgres.store);
  world = await startWorld({ stored });
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  grpc.close();
  await world.close();
});

const answerTo: Ask = async (method, request) => {
  const { answer, message } = await grpc.unary(method, request);
  if (!answer) throw new Error(message);
  return answer;
};
type Ask = <M extends Parameters<GrpcClient["unary"]>[0]>(
  method: M,
  request: MessageInitShape<M["input"]>,
) => Promise<MessageShape<M["output"]>>;

const NOW = Date.UTC(2026, 0, 1);

/** Of this test alone. */
const sessionOf = (n: number) => [String(tests).padStart(30, "0"), n, n].join("");
const bytesOf = (n: number) => Uint8Array.from(Buffer.from(sessionOf(n), "hex"));

const seen = (n: number) => ({
  session: sessionOf(n),
  namespaceId: stored.namespaceId,
  agentId: "hotel",
  agentVersion: "1",
  labels: { zone: "b" },
  poll: { queues: ["travel"], tasks: ["book"] },
  agoMs: 0,
  calledAgoMs: 0,
  succeededAgoMs: 1_000,
});

describe("agents", () => {
  test("are listed page by page, each page of its own filter", async () => {
    await world.markAgents("here:1", [seen(1), seen(2), { ...seen(3), agentId: "car" }]);
    const first = await answerTo(listAgents, { pageSize: 2 });
    expect(first.agents).toMatchObject([
      { id: "car", server: "here:1", queues: ["travel"], tasks: ["book"], labels: { zone: "b" } },
      { id: "hotel" },
    ]);
    const { nextPageToken: pageToken } = first;
    const rest = await answerTo(listAgents, { pageSize: 2, pageToken });
    const sessions = [first.agents[1], ...rest.agents].map((one) => one?.session.at(-1));
    expect(sessions).toEqual([0x11, 0x22]);
    expect(rest.nextPageToken).toBe("");
    const named = await answerTo(listAgents, { agentId: "car" });
    expect(named.agents).toHaveLength(1);
    const { reason } = await grpc.unary(listAgents, { agentId: "car", pageToken });
    expect(reason).toBe("PAGE_TOKEN_INVALID");
  });

  test("are found by their session, and one that is not there is not found", async () => {
    await world.markAgents("here:1", [seen(1)]);
    const { agent, tasks } = await answerTo(getAgent, { session: bytesOf(1) });
    expect(agent).toMatchObject({ id: "hotel", held: 0 });
    const { lastSeenTime, lastSuccessTime } = agent ?? {};
    if (!lastSeenTime || !lastSuccessTime) throw new Error("the agent was seen, and succeeded");
    expect(timestampMs(lastSeenTime) - timestampMs(lastSuccessTime)).toBe(1_000);
    expect(agent?.lastHeartbeatTime).toBeUndefined();
    expect(tasks).toEqual([]);
    const { reason } = await grpc.unary(getAgent, { session: new Uint8Array(16) });
    expect(reason).toBe("AGENT_NOT_FOUND");
  });

  test("list why they get nothing new: their cordons, and circuits that are open", async () => {
    await world.markAgents("here:1", [seen(1), { ...seen(2), agentVersion: "2" }]);
    const { cordonAgent } = world.scheduler;
    const cordon = { namespaceId: stored.namespaceId, by: "ada", why: "slow" };
    await cordonAgent({ ...cordon, kind: "agent", name: "hotel" });
    await cordonAgent({ ...cordon, kind: "version", name: "2" });
    await cordonAgent({ ...cordon, kind: "version", name: "hotel" });
    const setting = { forced: "open", by: "bob", why: "", at: NOW } as const;
    const lane = { lane: 1, version: 1, queue: "travel", task: "book", agentVersion: null };
    const open = { ...lane, override: setting, saw: "" };
    world.lists.circuits = async (_namespaceId, { agentIds }) =>
      (agentIds ?? []).map((agentId) => ({ ...open, agentId, state: { kind: "closed" } }));
    const { agents } = await answerTo(listAgents, {});
    const of = { case: "agentId", value: "hotel" };
    const circuit = { queue: "travel", task: "book", agentId: "hotel", setBy: "bob" };
    expect(agents).toMatchObject([
      { cordons: [{ of, cordonedBy: "ada", why: "slow" }], circuits: [circuit] },
      { cordons: [{ of }, { of: { case: "version", value: "2" } }], circuits: [circuit] },
    ]);
    expect(agents[0]?.cordons).toHaveLength(1);
    const { agent } = await answerTo(getAgent, { session: bytesOf(1) });
    expect(agent).toMatchObject({ cordons: [{ of }], circuits: [circuit] });
  });

  test.for<[string, object, string]>([
    ["a session of too few bytes", { session: new Uint8Array(15) }, "session"],
    ["a namespace of a hostile name", { namespace: "a b", session: SESSION }, "namespace"],
  ])("are not listed by %s", async ([, request, path]) => {
    const { reason, fields } = await grpc.unary(getAgent, request);
    expect(reason).toBe("INVALID_REQUEST");
    expect(fields.map(([field]) => field)).toEqual([path]);
  });
});

describe("partitions", () => {
  test("are listed by number, page by page, including those without an owner", async () => {
    const first = await answerTo(listPartitions, { pageSize: 200 });
    expect(first.partitions).toHaveLength(200);
    expect(first.partitions[0]).toMatchObject({ partition: 0, watched: false, supervisor: "" });
    const rest = await answerTo(listPartitions, { pageToken: first.nextPageToken, pageSize: 200 });
    expect(rest.partitions.map(({ partition }) => partition).at(-1)).toBe(255);
    expect(rest.nextPageToken).toBe("");
    for (const request of [{ pageSize: -1 }, { pageSize: 1_001 }])
      expect((await grpc.unary(listPartitions, request)).reason).toBe("INVALID_REQUEST");
    const { reason } = await grpc.unary(listPartitions, { pageToken: "none of ours" });
    expect(reason).toBe("PAGE_TOKEN_INVALID");
  });

  test.for<[string, { overdueMs?: number }, number[]]>([
    ["5 s, unless it is set otherwise", {}, [3, 4]],
    ["a minute, if it is set so", { overdueMs: 60_000 }, [4]],
    ["a second, if it is set so", { overdueMs: 1_000 }, [2, 3, 4]],
  ])(
    "are late for a server where no supervisor watches, or by more than %s",
    async ([, settings, late]) => {
      grpc.close();
      await world.close();
      world = await startWorld({ ...settings, stored });
      grpc = grpcClient(world.port);
      const lags = [null, 500, 3_000, 7_000];
      const of = { region: "default", used: true, epoch: 1, takenAt: NOW, owner: null };
      const row = { ...of, watched: true };
      const partitions = [
        ...lags.map((lag, partition) => ({ ...row, partition, overdueAt: lag && NOW - lag })),
        { ...row, partition: 4, watched: false, overdueAt: null },
      ];
      world.store.operators = {
        ...world.store.operators,
        partitions: async () => ({ now: NOW, partitions }),
      };
      const listed = await answerTo(listPartitions, {});
      expect(listed.partitions.filter((one) => one.late).map(({ partition }) => partition)).toEqual(
        late,
      );
      const { latePartitions } = await answerTo(getOverview, {});
      expect(latePartitions.map(({ partition }) => partition)).toEqual(late);
    },
  );

  test("are counted beyond those that are listed, and not where their region is unused", async () => {
    const row = { epoch: 1, takenAt: NOW, owner: null, overdueAt: null, watched: false };
    const partitions = ["default", "eu", "us", "ap", "sa", "af", "me", "oc"].flatMap((region, n) =>
      partitionsOf(n).map((partition) => ({ ...row, region, partition, used: n !== 0 })),
    );
    world.store.operators = {
      ...world.store.operators,
      partitions: async () => ({
        now: NOW,
        partitions: partitions.map((one) =>
          one.partition === 300 ? { ...one, watched: true, overdueAt: NOW - 9_000 } : one,
        ),
      }),
    };
    const { latePartitions, lateRegions } = await answerTo(getOverview, {});
    expect(latePartitions).toHaveLength(1_000);
    expect(latePartitions[0]).toMatchObject({ partition: 256, region: "eu" });
    expect(lateRegions.map(({ region, unwatched }) => [region, unwatched])).toEqual([
      ["eu", 255],
      ...["us", "ap", "sa", "af", "me", "oc"].map((region) => [region, 256]),
    ]);
    expect(lateRegions[0]).toMatchObject({ partitions: 256, overdue: 1, lag: { seconds: 9n } });
  });

  test("have supervisors only where a server has joined", async () => {
    expect((await answerTo(listSupervisors, {})).supervisors).toEqual([]);
  });
});

describe("hand-overs", () => {
  test("of partitions are listed newest first, page by page, of one partition or of all", async () => {
    const node = "00000000-0000-4000-8000-000000000001";
    const had = { epoch: 1, node, address: "here:1", why: "first", takenAt: NOW } as const;
    const all = [
      { ...had, partition: 4, leftAt: NOW + 5 },
      { ...had, partition: 7, leftAt: null },
    ];
    const asked: unknown[] = [];
    world.store.operators = {
      ...world.store.operators,
      handOvers: async (page) => {
        asked.push(page);
        return all.slice(page.after === null ? 0 : 1).slice(0, page.limit);
      },
    };
    const first = await answerTo(listHandOvers, { pageSize: 1 });
    expect(first.handOvers).toMatchObject([
      { partition: 4, epoch: 1n, supervisor: node, address: "here:1", reason: 1 },
    ]);
    expect(first.handOvers[0]?.leftTime).toEqual(timestampFromMs(NOW + 5));
    const { nextPageToken: pageToken } = first;
    const rest = await answerTo(listHandOvers, { pageSize: 1, pageToken });
    expect(rest.handOvers).toMatchObject([{ partition: 7 }]);
    expect(rest.handOvers[0]?.leftTime).toBeUndefined();
    expect(rest.nextPageToken).toBe("");
    await answerTo(listHandOvers, { partition: 7 });
    expect(asked).toEqual([
      { partition: null, after: null, limit: 2 },
      { partition: null, after: { takenAt: NOW, partition: 4, epoch: 1 }, limit: 2 },
      { partition: 7, after: null, limit: 51 },
    ]);
    const other = await grpc.unary(listHandOvers, { partition: 7, pageToken });
    expect(other.reason).toBe("PAGE_TOKEN_INVALID");
    const { fields } = await grpc.unary(listHandOvers, { partition: 32_768 });
    expect(fields.map(([field]) => field)).toEqual(["partition"]);
  });
});

describe("interventions", () => {
  const listed = (n: number): ListedIntervention => ({
    runId: RUN_ID,
    step: 0,
    fence: n,
    rule: "lease",
    n: 0,
    saw: "silence",
    did: "retry",
    dueAt: NOW,
    actedAt: NOW + 250,
    node: "n1",
    partition: 42,
    epoch: 3,
    workflow: "holiday",
    definitionId: 9,
    attempt: n,
  });

  test("are listed with their run and step, and the next page begins behind the last", async () => {
    const asked: unknown[] = [];
    world.store.operators = {
      ...world.store.operators,
      interventions: async (_namespaceId, page) => {
        asked.push(page);
        return page.after === null ? [listed(2), listed(1)] : [];
      },
    };
    const filter = { rules: ["stall", "lease"], runId: RUN_ID, actedAfter: timestampFromMs(NOW) };
    const { interventions, nextPageToken } = await answerTo(listInterventions, {
      ...filter,
      pageSize: 1,
    });
    expect(interventions).toMatchObject([
      {
        runId: RUN_ID,
        workflow: "holiday",
        stepId: "flight",
        rule: "lease",
        fence: 2,
        attempt: 2,
        supervisor: "n1",
        partition: 42,
        epoch: 3n,
      },
    ]);
    const again = { ...filter, rules: ["lease", "stall"], pageSize: 1, pageToken: nextPageToken };
    expect((await answerTo(listInterventions, again)).interventions).toEqual([]);
    const page = { rules: ["lease", "stall"], runId: RUN_ID, from: NOW, until: null, limit: 2 };
    const after = { actedAt: NOW + 250, runId: RUN_ID, step: 0, fence: 2, rule: "lease", n: 0 };
    expect(asked).toEqual([
      { ...page, after: null },
      { ...page, after },
    ]);
    const other = await grpc.unary(listInterventions, { pageToken: nextPageToken });
    expect(other.reason).toBe("PAGE_TOKEN_INVALID");
  });

  test.for<[object, string]>([
    [{ rules: ["nonsense"] }, "rules[0]"],
    [{ rules: ["lease", "lease"] }, "rules"],
    [{ rules: ["a b"] }, "rules[0]"],
    [{ rules: ["__proto__"] }, "rules[0]"],
    [{ rules: ["constructor"] }, "rules[0]"],
    [{ runId: "seven" }, "run_id"],
    [{ actedAfter: { seconds: 1n << 60n } }, "acted_after"],
    [{ pageSize: 1_001 }, "page_size"],
  ])("are not listed by %o", async ([request, path]) => {
    const { reason, fields } = await grpc.unary(listInterventions, request);
    expect(reason).toBe("INVALID_REQUEST");
    expect(fields.map(([field]) => field)).toEqual([path]);
  });
});

describe("the whole", () => {
  test("has what needs a person: not a region that no server watches and no run uses", async () => {
    const overview = await answerTo(getOverview, {});
    expect(overview).toMatchObject({ openEscalations: 0, unservedTasks: [], pausedQueues: [] });
    expect(overview).toMatchObject({ latePartitions: [], lateRegions: [] });
  });

  test("calls nothing unserved before the servers could publish who polls for it", async () => {
    const { operators } = world.store;
    const orphan = { task: "charge", agentVersion: null, polledAt: null };
    world.store.operators = {
      ...operators,
      partitions: async () => ({ now: NOW, partitions: [] }),
      attention: async (namespaceId) => ({
        ...(await operators.attention(namespaceId)),
        orphans: [
          { ...orphan, queue: "new", oldestAt: NOW - 2_999 },
          { ...orphan, queue: "old", oldestAt: NOW - 3_000 },
          { ...orphan, queue: "taken meanwhile", oldestAt: null },
        ],
      }),
    };
    const { unservedTasks } = await answerTo(getOverview, {});
    expect(unservedTasks.map(({ queue }) => queue)).toEqual(["old"]);
  });

  test("has versions, clocks and migrations", async () => {
    const info = await answerTo(getClusterInfo, {});
    expect(info).toMatchObject({ serverVersion: "0.1.0" });
    expect(info.databaseVersion).toMatch(/^1[5-9]\b/);
    expect(info.migrations.length).toBeGreaterThan(0);
    expect(info.clockDifference && durationMs(info.clockDifference)).toEqual(expect.any(Number));
  });

  test.for([listAgents, listInterventions, getOverview, getQueue, getAgent])(
    "of a namespace that is not there is nothing: $name",
    async (method) => {
      const request = { namespace: "nowhere", queue: "q", session: SESSION };
      expect((await grpc.unary(method, request)).reason).toBe("NAMESPACE_NOT_FOUND");
    },
  );
});

describe("one queue", () => {
  test("that no call has named is an empty one", async () => {
    const { queue, tasks } = await answerTo(getQueue, { queue: "later" });
    expect(queue).toMatchObject({ name: "later", depth: 0, leased: 0, agents: 0 });
    expect(queue?.oldestTime).toBeUndefined();
    expect(tasks).toEqual([]);
    expect((await grpc.unary(getQueue, {})).reason).toBe("INVALID_REQUEST");
  });
});
