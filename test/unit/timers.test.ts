// The loop of the supervisor: when it scans, and what it does not wait for.
import { describe, expect, it } from "vitest";
import { SUPERVISOR_DEFAULTS } from "../../server/config.ts";
import type { RunEvent } from "../../server/core/model/event.ts";
import { DroverError } from "../../server/errors.ts";
import { WHOLE_RANGE } from "../../server/store/due.ts";
import type { DueRow, DueScan } from "../../server/store/store.ts";
import { createTimerScan } from "../../server/supervisor/timers.ts";
import { quietLog } from "../support/control-plane.ts";
import { handClock } from "../support/hand-clock.ts";

const NOTHING: DueScan = {
  now: 1_000,
  outside: [],
  due: [],
  schedules: [],
  nextAt: null,
  foundTo: 1_000,
};

function backoff(runId: string, fence = 0): DueRow {
  const of = { runId, partition: 0, step: 0, fence, wakeAt: 1_000 };
  return { kind: "backoff", ...of, polled: false, lane: null, agentVersion: null };
}

function timersOver(
  answers: (() => Promise<DueScan>)[],
  onSubmit: (runId: string) => Promise<void> = () => Promise.resolve(),
) {
  const clock = handClock();
  const scans: number[] = [];
  const submitted: { runId: string; event: RunEvent }[] = [];
  const outside: string[] = [];
  const begins: (number | null)[] = [];
  const without: string[][] = [];
  const failures: number[] = [];
  const timers = createTimerScan({
    clock,
    log: quietLog,
    settings: SUPERVISOR_DEFAULTS,
    store: {
      dueRows(_partitions, _limit, { since, without: left = [] } = WHOLE_RANGE) {
        begins.push(since);
        without.push(left.map(({ id }) => id));
        scans.push(clock.monotonicMs());
        return (answers.shift() ?? (() => Promise.resolve(NOTHING)))();
      },
    },
    advance: {
      async submit({ runId }, event) {
        submitted.push({ runId, event });
        await onSubmit(runId);
        return { kind: "done" };
      },
    },
    beginDue: async () => ({ kind: "done" }),
    owner: () => ({ node: "n", owned: [{ partition: 0, epoch: 1 }] }),
    onFenced: () => undefined,
    onOutside: (what) => void outside.push(...what),
    onFailing: (_failed, backoff) => void failures.push(backoff.failures),
  });
  return { clock, timers, scans, begins, without, submitted, outside, failures };
}

