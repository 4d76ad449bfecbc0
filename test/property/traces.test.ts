/**
 * The spans of a run, whatever happens to it: each try and each intervention is one, under the one
 * root that comes with the end; none is exported twice, and each is as the catalogue has it. They
 * are made pass by pass and of nothing else, as by servers that have never loaded the run before.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Effect } from "../../server/core/model/effect.ts";
import { emptyView, isEnded } from "../../server/core/model/model.ts";
import { laneOfPlan, tasksOf } from "../../server/store/plans.ts";
import { readTrace, writeTrace } from "../../server/store/trace.ts";
import { SPANS, type SpanData, type SpanSpec } from "../../server/telemetry/spans.ts";
import {
  attemptIdOf,
  isSampled,
  rootIdOf,
  spanIdOf,
  traceIdOf,
} from "../../server/telemetry/traces/ids.ts";
import { spansOfPass } from "../../server/telemetry/traces/pass-spans.ts";
import { createWorld, START, type World } from "../support/core-world.ts";
import { lives } from "./random-acts.ts";
import { heal, live } from "./random-life.ts";
import { beginnings, definitions, evaluatorOf } from "./random-run.ts";

const SEED = 20260401;
const RUNS = 1_000;
const HEALING_EVENTS_MAX = 400;
const RUN_ID = "01a202cd-0d70-732d-87fd-a33fd7ac21ff";
const TRACE = { traceId: traceIdOf(RUN_ID), callerId: null, sampled: true, state: "" };

function spansOf({ plan, passes }: World): readonly SpanData[] {
  const laneOf = laneOfPlan(
    plan,
    tasksOf(plan).map((_, lane) => lane),
  );
  const placed = { runId: RUN_ID, namespaceId: 1, definitionId: 1 };
  const run = {
    ...placed,
    workflow: plan.workflow,
    version: 0,
    createdAt: START,
    trace: writeTrace(TRACE, null),
    parentId: null,
    rerunOf: null,
  };
  return passes.flatMap(({ before, after, effects, now }) => {
    const head = { ...placed, partition: 255, priority: 5, run: before.run };
    const record = { head, before, after, effects, laneOf, actor: null };
    const known = { run, trace: TRACE, plan, escalations: [], origins: [] };
    return spansOfPass({ ...known, record, started: false, now });
  });
}

/** Spans of rows that are written once, however often they are found. */
const ROWS: ReadonlySet<string> = new Set(["supervise", "failure", "report"]);

const found = new Set<string>();

test("each try and each intervention is one span below the root, and none is exported twice", () => {
  fc.assert(
    fc.property(definitions, lives, beginnings, (definition, acts, { startInMs, ...begins }) => {
      const startAt = START + startInMs;
      const world = createWorld(definition, evaluatorOf(definition), { ...begins, startAt });
      live(world, acts);
      heal(world, HEALING_EVENTS_MAX);
      const spans = spansOf(world);
      for (const { of } of spans) found.add(of);
      expectTraced(world, spans);
      expectWellMade(world, spans);
    }),
    { seed: SEED, numRuns: RUNS },
  );
}, 120_000);

function expectTraced(world: World, spans: readonly SpanData[]): void {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const effects = world.passes.flatMap(({ effects }) => effects);
  // What is one row of history is one span, though two passes of one instant may write it.
  const supervised = spans.filter(({ of: name }) => name === "supervise");
  const others = spans.filter(({ of: name }) => !ROWS.has(name));
  expect(ids(others).size).toBe(others.length);
  for (const effect of effects) {
    if (effect.kind !== "task-ended") continue;
    const { step, fence, n, kind, startedAt, endedAt } = effect.attempt;
    const span = byId.get(attemptIdOf(RUN_ID, step, fence, n));
    expect(span).toMatchObject({ startMs: startedAt, endMs: Math.max(startedAt, endedAt) });
    if (kind !== "answer" && kind !== "engine") expect(span?.of).toBe(kind);
  }
  const of = (name: string) => spans.filter((span) => span.of === name).length;
  const rows = effects.flatMap((effect) => (effect.kind === "intervened" ? [rowOf(effect)] : []));
  expect(ids(supervised).size).toBe(new Set(rows).size);
  expect(of("backoff")).toBe(effects.filter(({ kind }) => kind === "backed-off").length);
  const ended = isEnded(world.run().state) && !isEnded(world.passes[0]?.before.run.state ?? NONE);
  expect(of("run")).toBe(Number(ended));
}

