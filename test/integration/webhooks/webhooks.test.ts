/**
 * Webhooks from a real database to a real receiver: written with what they report, sent by the
 * owner of their partition, signed, tried again, and few however much happens.
 */
import { createHmac } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { systemClock, systemRandom } from "../../../server/clock.ts";
import { createControlPlane } from "../../../server/control-plane.ts";
import type { Definition } from "../../../server/core/definition/definition.ts";
import type { Reported } from "../../../server/core/model/event.ts";
import { createPost } from "../../../server/integrations/webhooks/post.ts";
import type { NewHook, OutboxKind } from "../../../server/store/outbox.ts";
import { partitionOf } from "../../../server/store/partition.ts";
import { isRetryable } from "../../../server/store/postgres/failure.ts";
import { createPostgresStore } from "../../../server/store/postgres/postgres-store.ts";
import { shardsOf } from "../../../server/store/shards.ts";
import { endOf, quietLog, type TestPlane, testAgent } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { type Received, type Receiver, startReceiver } from "../../support/receiver.ts";
import { historyOf, request, schedule } from "../control-plane/fixture.ts";
import { openHand } from "../control-plane/hand.ts";

const SECRET = "a secret of sixteen";

let database: TestDatabase;
let receiver: Receiver;
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  await database?.drop();
});

/** A plane in a namespace of its own that owns every partition. */
async function openPlane({ allowLocal = true } = {}): Promise<TestPlane> {
  const store = createPostgresStore({
    connectionString: database.connectionString,
    log: quietLog,
  });
  const plane = createControlPlane({
    store,
    shards: shardsOf([store]),
    clock: systemClock,
    random: systemRandom,
    log: quietLog,
    address: "test",
    isRetryable,
    post: createPost({ clock: systemClock, allowLocal }),
  });
  await plane.start();
  const namespace = await store.createNamespace(`ns-${namespaces++}`);
  const close = async () => {
    await plane.stop();
    await store.close();
  };
  closers.push(close);
  await expect.poll(() => plane.ownership.owned().length, { timeout: 10_000 }).toBe(256);
  return { ...plane, ...plane.shards.home, store, namespace, close };
}
let namespaces = 1;

async function receive(
  answer?: (request: Received, index: number) => { status: number },
): Promise<void> {
  receiver = await startReceiver(answer);
  closers.push(receiver.close);
}

function hook(plane: TestPlane, events: readonly OutboxKind[], more: Partial<NewHook> = {}) {
  return plane.store.outbox.putHook({
    namespaceId: plane.namespace.id,
    name: "ops",
    url: `${receiver.url}/ops`,
    events,
    secret: { value: SECRET, digest: "00" },
    ...more,
  });
}

const ONE: Definition = {
  workflow: "one",
  steps: [{ id: "only", needs: [], task: "work", onFailure: "escalate" }],
};
const done: Reported = { kind: "success", output: null };
const broken: Reported = {
  kind: "failure",
  class: "permanent",
  code: "quota",
  message: "no space left",
  retryAfterMs: null,
  noEffect: true,
};

function bodies() {
  return receiver.received.map(({ body }) => JSON.parse(body));
}

async function arrived(count: number): Promise<void> {
  await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(count);
}

const APPROVAL: Definition = {
  workflow: "release-funds",
  steps: [
    {
      id: "approve",
      needs: [],
      kind: "approval",
      approvers: ["treasury", "ada"],
      form: { kind: "json", json: '{"type":"object","required":["reason"]}' },
      withinMs: 3_600_000,
      onExpiry: "reject",
    },
  ],
};