describe("the supervisor's loop", () => {
  it("scans at once, then at the next due time, and at least once a second", async () => {
    const soon = async () => ({ ...NOTHING, nextAt: 1_300 });
    const { clock, timers, scans } = timersOver([soon]);
    timers.start();
    await clock.advance(3_000);
    expect(scans).toEqual([0, 301, 1_301, 2_301]);
  });

  it("begins where it left nothing before, and ten seconds earlier for late commits", async () => {
    const at = (now: number, more: Partial<DueScan> = {}) => ({ ...NOTHING, now, ...more });
    const { clock, timers, begins } = timersOver([
      async () => at(100_000),
      async () => at(101_000, { due: [backoff("old")] }),
      async () => at(102_000),
      async () => at(103_000),
    ]);
    timers.start();
    await clock.advance(1_500);
    expect(begins).toEqual([null, 90_000]);
    await clock.advance(1_000);
    // It may not be settled yet.
    expect(begins.at(-1)).toBe(1_000);
    // A time before that, which another server has set.
    timers.announce(80_000);
    await clock.advance(100);
    expect(begins.slice(3)).toEqual([80_000]);
    await clock.advance(1_000);
    expect(begins.slice(4)).toEqual([93_000]);
  });

  it("begins where it began while there is more than a scan takes", async () => {
    const more = { ...NOTHING, now: 100_000, nextAt: 100_000 };
    const { clock, timers, begins } = timersOver([
      async () => more,
      async () => more,
      async () => ({ ...NOTHING, now: 100_500 }),
      async () => ({ ...more, now: 101_500, nextAt: 101_500 }),
    ]);
    timers.start();
    await clock.advance(4_000);
    // At all, until all was seen; then from there on.
    expect(begins.slice(0, 5)).toEqual([null, null, null, 90_500, 90_500]);
  });

  it("scans all timers of partitions that it has taken, and again once a minute", async () => {
    const { clock, timers, begins } = timersOver([]);
    timers.start();
    await clock.advance(1_500);
    timers.taken([0]);
    await clock.advance(0);
    await clock.advance(59_900);
    const whole = begins.flatMap((since, index) => (since === null ? [index] : []));
    expect(whole).toEqual([0, 2]);
    await clock.advance(1_000);
    expect(begins.flatMap((since, index) => (since === null ? [index] : []))).toHaveLength(3);
  });

  it("continues from its last position if there is more than one statement may take", async () => {
    const tooMuch = () => Promise.reject(new Error("canceling statement due to statement timeout"));
    const { clock, timers, begins } = timersOver([
      tooMuch,
      async () => ({ ...NOTHING, now: 100_500 }),
    ]);
    timers.start();
    await clock.advance(0);
    timers.taken([0]);
    await clock.advance(2_000);
    expect(begins.slice(0, 3)).toEqual([null, clock.wallMs() - 62_000, 90_500]);
    await clock.advance(60_000);
    expect(begins.filter((since) => since === null)).toHaveLength(2);
  });

  it("reports what else waits for the owner of its partitions", async () => {
    const { timers, outside } = timersOver([
      async () => ({ ...NOTHING, outside: ["inbox", "triggers"] }),
      async () => NOTHING,
    ]);
    await timers.scanOnce();
    await timers.scanOnce();
    expect(outside).toEqual(["inbox", "triggers"]);
  });

  it("scans when an announced time comes", async () => {
    const { clock, timers, scans } = timersOver([]);
    timers.start();
    await clock.advance(100);
    timers.announce(1_500);
    await clock.advance(500);
    expect(scans).toEqual([0, 501]);
  });

  it("scans again at once when a timer was added during a scan", async () => {
    const blocked = Promise.withResolvers<DueScan>();
    const { clock, timers, scans } = timersOver([async () => NOTHING, () => blocked.promise]);
    timers.start();
    await clock.advance(0);
    timers.announce(1_100);
    await clock.advance(150);
    timers.announce(1_200);
    await clock.advance(150);
    expect(scans).toEqual([0, 101]);
    blocked.resolve(NOTHING);
    await clock.advance(0);
    expect(scans).toEqual([0, 101, 300]);
  });

  it("does not wait long for a run that another transaction holds, and queries it only once", async () => {
    const held = Promise.withResolvers<void>();
    const due =
      (...runs: string[]) =>
      async () => ({ ...NOTHING, due: runs.map(backoff) });
    const { clock, timers, submitted } = timersOver(
      [due("held"), due("held", "other")],
      () => held.promise,
    );
    timers.start();
    await clock.advance(1_500);
    expect(submitted.map(({ runId }) => runId)).toEqual(["held", "other"]);
    held.resolve();
    await timers.stop();
  });

  it("lets a row that fails back off alone, twice as long each time, and finds it again", async () => {
    const at = (now: number, due: DueRow[] = []) => ({ ...NOTHING, now, due });
    const { clock, timers, scans, begins, without, submitted } = timersOver(
      [
        async () => at(100_000, [backoff("bad"), backoff("good")]),
        async () => at(101_000, [backoff("bad")]),
        async () => at(102_000),
        async () => at(103_000),
      ],
      async (runId) => {
        if (runId === "bad") throw new Error("its definition cannot be read");
      },
    );
    timers.start();
    await clock.advance(500);
    expect(timers.failedRows()).toBe(1);
    await clock.advance(2_600);
    expect(submitted.map(({ runId }) => runId)).toEqual(["bad", "good", "bad"]);
    expect(scans).toEqual([0, 1_000, 2_000, 3_000]);
    // It backs off for 1 s, and then for 2 s.
    expect(without).toEqual([[], [], ["bad"], []]);
    // Once its backoff is over, the scan begins again where it is due.
    expect(begins[3]).toBe(1_000);
    await timers.stop();
  });

  it("leaves out for a while a row that failed during the scan that finds it", async () => {
    const held = Promise.withResolvers<void>();
    const blocked = Promise.withResolvers<void>();
    const due = { ...NOTHING, due: [backoff("bad")] };
    const found = () => blocked.promise.then(() => due);
    const { clock, timers, scans, submitted } = timersOver(
      [async () => due, found],
      () => held.promise,
    );
    timers.start();
    await clock.advance(1_000);
    expect(scans).toHaveLength(2);
    held.reject(new Error("its definition cannot be read"));
    await clock.advance(0);
    blocked.resolve();
    await clock.advance(500);
    expect(submitted).toHaveLength(1);
    await timers.stop();
  });

  it("counts one failure where two rows of one step fail beside each other", async () => {
    const held = Promise.withResolvers<void>();
    const { clock, timers, submitted, failures, without } = timersOver(
      [
        async () => ({ ...NOTHING, due: [backoff("bad", 1)] }),
        // The step was handed out and given back meanwhile.
        async () => ({ ...NOTHING, now: 2_000, due: [backoff("bad", 2)] }),
      ],
      () => held.promise,
    );
    timers.start();
    await clock.advance(1_500);
    expect(submitted).toHaveLength(2);
    held.reject(new Error("its definition cannot be read"));
    await clock.advance(0);
    expect(failures).toEqual([1]);
    expect(timers.failedRows()).toBe(1);
    // From now on for 1 s, as after one failure.
    await clock.advance(999);
    expect(without.at(-1)).toEqual(["bad"]);
    expect(timers.failedRows()).toBe(1);
    await clock.advance(1);
    expect(timers.failedRows()).toBe(0);
    await timers.stop();
  });

  it("lets no row back off because the store is away", async () => {
    const away = () => Promise.reject(new DroverError("STORE_UNAVAILABLE", "it is away"));
    const { clock, timers } = timersOver(
      [async () => ({ ...NOTHING, due: [backoff("one")] })],
      away,
    );
    timers.start();
    await clock.advance(100);
    expect(timers.failedRows()).toBe(0);
    await timers.stop();
  });
});
