/**
 * Messages between runs: written with the change that causes it, brought to its run once by a
 * pass that takes it, and watched by the owner of the run's partition until then.
 */
import { expect, test } from "vitest";
import type { Effect } from "../../server/core/model/effect.ts";
import type { Message, StoredMessage } from "../../server/core/model/message.ts";
import { workflow } from "../support/core-world.ts";
import {
  newUuid,
  type Opened,
  ownPartition,
  pass,
  readRun,
  type Scheduled,
  schedule,
  viewOf,
} from "./fixture.ts";
import { beginAs, passAs } from "./hand-made.ts";

const CANCEL: Message = { kind: "cancel", undo: false };
const PAUSE: Message = { kind: "pause" };
const RESUME: Message = { kind: "resume" };

const sent = ({ ref }: Scheduled, message: Message): Effect => ({
  kind: "message-sent",
  to: ref.runId,
  message,
});
const applied = ({ no }: StoredMessage): Effect => ({ kind: "message-applied", no });

export function describeMessages(opened: Opened): void {
  const messagesTo = (run: Scheduled): Promise<readonly StoredMessage[]> =>
    opened().store.transact({ name: "read" }, async (tx) => {
      await tx.lockRuns([run.ref], true);
      return (await tx.loadMessages([run.ref.runId])).get(run.ref.runId) ?? [];
    });

  test("a run finds the messages of others, in the order in which each of them sent", async () => {
    const { store } = opened();
    const parent = await beginAs(store, []);
    const other = await beginAs(store, []);
    const child = await beginAs(store, []);
    await passAs(store, parent, { effects: [sent(child, PAUSE), sent(child, RESUME)] });
    await passAs(store, other, { effects: [sent(child, PAUSE)] });
    await passAs(store, parent, { effects: [sent(child, CANCEL)] });
    const found = await messagesTo(child);
    expect(found.map(({ from, message }) => [from, message])).toEqual([
      [parent.ref.runId, PAUSE],
      [parent.ref.runId, RESUME],
      [other.ref.runId, PAUSE],
      [parent.ref.runId, CANCEL],
    ]);
    expect(found.map(({ no }) => no)).toEqual([...found.map(({ no }) => no)].sort((a, b) => a - b));
    expect(await messagesTo(parent)).toEqual([]);
  });

  test("a message to a run that never was is not stored: no pass would take it", async () => {
    const { store } = opened();
    const partition = ownPartition();
    const run = await beginAs(store, [], { partition });
    // Of the same partition as the run is its id.
    const unknownRun = `${newUuid().slice(0, -2)}${run.ref.runId.slice(-2)}`;
    const message: Effect = { kind: "message-sent", to: unknownRun, message: PAUSE };
    await passAs(store, run, { effects: [message, sent(run, RESUME)] });
    const found = await store.transact({ name: "read" }, async (tx) => {
      await tx.lockRuns([run.ref], true);
      return tx.loadMessages([unknownRun, run.ref.runId]);
    });
    expect([...found.keys()]).toEqual([run.ref.runId]);
  });

  test("a message may ask to leave things, or to undo them", async () => {
    const { store } = opened();
    const run = await beginAs(store, []);
    const undo: Message = { kind: "cancel", undo: true };
    await passAs(store, run, { effects: [sent(run, undo), sent(run, CANCEL)] });
    expect((await messagesTo(run)).map(({ message }) => message)).toEqual([undo, CANCEL]);
  });

  test("a message is taken once: a pass that was decided by one that is gone writes nothing", async () => {
    const { store } = opened();
    const parent = await beginAs(store, []);
    const child = await beginAs(store, []);
    await passAs(store, parent, { effects: [sent(child, PAUSE), sent(child, RESUME)] });
    const [first, second] = await messagesTo(child);
    if (!first || !second) throw new Error("two messages were sent");
    await passAs(store, child, { effects: [applied(first)] });
    expect(await messagesTo(child)).toEqual([second]);
    const again = passAs(store, child, { effects: [applied(first), sent(parent, PAUSE)] });
    await expect(again).rejects.toThrow();
    expect(await messagesTo(parent)).toEqual([]);
  });

  test("a batch that fails has sent no message", async () => {
    const { store } = opened();
    const parent = await beginAs(store, []);
    const child = await beginAs(store, []);
    const failed = store.transact({ name: "failing" }, async (tx) => {
      const [head] = await tx.lockRuns([parent.ref], true);
      if (!head) throw new Error("the run is open");
      const view = viewOf(head.run, new Map());
      const effects = [sent(child, PAUSE)];
      const { laneOf } = parent;
      await tx.write([{ head, before: view, after: view, effects, laneOf, actor: null }]);
      throw new Error("the connection is gone");
    });
    await expect(failed).rejects.toThrow("the connection is gone");
    expect(await messagesTo(child)).toEqual([]);
  });

  test("the owner of the run's partition finds it once its sender had time to deliver it", async () => {
    const { store, elapse } = opened();
    const partition = ownPartition();
    const parent = await beginAs(store, []);
    const child = await beginAs(store, [], { partition });
    await passAs(store, parent, { effects: [sent(child, PAUSE)] });
    const before = await store.dueRows([partition], 10);
    expect(before.due).toEqual([]);
    expect((before.nextAt ?? 0) - before.now).toBeLessThanOrEqual(500);
    await elapse(500);
    await expect
      .poll(async () => (await store.dueRows([partition], 10)).due, { interval: 20 })
      .toMatchObject([{ ...child.ref, kind: "message", step: -1 }]);
    await pass(store, child, { kind: "messages" });
    expect((await readRun(store, child)).run.state.kind).toBe("PAUSED");
    expect((await store.dueRows([partition], 10)).due).toEqual([]);
  });

  test("a run that has ended takes its messages, and stays as it was", async () => {
    const { store } = opened();
    const parent = await beginAs(store, []);
    const child = await schedule(store, workflow({ a: { when: "false" } }));
    await passAs(store, parent, { effects: [sent(child, CANCEL)] });
    const { before, after } = await endedPass(child);
    expect(before.messages).toHaveLength(1);
    expect(after.run).toEqual(before.run);
    expect(await messagesTo(child)).toEqual([]);
  });

  async function endedPass(child: Scheduled) {
    const { before, view: after } = await pass(opened().store, child, { kind: "messages" });
    expect(after.run.state.kind).toBe("COMPLETED");
    return { before, after };
  }
}