describe("a webhook", () => {
  test("reports an approval that a run waits for, with all that the approver has to know", async () => {
    await receive();
    const plane = await openPlane();
    await hook(plane, ["approval-requested"]);
    const { runId } = await schedule(plane, APPROVAL);
    await arrived(1);
    const [body] = bodies();
    expect(body).toMatchObject({
      kind: "approval-requested",
      count: 1,
      run: { id: runId, workflow: "release-funds" },
      approval: {
        step: "approve",
        approvers: ["treasury", "ada"],
        need: 1,
        not_requester: false,
        on_expiry: "reject",
        form: { type: "object", required: ["reason"] },
      },
    });
    const { requested, deadline } = body.approval;
    expect(Date.parse(deadline) - Date.parse(requested)).toBe(3_600_000);
    expect(body).not.toHaveProperty("escalation");
    const listed = await plane.store.lists.deliveries(plane.namespace.id, {
      states: [],
      hook: null,
      limit: 10,
      after: null,
    });
    expect(listed).toMatchObject([{ kind: "approval-requested", runId }]);
  });

  test("reports the approvals of a step together: a thousand are few webhooks", async () => {
    await receive();
    const plane = await openPlane();
    await hook(plane, ["approval-requested"]);
    await Promise.all(Array.from({ length: 1_000 }, () => schedule(plane, APPROVAL)));
    // The first may have come alone; all others of this minute are in the next one.
    await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBeGreaterThan(0);
    await plane.deliveries?.sendOnce();
    expect(receiver.received.length).toBe(1);
  });

  test("is not made for an approval if no hook asks for approvals", async () => {
    await receive();
    const plane = await openPlane();
    await hook(plane, ["escalation-opened", "run-ended"]);
    const { runId } = await schedule(plane, APPROVAL);
    const ref = { runId, partition: partitionOf(plane.namespace.region, runId) };
    await plane.scheduler.command(ref, { kind: "cancel", undo: false, note: "" });
    await arrived(1);
    expect(bodies().map(({ kind }) => kind)).toEqual(["run-ended"]);
  });

  test("reports the end of a run, signed with the secret of its hook", async () => {
    await receive();
    const plane = await openPlane();
    await hook(plane, ["run-ended"]);
    const { runId } = await schedule(plane, ONE, { labels: { team: "sea" } });
    const agent = testAgent(plane);
    await agent.report(await agent.take(), done);
    await arrived(1);
    const [body] = bodies();
    const time = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(body).toEqual({
      id: expect.any(String),
      kind: "run-ended",
      namespace: plane.namespace.name,
      count: 1,
      run: {
        id: runId,
        key: null,
        workflow: "one",
        version: 0,
        labels: { team: "sea" },
        created: time,
      },
      end: { state: "COMPLETED", reason: "DONE", at: time, summary: "" },
    });
    const [got] = receiver.received;
    const signature = String(got?.headers["drover-signature"]);
    const [, t] = /^t=(\d+),/.exec(signature) ?? [];
    const v1 = createHmac("sha256", SECRET).update(`${t}.${got?.body}`).digest("hex");
    expect(signature).toBe(`t=${t},v1=${v1}`);
    expect(got?.headers["drover-event-id"]).toBe(body.id);
  });

  test("goes to the hook, and to the address, that its run names", async () => {
    await receive();
    const plane = await openPlane();
    await hook(plane, []);
    await hook(plane, [], { name: "other" });
    const notify = { hook: "ops", url: `${receiver.url}/mine` };
    await schedule(plane, ONE, { notify });
    const agent = testAgent(plane);
    await agent.report(await agent.take(), done);
    await arrived(1);
    expect(receiver.received.map(({ path }) => path)).toEqual(["/mine"]);
  });

  test("is promised to no run that names a hook which is not there", async () => {
    await receive();
    const plane = await openPlane();
    const notify = { hook: "gone", url: null };
    await expect(schedule(plane, ONE, { notify })).rejects.toMatchObject({
      reason: "HOOK_NOT_FOUND",
      message: expect.stringContaining('"gone"'),
    });
  });

  test("that was not received is sent again under the same id, with the same body", async () => {
    await receive((_, index) => ({ status: index === 0 ? 500 : 200 }));
    const plane = await openPlane();
    await hook(plane, ["run-ended"]);
    await schedule(plane, ONE);
    const agent = testAgent(plane);
    await agent.report(await agent.take(), done);
    const all = { states: [], hook: null, limit: 10, after: null };
    const list = () => plane.store.lists.deliveries(plane.namespace.id, all);
    await expect.poll(async () => (await list())[0]?.tries).toBe(1);
    await nextTryNow();
    await arrived(2);
    const [first, second] = receiver.received;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers["drover-event-id"]).toBe(first?.headers["drover-event-id"]);
    await expect.poll(async () => (await list())[0]?.state).toBe("delivered");
    expect(await list()).toMatchObject([{ tries: 2, error: null }]);
  });

  test("survives the server that was to send it", async () => {
    await receive();
    const first = await openPlane({ allowLocal: false });
    await hook(first, ["run-ended"]);
    await schedule(first, ONE);
    const agent = testAgent(first);
    await agent.report(await agent.take(), done);
    const all = { states: [], hook: null, limit: 10, after: null };
    const delivery = async () => (await first.store.lists.deliveries(first.namespace.id, all))[0];
    await expect.poll(delivery, { timeout: 10_000 }).toMatchObject({
      tries: 1,
      error: expect.stringContaining("--allow-local-webhooks"),
    });
    expect(receiver.received).toEqual([]);
    await closers.pop()?.();
    await openPlane();
    await nextTryNow();
    await arrived(1);
  });
});

