/**
 * In random lives of runs the pages hold the state that the rules have computed, and the derived
 * rows, each changed by the differences of the writes, are those of the last version.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { changesPagesOnly } from "../../server/core/model/effect.ts";
import { isEnded } from "../../server/core/model/model.ts";
import { decodePage, type EncodedPage, encodePage } from "../../server/core/page/codec.ts";
import {
  type DerivedLease,
  type DerivedReady,
  derivedChanges,
  derivedRows,
  storedWakeAt,
  wakeAtOf,
} from "../../server/core/page/derived-rows.ts";
import { ATTEMPTS_MAX, type Page, pageNoOf, sameAttempt } from "../../server/core/page/page.ts";
import { rowsOfEffects } from "../../server/store/rows-of-effects.ts";
import { createWorld, START, type World } from "../support/core-world.ts";
import { firstPassOf, type PagedLife, pagedLife } from "../support/paged-life.ts";
import { lives } from "./random-acts.ts";
import { heal, live } from "./random-life.ts";
import { beginnings, definitions, evaluatorOf } from "./random-run.ts";

const SEED = 20_261_127;
const RUNS = 300;
const HEALING_EVENTS_MAX = 400;

function forEveryLife(check: (life: PagedLife, world: World) => void): void {
  fc.assert(
    fc.property(definitions, lives, beginnings, (definition, acts, { startInMs, ...begins }) => {
      const startAt = START + startInMs;
      const world = createWorld(definition, evaluatorOf(definition), { ...begins, startAt });
      const first = firstPassOf(world);
      live(world, acts);
      check(pagedLife(world, first), world);
      heal(world, HEALING_EVENTS_MAX);
      check(pagedLife(world, first), world);
    }),
    { seed: SEED, numRuns: RUNS },
  );
}

test("the differences from version to version make exactly the rows of the last one", () => {
  forEveryLife(({ versions, pages }) => {
    const rows = { ready: new Map<number, object>(), leases: new Map<number, object>() };
    for (const { before, after } of versions) write(rows, before, after);
    const last = [...pages.values()].map(derivedRows);
    expect(rows.ready).toEqual(
      rowsBy(
        last.flatMap(({ ready }) => ready),
        readyRow,
      ),
    );
    expect(rows.leases).toEqual(
      rowsBy(
        last.flatMap(({ leases }) => leases),
        leaseRow,
      ),
    );
  });
});

test("the stored wake-up of a page is there while it has a timer, and never too late", () => {
  forEveryLife(({ versions }) => {
    const stored = new Map<number, number | null>();
    // No timer of a life has come before its beginning.
    for (const { after } of versions) {
      const wakeAt = storedWakeAt(stored.get(after.no) ?? null, after, 0);
      stored.set(after.no, wakeAt);
      const exact = wakeAtOf(after);
      expect(wakeAt === null).toBe(exact === null);
      expect(wakeAt ?? 0).toBeLessThanOrEqual(exact ?? 0);
    }
  });
});

test("the pages hold what the rules have made of the run, and so does their text", () => {
  forEveryLife(({ versions, pages }, world) => {
    const { run, steps } = world.view();
    const stored = new Map([...pages.values()].flatMap((page) => [...page.steps]));
    expect(new Map([...stored].map(([no, { step }]) => [no, step]))).toEqual(steps);
    for (const page of pages.values())
      for (const place of page.steps.keys()) expect(pageNoOf(place)).toBe(page.no);
    // Once it has ended it stays as it is, but for the number of its questions.
    const head = pages.get(0)?.head;
    if (!isEnded(run.state)) expect(head?.run).toEqual(run);
    expect(head).toMatchObject({ run: { state: run.state, escalations: run.escalations } });
    expect(head?.endedAt === null).toBe(!isEnded(run.state));
    const encoded = new Map<number, EncodedPage>();
    for (const { after } of versions)
      encoded.set(after.no, encodePage(after, encoded.get(after.no) ?? null));
    for (const [no, { text }] of encoded) {
      expect(decodePage(text).page).toEqual(pages.get(no));
      expect(text).toBe(encodePage(pages.get(no) ?? expect.fail(`no page ${no}`)).text);
    }
  });
});

test("every attempt that ended is in its page or in the log, once, and eight at most in a page", () => {
  forEveryLife(({ pages, logged }, world) => {
    const inPages = [...pages.values()].flatMap((page) =>
      [...page.steps.values()].flatMap(({ attempts, logged: count, step }) => {
        expect(attempts.length).toBeLessThanOrEqual(ATTEMPTS_MAX);
        expect(logged.filter((one) => one.step === step.no)).toHaveLength(count);
        return attempts.map((attempt) => ({ ...attempt, step: step.no }));
      }),
    );
    const stored = [...logged, ...inPages];
    for (const effect of world.effects) {
      if (effect.kind !== "task-ended" && effect.kind !== "attempt-stored") continue;
      const { attempt } = effect;
      const found = stored.filter((one) => one.step === attempt.step && sameAttempt(one, attempt));
      expect(found).toHaveLength(1);
    }
  });
});

test("an effect that changes pages only appends no row beside them, and leaves the run's state", () => {
  const runId = "00000000-0000-4000-8000-000000000001";
  forEveryLife((_, world) => {
    const { run } = world.view();
    const head = { runId, partition: 0, namespaceId: 1, definitionId: 1, priority: 5, run };
    for (const effect of world.effects) {
      if (!changesPagesOnly([effect])) continue;
      expect(effect.kind).not.toBe("run-moved");
      const { head: _, actor, ...rows } = rowsOfEffects({ head, actor: null, effects: [effect] });
      expect(Object.values(rows).flat()).toEqual([]);
    }
  });
});

/** Applies the difference that a write of a page makes; what it takes away must be there. */
function write(
  rows: { readonly ready: Map<number, object>; readonly leases: Map<number, object> },
  before: Page | null,
  after: Page,
): void {
  const changes = derivedChanges(before, after);
  for (const { step } of changes.readyGone) expect(rows.ready.delete(step)).toBe(true);
  for (const { step } of changes.leasesGone) expect(rows.leases.delete(step)).toBe(true);
  for (const one of changes.readyMoved) {
    expect(rows.ready.has(one.step)).toBe(true);
    rows.ready.set(one.step, { ...rows.ready.get(one.step), until: one.ready.until });
  }
  for (const one of changes.readyNew) insert(rows.ready, one.step, readyRow(one));
  for (const one of changes.leasesNew) insert(rows.leases, one.step, leaseRow(one));
}

function insert(rows: Map<number, object>, step: number, row: object): void {
  expect(rows.has(step)).toBe(false);
  rows.set(step, row);
}

function rowsBy<Of extends { readonly step: number }>(
  all: readonly Of[],
  rowOf: (one: Of) => object,
): Map<number, object> {
  return new Map(all.map((one) => [one.step, rowOf(one)]));
}

/** What a claim finds. */
function readyRow({ terms, ready }: DerivedReady): object {
  const { task, fence, attempt, readyAt, until, avoid } = ready;
  return { terms, task, fence, attempt, readyAt, until, avoid };
}

/** What the lease of a session has: heartbeats change none of it. */
function leaseRow({ terms, lease }: DerivedLease): object {
  const { task, fence, secret, session, pollSeq, grantedAt, heartbeatMs } = lease;
  return { lane: terms.lane, task, fence, secret, session, pollSeq, grantedAt, heartbeatMs };
}
