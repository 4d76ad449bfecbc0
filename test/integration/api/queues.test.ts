/** Queues over the wire: listed, limited, paused, resumed; and so namespaces and workflows. */
import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type OpenedPostgres, openPostgres } from "../../support/opened-postgres.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import { inNewNamespace, startWorld, type World } from "./rpc-world.ts";

const { listQueues, pauseQueue, resumeQueue, setQueueLimits } = OperatorService.method;
const { pauseNamespace, resumeNamespace, pauseWorkflow, resumeWorkflow } = OperatorService.method;
const { getQueue, pinQueue, unpinQueue } = OperatorService.method;

let postgres: OpenedPostgres;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(async () => {
  await postgres.close();
});

let world: World;
let grpc: GrpcClient;
beforeEach(async () => {
  world = await startWorld({ stored: await inNewNamespace(postgres.store) });
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

describe("a queue", () => {
  test("that is paused has since when and why, until it is resumed", async () => {
    const asked = { queue: "bank", reason: "the bank is down" };
    const { queue } = await answerTo(pauseQueue, asked);
    expect(queue).toMatchObject({ name: "bank", depth: 0, leased: 0 });
    expect(queue?.pause).toMatchObject({ reason: "the bank is down" });
    const since = queue?.pause?.sinceTime;
    expect(since && Math.abs(Date.now() - timestampMs(since))).toBeLessThan(60_000);
    const again = await answerTo(pauseQueue, { queue: "bank", reason: "because" });
    expect(again.queue?.pause?.reason).toBe("the bank is down");
    const resumed = await answerTo(resumeQueue, { queue: "bank" });
    expect(resumed.queue?.pause).toBeUndefined();
    expect((await answerTo(resumeQueue, { queue: "bank" })).queue?.pause).toBeUndefined();
  });

  test.for<[string, object, string]>([
    ["without a name", { queue: "" }, "queue"],
    ["of a hostile name", { queue: "a b" }, "queue"],
    ["for a reason that is a book", { queue: "bank", reason: "x".repeat(1_025) }, "reason"],
  ])("%s is not paused", async ([, request, path]) => {
    const { reason, fields } = await grpc.unary(pauseQueue, request);
    expect(reason).toBe("INVALID_REQUEST");
    expect(fields.map(([field]) => field)).toEqual([path]);
    expect((await answerTo(listQueues, {})).queues).toEqual([]);
  });

  test("has the limits that were set last, all of them", async () => {
    const set = async (limits?: object) =>
      (await answerTo(setQueueLimits, { queue: "bank", ...(limits && { limits }) })).queue?.limits;
    expect(await set({ leased: 10 })).toMatchObject({ leased: 10, perSecond: 0, burst: 0 });
    expect(await set({ perSecond: 2.5 })).toMatchObject({ leased: 0, perSecond: 2.5, burst: 3 });
    expect(await set({ perSecond: 0.5, burst: 0 })).toMatchObject({ perSecond: 0.5, burst: 1 });
    expect(await set({ leased: 1, perSecond: 9, burst: 90 })).toMatchObject({ burst: 90 });
    expect(await set()).toBeUndefined();
  });

  test.for<[object, string]>([
    [{ leased: -1 }, "limits.leased"],
    [{ leased: 1_000_001 }, "limits.leased"],
    [{ perSecond: -1 }, "limits.per_second"],
    [{ perSecond: 0.0001 }, "limits.per_second"],
    [{ perSecond: Number.NaN }, "limits.per_second"],
    [{ perSecond: Number.POSITIVE_INFINITY }, "limits.per_second"],
    [{ burst: -5 }, "limits.burst"],
  ])("has no such limits: %o", async ([limits, path]) => {
    const { reason, fields } = await grpc.unary(setQueueLimits, { queue: "bank", limits });
    expect(reason).toBe("INVALID_REQUEST");
    expect(fields.map(([field]) => field)).toEqual([path]);
  });

  test("of a namespace that is not there is none", async () => {
    const request = { namespace: "nowhere", queue: "bank" };
    for (const method of [pauseQueue, resumeQueue, listQueues])
      expect((await grpc.unary(method, request)).reason).toBe("NAMESPACE_NOT_FOUND");
  });

  test("is listed by name, page by page", async () => {
    for (const queue of ["c", "a", "b"]) await answerTo(pauseQueue, { queue });
    const first = await answerTo(listQueues, { pageSize: 2 });
    expect(first.queues.map(({ name }) => name)).toEqual(["a", "b"]);
    const rest = await answerTo(listQueues, { pageSize: 2, pageToken: first.nextPageToken });
    expect(rest.queues.map(({ name }) => name)).toEqual(["c"]);
    expect(rest.nextPageToken).toBe("");
    const { reason } = await grpc.unary(listQueues, { pageToken: "none of ours" });
    expect(reason).toBe("PAGE_TOKEN_INVALID");
  });
});

describe("a namespace", () => {
  test("that is paused is listed so with its queues, until it is resumed", async () => {
    const { pause } = await answerTo(pauseNamespace, { reason: "moving" });
    expect(pause).toMatchObject({ reason: "moving" });
    expect((await answerTo(pauseNamespace, { reason: "because" })).pause).toEqual(pause);
    const listed = await answerTo(listQueues, {});
    expect(listed.namespacePause).toEqual(pause);
    expect(listed.queues).toEqual([]);
    await answerTo(resumeNamespace, {});
    await answerTo(resumeNamespace, {});
    expect((await answerTo(listQueues, {})).namespacePause).toBeUndefined();
  });

  test("that is not there is not paused", async () => {
    for (const method of [pauseNamespace, resumeNamespace])
      expect((await grpc.unary(method, { namespace: "nowhere" })).reason).toBe(
        "NAMESPACE_NOT_FOUND",
      );
  });
});

describe("a workflow", () => {
  test("is paused and resumed", async () => {
    const { pause } = await answerTo(pauseWorkflow, { workflow: "holiday", reason: "prices" });
    expect(pause).toMatchObject({ reason: "prices" });
    await answerTo(resumeWorkflow, { workflow: "holiday" });
  });

  test("that is not there is not paused", async () => {
    const { reason } = await grpc.unary(pauseWorkflow, { workflow: "missing" });
    expect(reason).toBe("WORKFLOW_NOT_FOUND");
  });

  test.for([pauseWorkflow, resumeWorkflow])("without a name is refused: $name", async (method) => {
    const { reason, fields } = await grpc.unary(method, {});
    expect(reason).toBe("INVALID_REQUEST");
    expect(fields.map(([field]) => field)).toEqual(["workflow"]);
  });
});

describe("a pin", () => {
  const of = { queue: "bank", workflow: "holiday" };

  test("is listed with the queue until it is taken back", async () => {
    const { pins } = await answerTo(pinQueue, { ...of, agentVersion: "2.1" });
    expect(pins).toMatchObject([{ workflow: "holiday", version: 0, agentVersion: "2.1" }]);
    const since = pins[0]?.pinnedTime;
    expect(since && Math.abs(Date.now() - timestampMs(since))).toBeLessThan(60_000);
    expect((await answerTo(pinQueue, { ...of, agentVersion: "2.1" })).pins).toEqual(pins);
    await answerTo(pinQueue, { ...of, version: 1, agentVersion: "2.2" });
    expect((await answerTo(getQueue, { queue: "bank" })).pins).toMatchObject([
      { version: 0, agentVersion: "2.1" },
      { version: 1, agentVersion: "2.2" },
    ]);
    expect((await answerTo(unpinQueue, of)).pins).toMatchObject([{ version: 1 }]);
    expect((await answerTo(unpinQueue, of)).pins).toHaveLength(1);
  });

  test.for<[string, object]>([
    ["a workflow", { workflow: "missing" }],
    ["a version", { version: 9 }],
  ])("of %s that is not there is refused", async ([, over]) => {
    const request = { ...of, agentVersion: "2", ...over };
    const { reason, message } = await grpc.unary(pinQueue, request);
    expect(reason).toBe("WORKFLOW_NOT_FOUND");
    expect(message).toContain("There is no");
    expect((await answerTo(getQueue, { queue: "bank" })).pins).toEqual([]);
  });

  test.for<[string, object, string]>([
    ["without an agent version", { agentVersion: "" }, "agent_version"],
    ["for a hostile agent version", { agentVersion: "2\n" }, "agent_version"],
    ["of a version below 0", { version: -1 }, "version"],
    ["without a workflow", { workflow: "" }, "workflow"],
  ])("%s is refused", async ([, over, path]) => {
    const request = { ...of, agentVersion: "2", ...over };
    const { reason, fields } = await grpc.unary(pinQueue, request);
    expect(reason).toBe("INVALID_REQUEST");
    expect(fields.map(([field]) => field)).toEqual([path]);
  });
});
