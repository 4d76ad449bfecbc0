/** Lines that handlers logged, and when they are deleted: with their run, or by their age. */
import { expect, test } from "vitest";
import { linesToStore } from "../../../server/core/log-lines.ts";
import type { Store } from "../../../server/store/store.ts";
import { workflow } from "../../support/core-world.ts";
import {
  claimOne,
  newNamespace,
  type Opened,
  pass,
  report,
  type Scheduled,
  schedule,
  success,
} from "../fixture.ts";

const ATTEMPT = { step: 0, kind: "perform", fence: 1, n: 0 } as const;
/** A database may be behind the test: as if a minute had passed. */
const AT_ONCE_MS = -60_000;
const HOUR_MS = 3_600_000;

export function describeHandlerLogs(opened: Opened<Store>): void {
  const begin = async (): Promise<Scheduled> => {
    const { store } = opened();
    return schedule(store, workflow({ a: {} }), { namespaceId: await newNamespace(store) });
  };

  async function append({ ref, ...run }: Scheduled, ...texts: string[]): Promise<void> {
    const { definitionId, namespaceId } = run;
    const attempt = { ...ATTEMPT, runId: ref.runId, attempt: 1, endedMsAgo: null };
    const lines = texts.map((message) => {
      return { at: 1_000, level: "info", message, fields: {} } as const;
    });
    const linesAfter = (end: Parameters<typeof linesToStore>[0]) =>
      linesToStore(end, end.line + 1, lines);
    const of = { ...attempt, definitionId, namespaceId };
    await opened().store.logs.append([{ attempt: of, linesAfter }]);
  }

  const linesOf = async ({ ref: { runId } }: Scheduled) => {
    const page = { runId, attempt: null, after: 0, limit: 10 };
    return (await opened().store.logs.lines(page)).map(({ message }) => message);
  };

  async function forgetRuns({ namespaceId }: Scheduled): Promise<void> {
    const page = { namespaceId, keptMs: AT_ONCE_MS, after: null, limit: 10 };
    while ((await opened().store.namespaces.forgetRuns(page)).more);
  }

  test("lines are deleted with their run, and those of an open run stay", async () => {
    const { store } = opened();
    const run = await begin();
    await append(run, "one", "two");
    await forgetRuns(run);
    expect(await linesOf(run)).toEqual(["one", "two"]);
    await pass(store, run, report(await claimOne(store, run), success));
    const other = await begin();
    await append(other, "of another run");
    await forgetRuns(run);
    expect(await linesOf(run)).toEqual([]);
    expect(await linesOf(other)).toEqual(["of another run"]);
  });

  test("lines that arrive after their run was erased are not stored", async () => {
    const { store } = opened();
    const run = await begin();
    await append(run, "one");
    await pass(store, run, report(await claimOne(store, run), success));
    await store.namespaces.eraseRun(run.namespaceId, run.ref.runId, null);
    await append(run, "late");
    expect(await linesOf(run)).toEqual([]);
  });

  test("lines are deleted by their age, whatever their run does, some at a time", async () => {
    const { store } = opened();
    const run = await begin();
    await append(run, "one", "two", "three");
    while (await store.forgetOld(1_000));
    while (await store.forgetOld(1_000, { logMs: HOUR_MS }));
    expect(await linesOf(run)).toEqual(["one", "two", "three"]);
    while (await store.forgetOld(1, { logMs: AT_ONCE_MS }));
    expect(await linesOf(run)).toEqual([]);
    await append(run, "four");
    expect(await linesOf(run)).toEqual(["four"]);
  });
}