function ids(spans: readonly SpanData[]): ReadonlySet<string> {
  return new Set(spans.map(({ spanId }) => spanId));
}

function rowOf({ intervention }: Extract<Effect, { kind: "intervened" }>): string {
  const { step, fence, rule, n } = intervention;
  return [step, fence, rule, n].join("/");
}

const NONE = emptyView(createWorld({ workflow: "none", steps: [] }).run()).run.state;

function expectWellMade(world: World, spans: readonly SpanData[]): void {
  const specs: Readonly<Record<string, SpanSpec>> = SPANS;
  for (const { of, name, parentId, startMs, endMs, attributes, role } of spans) {
    const spec = specs[of];
    expect(name.startsWith(of)).toBe(true);
    expect(role).toBe(spec?.role);
    expect(parentId).toBe(of === "run" ? null : rootIdOf(RUN_ID));
    expect(endMs).toBeGreaterThanOrEqual(startMs);
    if (of !== "backoff") expect(endMs).toBeLessThanOrEqual(world.now());
    const known: readonly string[] = ["drover.run.id", ...(spec?.attributes ?? [])];
    for (const one of Object.keys(attributes)) expect(known).toContain(one);
  }
}

test("the random runs have every span that a pass alone can make", () => {
  // A task leaves its queue by a claim; a question is read with its times; children need others.
  const others = ["queue", "escalation"];
  expect(Object.keys(SPANS).filter((of) => !found.has(of) && !others.includes(of))).toEqual([]);
});

test("ids are of the length that W3C has, and differ by all that they are made of", () => {
  const ids = [
    rootIdOf(RUN_ID),
    ...[0, 1].flatMap((n) => [1, 2].map((fence) => attemptIdOf(RUN_ID, 3, fence, n))),
    attemptIdOf(RUN_ID, 4, 1, 0),
    attemptIdOf(RUN_ID.replace("0d70", "0d71"), 3, 1, 0),
    spanIdOf(RUN_ID, "wait", 3, 1, 0),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
  expect(traceIdOf(RUN_ID)).toMatch(/^[0-9a-f]{32}$/);
});

test("a share of the runs is sampled, and a greater share samples them too", () => {
  const ids = fc.stringMatching(/^[0-9a-f]{32}$/);
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(ids, share, share, (id, a, b) => {
      const [less, more] = a < b ? [a, b] : [b, a];
      if (isSampled(id, less)) expect(isSampled(id, more)).toBe(true);
      expect(isSampled(id, 1)).toBe(true);
      expect(isSampled(id, 0)).toBe(false);
    }),
    { seed: SEED },
  );
  const half = (n: number, of: number) => attemptIdOf(RUN_ID, n, of, 0);
  const made = Array.from({ length: 4_000 }, (_, n) => half(n, 0) + half(n, 1));
  const many = made.filter((id) => isSampled(id, 0.25));
  expect(many.length).toBeGreaterThan(800);
  expect(many.length).toBeLessThan(1_200);
});

test("a traceparent is read as it is written, and what is none is none", () => {
  const ids = fc.stringMatching(/^[0-9a-f]{31}[1-9a-f]$/);
  const spans = fc.option(fc.stringMatching(/^[0-9a-f]{15}[1-9a-f]$/));
  fc.assert(
    fc.property(ids, spans, fc.boolean(), (traceId, callerId, sampled) => {
      const trace = { traceId, callerId, sampled, state: "vendor=1" };
      expect(readTrace(writeTrace(trace, callerId))).toEqual(trace);
    }),
    { seed: SEED },
  );
  for (const wrong of ["", "00", `01-${"a".repeat(32)}-${"b".repeat(16)}-01`])
    expect(readTrace({ traceparent: wrong, tracestate: "" })).toBeNull();
  const zeros = `00-${"0".repeat(32)}-${"b".repeat(16)}-01`;
  expect(readTrace({ traceparent: zeros, tracestate: "" })).toBeNull();
});
