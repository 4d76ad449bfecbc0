/** What namespaces may take, and runs that are deleted after their retention. */
import { expect, test } from "vitest";
import type { Definition } from "../../server/core/definition/definition.ts";
import { type NamespaceLimits, NO_LIMITS } from "../../server/store/namespaces.ts";
import type { RunId } from "../../server/store/store.ts";
import { workflow } from "../support/core-world.ts";
import {
  claimOne,
  newNamespace,
  newUuid,
  type Opened,
  ownPartition,
  pass,
  permanent,
  report,
  type Scheduled,
  type ScheduleOptions,
  schedule,
  success,
} from "./fixture.ts";
import { beginAs, passAs } from "./hand-made.ts";

const ENDED = { state: { kind: "FAILED", reason: "STEP_FAILED" } } as const;
export const LIMITS: NamespaceLimits = {
  openRunsMax: 3,
  rate: { perSecond: 0.5, burst: 2 },
  payloadBytesMax: 1_024,
  callRate: { perSecond: 7, burst: 9 },
  storageBytesMax: 5_000_000_000,
  weight: 200,
};

export function describeNamespaces(opened: Opened): void {
  const store = () => opened().store;
  /** All that these tests have started, in the order of their creation. */
  const started: Scheduled[] = [];
  const noted = async (run: Promise<Scheduled>): Promise<Scheduled> => {
    started.push(await run);
    return run;
  };
  const make = (definition: Definition, options: ScheduleOptions) =>
    noted(schedule(store(), definition, options));
  const limited = async (namespaceId: number) =>
    (await store().namespaces.limited()).find((one) => one.namespaceId === namespaceId);
  const finished = async (namespaceId: number): Promise<Scheduled> => {
    const run = await make(workflow({ a: {} }), { namespaceId });
    await pass(store(), run, report(await claimOne(store(), run), success));
    return run;
  };
  /** All pages of those whose time is over. */
  const forget = async (namespaceId: number, { keptMs = 0, limit = 100 } = {}) => {
    await opened().elapse(5);
    let after: RunId | null = null;
    for (let more = true; more; )
      ({ after, more } = await store().namespaces.forgetRuns({
        namespaceId,
        keptMs,
        after,
        limit,
      }));
  };
  /** Those of the namespace that are there. */
  const left = async (namespaceId: number) => {
    const found = await Promise.all(
      started.map(({ ref: { runId } }) => store().reads.findRun(namespaceId, { runId })),
    );
    return found.flatMap((run) => (run ? [run.runId] : []));
  };

  test("a namespace keeps its runs for ever and has no limits until an operator sets them", async () => {
    const namespaceId = await newNamespace(store());
    expect(await limited(namespaceId)).toBeUndefined();
    await store().namespaces.setRetention(namespaceId, 3_600_000);
    await store().namespaces.setLimits(namespaceId, LIMITS);
    expect(await limited(namespaceId)).toMatchObject({ limits: LIMITS });
    expect(await store().namespaces.retained()).toContainEqual({
      namespaceId,
      retentionMs: 3_600_000,
    });
    await store().namespaces.setRetention(namespaceId, null);
    await store().namespaces.setLimits(namespaceId, NO_LIMITS);
    expect(await limited(namespaceId)).toBeUndefined();
    const retained = await store().namespaces.retained();
    expect(retained.map((one) => one.namespaceId)).not.toContain(namespaceId);
  });

  test("limits and logs of a namespace are set apart from each other", async () => {
    const namespaceId = await newNamespace(store());
    await store().namespaces.setLogs(namespaceId, false);
    expect(await limited(namespaceId)).toMatchObject({ limits: NO_LIMITS, storesLogs: false });
    await store().namespaces.setLimits(namespaceId, LIMITS);
    expect(await limited(namespaceId)).toMatchObject({ limits: LIMITS, storesLogs: false });
    await store().namespaces.setLogs(namespaceId, true);
    expect(await limited(namespaceId)).toMatchObject({ limits: LIMITS, storesLogs: true });
    await store().namespaces.setLogs(namespaceId, false);
    await store().namespaces.setLimits(namespaceId, NO_LIMITS);
    expect(await limited(namespaceId)).toMatchObject({ limits: NO_LIMITS, storesLogs: false });
    await store().namespaces.setLogs(namespaceId, true);
    expect(await limited(namespaceId)).toBeUndefined();
  });

  test("open runs of a namespace with such a limit are counted up to it", async () => {
    const namespaceId = await newNamespace(store());
    await store().namespaces.setLimits(namespaceId, LIMITS);
    expect(await limited(namespaceId)).toMatchObject({ limits: LIMITS, openRuns: 0 });
    await finished(namespaceId);
    await make(workflow({ a: {} }), { namespaceId });
    expect(await limited(namespaceId)).toMatchObject({ openRuns: 1 });
    for (let n = 0; n < 3; n++) await make(workflow({ b: {} }), { namespaceId });
    expect(await limited(namespaceId)).toMatchObject({ openRuns: 3 });
    await store().namespaces.setLimits(namespaceId, { ...LIMITS, openRunsMax: null });
    expect(await limited(namespaceId)).toMatchObject({ openRuns: 0 });
  });

  test("what the runs of a namespace take is estimated, and falls when they are deleted", async () => {
    const namespaceId = await newNamespace(store());
    await store().namespaces.setLimits(namespaceId, LIMITS);
    const bytes = async () => {
      await store().namespaces.countStorage(0);
      return (await limited(namespaceId))?.storageBytes ?? 0;
    };
    expect(await bytes()).toBe(0);
    await finished(namespaceId);
    const one = await bytes();
    expect(one).toBeGreaterThanOrEqual(100);
    await finished(namespaceId);
    // Of a table that has grown it reads a sample: what one misses, the next may find.
    await expect.poll(bytes).toBeGreaterThan(1.5 * one);
    await forget(namespaceId);
    expect(await bytes()).toBe(0);
  });

  test("a run whose time is over goes with all that is of it, and its key stays", async () => {
    const namespaceId = await newNamespace(store());
    const run = await finished(namespaceId);
    const { runId } = run.ref;
    await forget(namespaceId, { keptMs: 60_000 });
    expect(await left(namespaceId)).toEqual([runId]);
    const key = `k-${newUuid()}`;
    const keyed = { namespaceId, key, runId, digest: "ab".repeat(32), keepMs: 60_000 };
    await store().transact({ name: "key" }, (tx) => tx.reserveKeys([keyed]));
    await forget(namespaceId);
    expect(await left(namespaceId)).toEqual([]);
    expect(await store().reads.findRun(namespaceId, { key })).toBeNull();
    const all = { attempts: true, interventions: true, escalations: true };
    expect(await store().reads.runDetail(runId, all)).toBeNull();
    const again = { ...keyed, runId: newUuid() };
    const [holder] = await store().transact({ name: "key" }, (tx) => tx.reserveKeys([again]));
    expect(holder).toMatchObject({ runId, mine: false });
    const late = await store().transact({ name: "late" }, (tx) => tx.endedRuns([run.ref]));
    expect(late).toEqual([]);
  });

  test("an open run stays, however old, and so does one of another namespace", async () => {
    const namespaceId = await newNamespace(store());
    const other = await newNamespace(store());
    const old = await make(workflow({ a: {} }), { namespaceId, agoMs: 86_400_000 });
    const done = await finished(namespaceId);
    const elsewhere = await finished(other);
    await forget(namespaceId);
    expect(await left(namespaceId)).toEqual([old.ref.runId]);
    expect(await left(other)).toEqual([elsewhere.ref.runId]);
    expect(await left(namespaceId)).not.toContain(done.ref.runId);
  });

  test("a run that is still needed stays: by a person, its parent, a trigger, a hook", async () => {
    const namespaceId = await newNamespace(store());
    const partition = ownPartition();
    const begin = (more = {}) => noted(beginAs(store(), [], { namespaceId, partition, ...more }));
    const end = (run: Scheduled) => passAs(store(), run, { run: ENDED });
    const parent = await begin();
    const child = await begin({ parent: { runId: parent.ref.runId, stepId: "a" } });
    await end(child);
    await forget(namespaceId);
    expect(await left(namespaceId)).toContain(child.ref.runId);
    await end(parent);
    const asked = await make(workflow({ a: { onFailure: "escalate" } }), {
      namespaceId,
    });
    await pass(store(), asked, report(await claimOne(store(), asked), permanent));
    await end(asked);
    const source = { kind: "run-end", workflow: "build", states: [] } as const;
    const action = { kind: "schedule", workflow: "w", version: 0, input: null } as const;
    const definition = { name: "any", source, when: "" };
    const doing = { ...action, key: "", labels: {}, priority: 0 };
    const trigger = { ...definition, action: doing };
    await store().triggers.put({ namespaceId, definition: trigger, secret: null });
    const built = await begin({ workflow: "build" });
    await end(built);
    await forget(namespaceId);
    const remaining = [asked.ref.runId, built.ref.runId];
    expect(new Set(await left(namespaceId))).toEqual(new Set(remaining));
    const [due] = await store().triggers.ended([partition], 10);
    await store().triggers.settle([{ id: due?.id ?? "", again: false, began: null }]);
    await forget(namespaceId);
    expect(await left(namespaceId)).toEqual([asked.ref.runId]);
  });

  test("an erased run goes with its key, and the run next to it stays", async () => {
    const namespaceId = await newNamespace(store());
    const beside = await finished(namespaceId);
    const key = `k-${newUuid()}`;
    const run = await make(workflow({ a: {} }), { namespaceId, key });
    const { runId } = run.ref;
    const reserved = { namespaceId, key, digest: "ab".repeat(32), keepMs: 60_000 };
    const reserve = (of: RunId) =>
      store().transact({ name: "key" }, (tx) => tx.reserveKeys([{ ...reserved, runId: of }]));
    await reserve(runId);
    const erase = () => store().namespaces.eraseRun(namespaceId, runId, null);
    expect(await erase()).toEqual({ kind: "open", relative: "run", runId, state: "RUNNING" });
    await pass(store(), run, report(await claimOne(store(), run), permanent));
    const elsewhere = await newNamespace(store());
    const unknown = { kind: "unknown" };
    expect(await store().namespaces.eraseRun(elsewhere, runId, null)).toEqual(unknown);
    expect(await erase()).toMatchObject({ kind: "erased" });
    expect(await left(namespaceId)).toEqual([beside.ref.runId]);
    const all = { attempts: true, interventions: true, escalations: true };
    expect(await store().reads.runDetail(runId, all)).toBeNull();
    const other = newUuid();
    expect(await reserve(other)).toMatchObject([{ runId: other, mine: true }]);
    expect(await erase()).toEqual(unknown);
  });

  test("a run is erased after its parent and its children have ended", async () => {
    const namespaceId = await newNamespace(store());
    const partition = ownPartition();
    const begin = (more = {}) => noted(beginAs(store(), [], { namespaceId, partition, ...more }));
    const end = (run: Scheduled) => passAs(store(), run, { run: ENDED });
    const erase = ({ ref }: Scheduled) => store().namespaces.eraseRun(namespaceId, ref.runId, null);
    const open = (relative: string, { ref: { runId } }: Scheduled) => ({
      kind: "open",
      relative,
      runId,
      state: "RUNNING",
    });
    const parent = await begin();
    const child = await begin({ parent: { runId: parent.ref.runId, stepId: "a" } });
    const other = await begin({ parent: { runId: parent.ref.runId, stepId: "b" } });
    await end(child);
    expect(await erase(child)).toEqual(open("parent", parent));
    await end(parent);
    expect(await erase(parent)).toEqual(open("child", other));
    await end(other);
    for (const run of [child, parent, other])
      expect(await erase(run)).toMatchObject({ kind: "erased" });
    expect(await left(namespaceId)).toEqual([]);
  });

  test("runs go page by page, and pages that are in the way are passed by", async () => {
    const namespaceId = await newNamespace(store());
    const open = await make(workflow({ b: {} }), { namespaceId });
    for (let n = 0; n < 3; n++) await finished(namespaceId);
    await opened().elapse(5);
    const asked = { namespaceId, keptMs: 0, limit: 1 };
    const first = await store().namespaces.forgetRuns({ ...asked, after: null });
    expect(first).toEqual({ after: open.ref.runId, more: true });
    await store().namespaces.forgetRuns({ ...asked, after: first.after });
    expect(await left(namespaceId)).toHaveLength(3);
    await forget(namespaceId, { limit: 2 });
    expect(await left(namespaceId)).toEqual([open.ref.runId]);
  });
}
