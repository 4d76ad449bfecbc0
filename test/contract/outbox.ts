/**
 * What webhooks receive: each thing once for each hook that subscribes to it, of one cause
 * together, tried until it is settled.
 */
import { expect, test } from "vitest";
import type { Effect } from "../../server/core/model/effect.ts";
import type { EscalationReason } from "../../server/core/model/history.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { newNamespace, newUuid, type Opened, ownPartition, type Scheduled } from "./fixture.ts";
import { DEADLINE, passAs } from "./hand-made.ts";
import { ENDED, hooked, SECRET, URL } from "./hooks.ts";

function asked(n: number, more: { reason?: EscalationReason; code?: string; step?: number } = {}) {
  const { reason = "poison", code = "drover.lost", step = 0 } = more;
  return {
    kind: "escalated",
    id: "s",
    step,
    n,
    reason,
    code,
    message: `question ${n}`,
    wakeAt: DEADLINE,
    deadlineAt: null,
  } satisfies Effect;
}

export function describeOutbox(opened: Opened): void {
  const store = (): EngineStore => opened().store;
  const { hook, due, begin } = hooked(opened);
  const ask = (run: Scheduled, ...effects: Effect[]) => passAs(store(), run, { effects });

  test("a hook is listed without its secret, and is changed by its name", async () => {
    const namespaceId = await newNamespace(store());
    const named = { namespaceId, name: "ops", url: URL, events: ["run-ended"] as const };
    expect(await store().outbox.putHook({ ...named, secret: null })).toBeNull();
    expect(await store().outbox.putHook({ ...named, secret: SECRET })).toEqual({ created: true });
    const changed = { ...named, url: `${URL}/2`, events: [], secret: null };
    expect(await store().outbox.putHook(changed)).toEqual({ created: false });
    const times = { createdAt: expect.any(Number), changedAt: expect.any(Number) };
    expect(await store().outbox.hooks(namespaceId)).toEqual([
      { name: "ops", url: `${URL}/2`, events: [], secretDigest: SECRET.digest, ...times },
    ]);
    expect(await store().outbox.deleteHook(namespaceId, "ops")).toBe(true);
    expect(await store().outbox.deleteHook(namespaceId, "ops")).toBe(false);
    expect(await store().outbox.hooks(namespaceId)).toEqual([]);
  });

  test("a hook receives an escalation that is open after its pass, with its run", async () => {
    const namespaceId = await hook(["escalation-opened"]);
    const run = await begin(namespaceId, { labels: { team: "sea" }, key: `k-${newUuid()}` });
    const closed: Effect = { kind: "escalation-closed", step: 1, by: "a late report" };
    await ask(run, asked(1), asked(2, { step: 1 }), closed);
    const [delivery, ...others] = await due(namespaceId);
    expect(others).toEqual([]);
    expect(delivery).toMatchObject({
      hook: "ops",
      url: null,
      kind: "escalation-opened",
      count: 1,
      n: 1,
      tries: 0,
      runId: run.ref.runId,
      state: "pending",
      target: { url: URL, secret: SECRET.value },
      run: { workflow: "ship", version: 1, labels: { team: "sea" }, end: null },
      escalation: { step: 0, reason: "poison", code: "drover.lost", message: "question 1" },
    });
    expect(delivery?.nextTryAt).toBeLessThanOrEqual(delivery?.now ?? 0);
  });

  test("a hook receives what was answered and what was closed, if it subscribes", async () => {
    const namespaceId = await hook(["escalation-closed"]);
    await hook(["run-ended"], "other", namespaceId);
    const run = await begin(namespaceId);
    await ask(run, asked(1), asked(2, { step: 1 }));
    expect(await due(namespaceId)).toEqual([]);
    const given = { answer: "retry", by: "Maria", why: "" } as const;
    await ask(run, { kind: "escalation-answered", step: 0, n: 1, ...given });
    await ask(run, { kind: "escalation-closed", step: 1, by: "a late report" });
    const deliveries = await due(namespaceId);
    expect(deliveries.map(({ n, escalation }) => [n, escalation?.closedBy]).sort()).toEqual([
      [1, 'answered "retry" by Maria'],
      [2, "a late report"],
    ]);
    expect(deliveries.map((one) => one.hook)).toEqual(["ops", "ops"]);
  });

  test("a hook receives a reminder that is to be sent", async () => {
    const namespaceId = await hook(["escalation-reminder"]);
    const run = await begin(namespaceId);
    await ask(run, asked(1), asked(2, { step: 1 }));
    const reminded = { kind: "escalation-reminded", wakeAt: DEADLINE } as const;
    await ask(run, { ...reminded, n: 1, tell: true }, { ...reminded, n: 2, tell: false });
    expect(await due(namespaceId)).toMatchObject([{ kind: "escalation-reminder", n: 1 }]);
  });

  test("a hook receives an approval that a step waits for, if it subscribes", async () => {
    const namespaceId = await hook(["approval-requested"]);
    await hook(["escalation-opened"], "other", namespaceId);
    const run = await begin(namespaceId);
    const deadlineAt = Date.now() + 3_600_000;
    const requests = (step: number): Effect => {
      return { kind: "began-waiting", step, on: "approval", at: 0, wakeAt: deadlineAt };
    };
    const ended: Effect = { kind: "cancelled", step: 1 };
    await ask(run, requests(0), requests(1), ended);
    const deliveries = await due(namespaceId);
    expect(deliveries).toMatchObject([
      {
        hook: "ops",
        kind: "approval-requested",
        count: 1,
        runId: run.ref.runId,
        escalation: null,
        approval: { step: 0, deadlineAt },
      },
    ]);
  });

  test("approvals of one step of a workflow are one delivery a minute, with their count", async () => {
    const namespaceId = await hook(["approval-requested"]);
    const request = async (step: number) => {
      const waits = { kind: "began-waiting", on: "approval", at: 0, wakeAt: DEADLINE } as const;
      await ask(await begin(namespaceId), { ...waits, step });
    };
    for (const step of [0, 0, 1, 0]) await request(step);
    const first = await due(namespaceId);
    expect(first.map(({ approval, count }) => [approval?.step, count]).sort()).toEqual([
      [0, 3],
      [1, 1],
    ]);
    await request(0);
    expect((await due(namespaceId)).length).toBe(2);
  });

  test("escalations of one cause are one delivery with their count", async () => {
    const namespaceId = await hook(["escalation-opened"]);
    for (const more of [{}, {}, { code: "quota" }, {}])
      await ask(await begin(namespaceId), asked(1, more));
    await ask(await begin(namespaceId, { workflow: "other" }), asked(1));
    const deliveries = await due(namespaceId);
    const counts = deliveries.map(({ run, escalation, count }) => {
      return `${run.workflow} ${escalation?.code}: ${count}`;
    });
    expect(counts.sort()).toEqual(["other drover.lost: 1", "ship drover.lost: 3", "ship quota: 1"]);
  });

  test("of a cause that was sent within the minute nothing is sent yet", async () => {
    const namespaceId = await hook(["escalation-opened"]);
    await ask(await begin(namespaceId), asked(1));
    expect(await due(namespaceId)).toHaveLength(1);
    await ask(await begin(namespaceId), asked(1));
    await ask(await begin(namespaceId), asked(1, { reason: "unknown" }));
    const deliveries = await due(namespaceId);
    expect(deliveries.map(({ escalation, count }) => [escalation?.reason, count]).sort()).toEqual([
      ["poison", 1],
      ["unknown", 1],
    ]);
  });

  test("the end of a run goes to the hooks of all ends, and to the one that it names", async () => {
    const namespaceId = await hook(["run-ended"], "each");
    await hook([], "named", namespaceId);
    const notify = { hook: "named", url: `${URL}/mine` };
    const run = await begin(namespaceId, { notify });
    await passAs(store(), run, { run: ENDED });
    await passAs(store(), await begin(namespaceId), { run: ENDED });
    const deliveries = await due(namespaceId);
    expect(
      deliveries.map((one) => [one.hook, one.url, one.runId === run.ref.runId]).sort(),
    ).toEqual([
      ["each", null, false],
      ["each", null, true],
      ["named", `${URL}/mine`, true],
    ]);
    const end = { state: "FAILED", reason: "STEP_FAILED", at: expect.any(Number) };
    expect(deliveries[0]).toMatchObject({ n: 0, escalation: null, run: { end } });
  });

  test("a pass that is not committed sends nothing", async () => {
    const namespaceId = await hook(["escalation-opened"]);
    const run = await begin(namespaceId);
    const twice = [asked(1), asked(1)];
    await expect(ask(run, ...twice)).rejects.toThrow();
    expect(await due(namespaceId)).toEqual([]);
  });

  test("a try is settled once, and a delivery that has ended is not tried again", async () => {
    const namespaceId = await hook(["run-ended"]);
    await passAs(store(), await begin(namespaceId), { run: ENDED });
    const [delivery] = await due(namespaceId);
    if (!delivery) throw new Error("no delivery is due");
    const failed = {
      id: delivery.id,
      triesBefore: 0,
      state: "pending",
      error: "answered 500",
    } as const;
    await store().outbox.settle([{ ...failed, nextTryInMs: 0 }]);
    await store().outbox.settle([{ ...failed, state: "given-up", nextTryInMs: 0 }]);
    expect(await due(namespaceId)).toMatchObject([{ id: delivery.id, tries: 1, state: "pending" }]);
    const delivered = { ...failed, triesBefore: 1, state: "delivered", error: null } as const;
    await store().outbox.settle([{ ...delivered, nextTryInMs: 0 }]);
    expect(await due(namespaceId)).toEqual([]);
  });

  test("a delivery is not due before the time of its next try", async () => {
    const namespaceId = await hook(["run-ended"]);
    let partition = ownPartition();
    const outside = async () => (await store().dueRows([partition], 10)).outside;
    // Deliveries of other tests' escalations may be in any partition: it follows their cause.
    while ((await outside()).length > 0) partition = ownPartition();
    await passAs(store(), await begin(namespaceId, { partition }), { run: ENDED });
    expect(await outside()).toEqual(["deliveries"]);
    const [delivery] = await due(namespaceId);
    expect(await outside()).toEqual(["deliveries"]);
    const id = delivery?.id ?? "";
    const tried = {
      id,
      triesBefore: 0,
      state: "pending",
      error: "x",
      nextTryInMs: 60_000,
    } as const;
    await store().outbox.settle([tried]);
    expect(await due(namespaceId)).toEqual([]);
    expect(await outside()).toEqual([]);
  });

  test("one hook has no more of a scan than the limit, and another its own", async () => {
    const namespaceId = await hook(["run-ended"], "a");
    await hook(["run-ended"], "b", namespaceId);
    for (let run = 0; run < 3; run++)
      await passAs(store(), await begin(namespaceId), { run: ENDED });
    const deliveries = await due(namespaceId, 2);
    expect(deliveries.map((one) => one.hook).sort()).toEqual(["a", "a", "b", "b"]);
  });

  test("a delivery to a hook that was deleted is due without a target", async () => {
    const namespaceId = await hook(["run-ended"]);
    await passAs(store(), await begin(namespaceId), { run: ENDED });
    await store().outbox.deleteHook(namespaceId, "ops");
    expect(await due(namespaceId)).toMatchObject([{ hook: "ops", target: null }]);
  });
}
