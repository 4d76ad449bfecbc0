/** Hooks and webhooks over the wire: put, list, delete; whom Schedule may name. */
import { createHash } from "node:crypto";
import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DeliveryRecord } from "../../../server/store/outbox.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import { RUN_ID, startWorld, type World } from "./rpc-world.ts";

const { putHook, listHooks, deleteHook, listDeliveries } = OperatorService.method;
const { schedule } = SchedulerService.method;
const SECRET = "a secret of sixteen";
const URL = "https://hooks.example.com/drover?x=1";
const ops = { name: "ops", url: URL, events: ["run-ended"], secret: SECRET };

let world: World;
let grpc: GrpcClient;
beforeEach(async () => {
  world = await startWorld();
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

const digest = createHash("sha256").update(SECRET).digest("hex");

describe("a hook", () => {
  test("is listed with the digest of its secret, never with the secret", async () => {
    expect(await answerTo(putHook, ops)).toMatchObject({ created: true });
    const { hooks } = await answerTo(listHooks, {});
    const { name, url, events } = ops;
    expect(hooks).toMatchObject([{ name, url, events, secretDigest: digest }]);
    expect(JSON.stringify(hooks.map((hook) => Object.values(hook).map(String)))).not.toContain(
      SECRET,
    );
  });

  test("that is put again without a secret keeps the one that it has", async () => {
    await answerTo(putHook, ops);
    const changed = { ...ops, url: "http://there.example.com/", events: [], secret: "" };
    expect(await answerTo(putHook, changed)).toMatchObject({ created: false });
    const { hooks } = await answerTo(listHooks, {});
    expect(hooks).toMatchObject([{ url: changed.url, events: [], secretDigest: digest }]);
  });

  test("is deleted once", async () => {
    await answerTo(putHook, ops);
    expect(await answerTo(deleteHook, { name: "ops" })).toMatchObject({ deleted: true });
    expect(await answerTo(deleteHook, { name: "ops" })).toMatchObject({ deleted: false });
    expect((await answerTo(listHooks, {})).hooks).toEqual([]);
  });

  test.for<[string, object, string]>([
    ["without a secret, when it is new", { secret: "" }, "secret"],
    ["with a short secret", { secret: "short" }, "secret"],
    ["without a name", { name: "" }, "name"],
    ["that is notified of what there is not", { events: ["run-lost"] }, "events[0]"],
    ["to no URL", { url: "there" }, "url"],
    ["to a file", { url: "file:///etc/passwd" }, "url"],
    ["with a password in its URL", { url: "https://me:x@there.com/" }, "url"],
  ])("%s is refused", async ([, over, path]) => {
    const { reason, fields } = await grpc.unary(putHook, { ...ops, ...over });
    expect(reason).toBe("INVALID_REQUEST");
    expect(fields.map(([field]) => field)).toEqual([path]);
    expect((await answerTo(listHooks, {})).hooks).toEqual([]);
  });
});

function delivery(no: number): DeliveryRecord {
  return {
    id: `00000000-0000-4000-8000-00000000000${no}`,
    hook: "ops",
    url: null,
    count: 40,
    kind: "escalation-opened",
    runId: RUN_ID,
    n: 2,
    state: "pending",
    tries: 3,
    error: "answered 500",
    createdAt: 1_000,
    endedAt: null,
    nextTryAt: 61_000,
  };
}

describe("webhooks", () => {
  test("are listed with how their tries went, page by page", async () => {
    const asked: unknown[] = [];
    world.lists.deliveries = async (_namespaceId, page) => {
      asked.push(page);
      return page.after === null ? [delivery(3), delivery(2)] : [delivery(1)];
    };
    const list = { hook: "ops", states: ["pending", "given-up"], pageSize: 1 };
    const first = await answerTo(listDeliveries, list);
    expect(first.deliveries).toMatchObject([
      {
        id: delivery(3).id,
        hook: "ops",
        url: "",
        kind: "escalation-opened",
        count: 40,
        runId: RUN_ID,
        escalationId: "2",
        state: "pending",
        tries: 3,
        error: "answered 500",
        createdTime: { seconds: 1n },
        nextTryTime: { seconds: 61n },
      },
    ]);
    expect(first.deliveries[0]?.endedTime).toBeUndefined();
    const pageToken = first.nextPageToken;
    const second = await answerTo(listDeliveries, { ...list, pageToken });
    expect(second).toMatchObject({ deliveries: [{ id: delivery(1).id }], nextPageToken: "" });
    const query = { hook: "ops", states: ["pending", "given-up"], limit: 2 };
    expect(asked).toEqual([
      { ...query, after: null },
      { ...query, after: { createdAt: 1_000, id: delivery(3).id } },
    ]);
    expect(await grpc.unary(listDeliveries, { pageToken })).toMatchObject({
      reason: "PAGE_TOKEN_INVALID",
    });
  });
});

describe("Schedule", () => {
  const start = (notify: object) =>
    grpc.unary(schedule, {
      target: { case: "workflow", value: { name: "holiday" } },
      notify: { hook: "ops", ...notify },
    });

  test("names who is notified of the end, and where", async () => {
    const named: unknown[] = [];
    world.scheduler.schedule = async ({ notify }) => {
      named.push(notify);
      return { runId: RUN_ID, created: true };
    };
    expect((await start({})).code).toBe(0);
    expect((await start({ url: URL })).code).toBe(0);
    expect(named).toEqual([
      { hook: "ops", url: null },
      { hook: "ops", url: URL },
    ]);
  });

  test.for<[object, string]>([
    [{ hook: "" }, "notify.hook"],
    [{ url: "gopher://there" }, "notify.url"],
  ])("refuses to notify %j", async ([notify, path]) => {
    const { reason, fields } = await start(notify);
    expect(reason).toBe("INVALID_REQUEST");
    expect(fields.map(([field]) => field)).toEqual([path]);
  });
});
