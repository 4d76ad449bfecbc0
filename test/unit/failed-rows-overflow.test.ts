/**
 * More rows fail than a supervisor holds in memory: how often they are tried, and that all others
 * are found meanwhile.
 */
import { describe, expect, it } from "vitest";
import { SUPERVISOR_DEFAULTS } from "../../server/config.ts";
import { dueRefOf, WHOLE_RANGE } from "../../server/store/due.ts";
import type { DueRow, DueScan } from "../../server/store/store.ts";
import type { Backoff } from "../../server/supervisor/failed-rows.ts";
import { createTimerScan } from "../../server/supervisor/timers.ts";
import { quietLog } from "../support/control-plane.ts";
import { handClock } from "../support/hand-clock.ts";

/** How many rows back off in memory, of the 1,000 that fail. */
const RESTING_MAX = 100;
const BAD = 1_000;
const NOW = 1_000_000;
const PARTITIONS = 20;

const keyOf = (row: DueRow): string => {
  const { kind, id, place } = dueRefOf(row);
  return `${kind}/${id}/${place}`;
};

/** A twentieth of them in each partition. */
function backoff(runId: string, wakeAt: number): DueRow {
  const of = {
    runId,
    partition: Number(runId.split(" ")[1]) % PARTITIONS,
    step: 0,
    fence: 0,
    wakeAt,
  };
  return { kind: "backoff", ...of, polled: false, lane: null, agentVersion: null };
}

/** A supervisor over a table of due rows. Those that are bad fail; the others are gone once met. */
function supervise() {
  const clock = handClock();
  const now = () => NOW + clock.monotonicMs();
  const rows = new Map<string, DueRow>();
  const bad = new Set<string>();
  const owned = Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, epoch: 1 }));
  const triedAtMs = new Map<string, number[]>();
  const isBackingOff: Backoff[] = [];
  const add = (runId: string, wakeAt: number) => {
    const row = backoff(runId, wakeAt);
    rows.set(row.runId, row);
  };
  const timers = createTimerScan({
    clock,
    log: quietLog,
    settings: SUPERVISOR_DEFAULTS,
    failedRowsMax: RESTING_MAX,
    store: {
      async dueRows(partitions, limit, { since, without = [] } = WHOLE_RANGE): Promise<DueScan> {
        await clock.sleep(20);
        const left = new Set(without.map(({ kind, id, place }) => `${kind}/${id}/${place}`));
        const mine = [...rows.values()].filter(({ partition }) => partitions.includes(partition));
        const all = mine.sort((a, b) => a.wakeAt - b.wakeAt);
        const found = all.filter(
          (row) => row.wakeAt <= now() && row.wakeAt >= (since ?? 0) && !left.has(keyOf(row)),
        );
        const due = found.slice(0, limit);
        const isMore = found.length >= limit;
        const toCome = all.find(({ wakeAt }) => wakeAt > now())?.wakeAt ?? null;
        const foundTo = isMore ? (due.at(-1)?.wakeAt ?? now()) : now();
        const nextAt = isMore ? now() : toCome;
        return { now: now(), outside: [], due, schedules: [], nextAt, foundTo };
      },
    },
    advance: {
      async submit({ runId }) {
        triedAtMs.set(runId, [...(triedAtMs.get(runId) ?? []), clock.monotonicMs()]);
        if (bad.has(runId)) throw new Error("its definition cannot be read");
        rows.delete(runId);
        return { kind: "done" };
      },
    },
    beginDue: async () => ({ kind: "done" }),
    owner: () => ({ node: "n", owned }),
    onFenced: () => undefined,
    onFailing: (_, backoff) => void isBackingOff.push(backoff),
    onOutside: () => undefined,
  });
  const triesOf = (runId: string): number => triedAtMs.get(runId)?.length ?? 0;
  /** Of all that are bad, from then until now. */
  const triesSince = (ms: number): number =>
    [...triedAtMs].flatMap(([id, at]) => (bad.has(id) ? at.filter((one) => one >= ms) : [])).length;
  return { clock, timers, rows, bad, isBackingOff, add, triedAtMs, triesOf, triesSince };
}

function superviseBad(wakeAtOf: (n: number) => number) {
  const world = supervise();
  for (let n = 0; n < BAD; n++) {
    world.bad.add(`bad ${n}`);
    world.add(`bad ${n}`, wakeAtOf(n));
  }
  return world;
}

const apart = (n: number): number => NOW - 500_000 + 10 * n;
const atOnce = (): number => NOW - 500_000;
const withinScan = (n: number): number => NOW - 5_000 + n;

describe.each([
  ["one after the other", apart],
  ["all at the same time", atOnce],
  ["just now", withinScan],
])("ten times as many rows fail as back off in memory, which came due %s", (_, wakeAtOf) => {
  it("tries each of them, and then so many a second at most", async () => {
    const { clock, timers, bad, triesOf, triesSince } = superviseBad(wakeAtOf);
    timers.start();
    await clock.advance(60_000);
    expect([...bad].filter((one) => triesOf(one) === 0)).toEqual([]);
    await clock.advance(600_000);
    expect(triesSince(60_000)).toBeLessThanOrEqual(600 * 200);
    expect(triesSince(60_000)).toBeGreaterThan(0);
    expect(timers.failedRows()).toBeLessThanOrEqual(RESTING_MAX);
    // None is tried again with every scan, and none is forgotten.
    const tries = [...bad].map(triesOf);
    expect(Math.max(...tries)).toBeLessThan(30);
    expect(Math.min(...tries)).toBeGreaterThan(1);
    await timers.stop();
  });

  it("finds what comes due meanwhile within a second", async () => {
    const { clock, timers, add, triedAtMs } = superviseBad(wakeAtOf);
    timers.start();
    for (let at = 0; at < 200; at++) {
      const dueMs = clock.monotonicMs() + 500;
      add(`good ${at}`, NOW + dueMs);
      await clock.advance(1_700);
      const [triedMs] = triedAtMs.get(`good ${at}`) ?? [];
      expect(triedMs, `good ${at}`).toBeGreaterThanOrEqual(dueMs);
      expect(triedMs).toBeLessThanOrEqual(dueMs + 1_000);
    }
    await timers.stop();
  });

  it("finds what has been among them for long", async () => {
    const { clock, timers, add, triesOf } = superviseBad(wakeAtOf);
    add("good 0", wakeAtOf(BAD - 1));
    timers.start();
    await clock.advance(60_000);
    expect(triesOf("good 0")).toBe(1);
    await timers.stop();
  });

  it("tries all of them again once they no longer fail, and is as before", async () => {
    const { clock, timers, bad, add, rows, triedAtMs } = superviseBad(wakeAtOf);
    timers.start();
    await clock.advance(120_000);
    bad.clear();
    await clock.advance(900_000);
    expect(rows.size).toBe(0);
    expect(timers.failedRows()).toBe(0);
    bad.add("one 0");
    add("one 0", NOW + clock.monotonicMs());
    await clock.advance(8_000);
    const [first = 0, second = 0] = triedAtMs.get("one 0") ?? [];
    expect(second - first).toBeGreaterThanOrEqual(1_000);
    expect(second - first).toBeLessThanOrEqual(2_100);
    await timers.stop();
  });
});

it("reports each row that fails beyond those in memory", async () => {
  const { clock, timers, isBackingOff } = superviseBad(apart);
  timers.start();
  await clock.advance(60_000);
  expect(isBackingOff.filter(({ isCrowded }) => isCrowded).length).toBeGreaterThan(
    BAD - RESTING_MAX - 1,
  );
  await timers.stop();
});
