/** Schedules: rows by name, locked before anything happens to them, one row for each occurrence. */
import { expect, test } from "vitest";
import type {
  NewSchedule,
  Occurrence,
  ScheduleRecord,
  ScheduleSpec,
  ShownSchedule,
} from "../../server/store/schedules.ts";
import type { EngineStore } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import { newNamespace, newUuid, type Opened, ownPartition, schedule } from "./fixture.ts";

export const SPEC: ScheduleSpec = {
  calendar: { kind: "cron", cron: "30 2 * * *", timeZone: "Europe/Berlin" },
  workflow: "etl",
  version: 0,
  priority: 5,
  labels: { team: "sea" },
  notify: null,
  input: { kind: "data", contentType: "image/png", data: new Uint8Array([0, 255]) },
  concurrency: null,
  overlap: "skip",
  catchUpMs: 3_600_000,
  jitterMs: 0,
};
export const NEXT = {
  nominalTime: 1_800_000_000_000,
  at: 1_799_992_800_000,
  wakeAt: 1_799_992_800_000,
};

export function describeSchedules(opened: Opened): void {
  const store = (): EngineStore => opened().store;

  async function make(more: Partial<NewSchedule> = {}): Promise<ShownSchedule> {
    const namespaceId = more.namespaceId ?? (await newNamespace(store()));
    const row: NewSchedule = {
      id: newUuid(),
      namespaceId,
      name: "nightly",
      partition: 255,
      spec: SPEC,
      next: NEXT,
      pauseReason: null,
      ...more,
    };
    const made = await store().transact({ name: "create" }, (tx) => tx.insertSchedule(row));
    expect(made).toBe(true);
    const found = await store().schedules.find(namespaceId, row.name);
    if (!found) throw new Error("a schedule was made and is not there");
    return found;
  }

  const occurrenceOf = (
    { id, series }: ScheduleRecord,
    more: Partial<Occurrence> = {},
  ): Occurrence => ({
    scheduleId: id,
    series,
    nominalTime: NEXT.nominalTime,
    at: NEXT.at,
    cause: "calendar",
    outcome: "overlapped",
    runId: null,
    message: "",
    missed: null,
    actor: null,
    ...more,
  });
  const write = (record: ScheduleRecord, ...occurrences: Occurrence[]) =>
    store().transact({ name: "occurrences" }, async (tx) => {
      await tx.lockSchedules([record.id], true);
      await tx.writeOccurrences(occurrences);
    });
  const stored = (record: ScheduleRecord, ...times: number[]) =>
    store().transact({ name: "read" }, async (tx) => {
      await tx.lockSchedules([record.id], true);
      const { id: scheduleId, series } = record;
      return tx.loadOccurrences(times.map((nominalTime) => ({ scheduleId, series, nominalTime })));
    });

  test("a schedule is found as it was made, by its name and by its id", async () => {
    const record = await make();
    expect(record).toMatchObject({
      name: "nightly",
      partition: 255,
      series: 1,
      revision: 1,
      spec: SPEC,
      next: NEXT,
      pause: null,
      createdAt: expect.any(Number),
      changedAt: expect.any(Number),
    });
    const { workflowPause, ...stored } = record;
    expect(workflowPause).toBeNull();
    expect(await store().schedules.byId([newUuid(), record.id])).toEqual([stored]);
  });

  test("a schedule is found with the pause of its workflow, as long as that lasts", async () => {
    const { namespace, name, spec } = await make();
    const workflow = { namespaceId: namespace.id, workflow: spec.workflow };
    const found = async () => (await store().schedules.find(namespace.id, name))?.workflowPause;
    const pause = await store().queues.pauseWorkflow(workflow, "wrong prices");
    expect(await found()).toEqual(pause);
    await store().queues.resumeWorkflow(workflow);
    expect(await found()).toBeNull();
  });

  test("a name is taken once in a namespace, and free again when its schedule is deleted", async () => {
    const { namespace, id } = await make();
    const again: NewSchedule = {
      id: newUuid(),
      namespaceId: namespace.id,
      name: "nightly",
      partition: 255,
      spec: SPEC,
      next: NEXT,
      pauseReason: null,
    };
    const insert = () =>
      store().transact({ name: "create" }, async (tx) => tx.insertSchedule(again));
    expect(await insert()).toBe(false);
    expect(await store().schedules.delete(namespace.id, "nightly")).toBe(true);
    expect(await store().schedules.delete(namespace.id, "nightly")).toBe(false);
    expect(await store().schedules.byId([id])).toEqual([]);
    expect(await insert()).toBe(true);
  });

  test("one whose time has come is due in its partition, and no other", async () => {
    const partition = ownPartition();
    const other = ownPartition();
    const due = { ...NEXT, wakeAt: 1 };
    const record = await make({ partition, next: due });
    await make({ partition, name: "later" });
    await make({ partition: other, pauseReason: "holidays", next: due });
    const scan = await store().dueRows([partition], 10);
    expect(scan).toMatchObject({ due: [], schedules: [{ id: record.id, partition, wakeAt: 1 }] });
    expect(scan.nextAt).toBe(NEXT.wakeAt);
    expect(await store().dueRows([other], 10)).toMatchObject({ schedules: [], nextAt: null });
    await store().schedules.delete(record.namespace.id, record.name);
    expect((await store().dueRows([partition], 10)).schedules).toEqual([]);
  });

  test("one that has moved on is due at its next time, or never again", async () => {
    const partition = ownPartition();
    const record = await make({ partition, next: { ...NEXT, wakeAt: 1 } });
    const { id } = record;
    const move = (next: typeof NEXT | null) =>
      store().transact({ name: "move" }, async (tx) => {
        await tx.lockSchedules([id], true);
        await tx.moveSchedules([{ id, next }]);
      });
    const next = { nominalTime: NEXT.nominalTime + 5, at: NEXT.at + 5, wakeAt: NEXT.at + 7 };
    await move(next);
    expect(await store().dueRows([partition], 10)).toMatchObject({
      schedules: [],
      nextAt: next.wakeAt,
    });
    const { revision } = record;
    expect(await store().schedules.byId([id])).toMatchObject([{ next, revision }]);
    await move(null);
    expect(await store().schedules.byId([id])).toMatchObject([{ next: null }]);
  });

  test("a change by a person is written with its revision; one that is paused is not due", async () => {
    const partition = ownPartition();
    const due = { ...NEXT, wakeAt: 1 };
    const { id, changedAt } = await make({ partition, next: due });
    const spec: ScheduleSpec = {
      ...SPEC,
      calendar: { kind: "interval", everyMs: 60_000, offsetMs: 1 },
    };
    const pause = { since: NEXT.at, reason: "holidays" };
    const change = (of: { readonly pause: typeof pause | null }) =>
      store().transact({ name: "change" }, async (tx) => {
        await tx.lockSchedules([id], true);
        await tx.changeSchedule({ id, spec, series: 2, next: due, ...of });
      });
    await change({ pause });
    const [changed] = await store().schedules.byId([id]);
    expect(changed).toMatchObject({ spec, series: 2, revision: 2, pause, next: { at: due.at } });
    expect(changed?.changedAt).toBeGreaterThanOrEqual(changedAt);
    expect((await store().dueRows([partition], 10)).schedules).toEqual([]);
    await change({ pause: null });
    expect((await store().dueRows([partition], 10)).schedules).toMatchObject([{ id }]);
  });

  test("an occurrence is stored once; one without a run gives way, one with a run stays", async () => {
    const record = await make();
    const { ref } = await schedule(store(), workflow({ a: {} }));
    const missed = { count: 3, until: NEXT.at + 1_000 };
    await write(record, occurrenceOf(record, { outcome: "missed", missed }));
    const actor = { node: newUuid(), epoch: 7 };
    const started = occurrenceOf(record, {
      outcome: "started",
      runId: ref.runId,
      cause: "backfill",
    });
    await write(record, { ...started, actor });
    expect(await stored(record, NEXT.nominalTime, NEXT.nominalTime + 1)).toEqual([
      { ...started, actor },
    ]);
    await expect(write(record, occurrenceOf(record, { message: "late" }))).rejects.toThrow();
    expect(await stored(record, NEXT.nominalTime)).toMatchObject([{ runId: ref.runId }]);
  });

  test("the last occurrences of each are listed, newest first, with the state of their runs", async () => {
    const namespaceId = await newNamespace(store());
    const [a, b] = [await make({ namespaceId, name: "a" }), await make({ namespaceId, name: "b" })];
    const { ref } = await schedule(store(), workflow({ a: {} }), { namespaceId });
    const at = (of: ScheduleRecord, ms: number, more: Partial<Occurrence> = {}) =>
      occurrenceOf(of, { nominalTime: ms, at: ms, ...more });
    const { runId } = ref;
    await write(a, at(a, 1), at(a, 3, { outcome: "started", runId }), at(a, 2));
    await write(b, at(b, 5, { outcome: "refused", message: "no such workflow" }));
    const last = await store().schedules.lastOccurrences([a.id, b.id], 2);
    const of = (id: string) => last.filter(({ scheduleId }) => scheduleId === id);
    expect(of(a.id)).toMatchObject([
      { at: 3, runId, runState: "RUNNING", handledAt: expect.any(Number) },
      { at: 2, runId: null, runState: null },
    ]);
    expect(of(b.id)).toMatchObject([{ outcome: "refused", message: "no such workflow" }]);
  });

  test("occurrences of a deleted schedule are forgotten in small batches, and it after them", async () => {
    const record = await make();
    const occurrences = [1, 2, 3].map((nominalTime) =>
      occurrenceOf(record, { nominalTime, at: nominalTime }),
    );
    await write(record, ...occurrences);
    await store().schedules.delete(record.namespace.id, record.name);
    const left = async () => (await store().schedules.lastOccurrences([record.id], 10)).length;
    // Others that were deleted before go first.
    for (let rounds = 0; rounds < 50 && (await left()) > 0; rounds++) await store().forgetOld(2);
    expect(await left()).toBe(0);
  });
}