test("an escalation that no person answers reminds, and its deadline answers", async () => {
  await receive();
  const plane = await openPlane();
  await hook(plane, ["escalation-reminder", "escalation-closed"]);
  const escalation = { remindMs: 500, deadlineMs: 2_000, answer: "skip" } as const;
  const steps = ONE.steps.map((step) => ({ ...step, escalation }));
  const { runId } = await schedule(plane, { ...ONE, steps });
  const agent = testAgent(plane);
  await agent.report(await agent.take(), broken);
  expect((await endOf(plane, runId)).state).toBe("COMPLETED");
  await arrived(2);
  // Each is a webhook of its own, and they may overtake each other.
  const byKind = Map.groupBy(bodies(), ({ kind }) => kind);
  expect(byKind.get("escalation-reminder")?.[0]).toMatchObject({
    run: { id: runId },
    escalation: { id: "1" },
  });
  expect(byKind.get("escalation-closed")).toMatchObject([
    { escalation: { closed_by: 'answered "skip" by deadline' } },
  ]);
  const { escalations } = await historyOf(plane, { runId, partition: 0 });
  expect(escalations).toMatchObject([
    { answer: { answer: "skip", by: "deadline", why: "no person answered within 2 s" } },
  ]);
});

describe("escalations of one cause", () => {
  test("of a thousand runs are two webhooks at most within a minute, and lose none", async () => {
    const RUNS = 1_000;
    await receive();
    const plane = await openPlane();
    await hook(plane, ["escalation-opened"]);
    await Promise.all(
      Array.from({ length: RUNS }, () => plane.scheduler.schedule(request(plane, ONE))),
    );
    const agent = testAgent(plane);
    for (let reported = 0; reported < RUNS; ) {
      const tasks = await agent.poll(["default"], [], 10_000);
      await Promise.all(tasks.map((task) => agent.report(task, broken)));
      reported += tasks.length;
    }
    await arrived(1);
    await plane.deliveries?.sendOnce();
    expect(receiver.received).toHaveLength(1);
    const [body] = bodies();
    expect(body).toMatchObject({
      kind: "escalation-opened",
      run: { workflow: "one" },
      escalation: { id: "1", step: "only", reason: "step-failed", code: "quota" },
    });
    expect(body.count).toBeGreaterThan(0);
    await aMinuteLater();
    await plane.deliveries?.sendOnce();
    await plane.deliveries?.sendOnce();
    const counts = bodies().map(({ count }) => count);
    expect(counts.length).toBeLessThanOrEqual(2);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(RUNS);
  });
});

/** It would be five seconds after the one that failed. */
async function nextTryNow(): Promise<void> {
  const hand = await openHand(database.connectionString);
  await hand.query("update drover.delivery set next_try_at = now() where next_try_at is not null");
  await hand.close();
}

/**
 * The last webhooks of each cause were made a minute ago. An update on Citus subtracts no interval
 * from a column.
 */
async function aMinuteLater(): Promise<void> {
  const hand = await openHand(database.connectionString);
  await hand.query(
    `with older as materialized (
       select id, created_at - interval '1 minute' as at from drover.delivery
     )
     update drover.delivery as d set created_at = o.at from older as o where d.id = o.id`,
  );
  await hand.close();
}
