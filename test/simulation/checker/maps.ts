// Items of a map: no more of them at a time than its concurrency, a wave after the other, and its
// gate between the two: parts of G3 and G5.
import type { EpochMs } from "../../../server/core/model/attempt.ts";
import type { Items } from "../../../server/core/model/items.ts";
import { itemOf, numberOf, stepKeyOf } from "../../../server/core/model/step-key.ts";
import type { PlanWork } from "../../../server/core/plan/plan.ts";
import { type Facts, type RunFacts, reusedStep, stepName } from "./facts.ts";
import { tasksOf } from "./hand-outs.ts";
import { isOfRun } from "./undos.ts";
import type { Finding } from "./violation.ts";

interface MapFacts {
  readonly run: RunFacts;
  readonly no: number;
  readonly work: Extract<PlanWork, { kind: "map" }>;
  readonly items: Items;
  readonly spans: readonly Span[];
}

/** What is surely under way of one item: from its first task to the end of its last. */
interface Span {
  readonly item: number;
  readonly from: EpochMs;
  readonly until: EpochMs;
}

/**
 * A part of G3. At no time are more items of a map performed, or undone, than its concurrency
 * allows; and no item is performed that its list does not have.
 */
export function* tooManyItems(facts: Facts): Iterable<Finding> {
  for (const map of mapsOf(facts)) {
    const { run, no, work, items } = map;
    const { runId } = run.run;
    // One whose undo has failed waits for a person, and the next ones do not.
    const undone = spansOf(run, no, "undo").filter(
      ({ item }) => !run.run.escalations.some(({ step }) => step === stepKeyOf(no, item)),
    );
    for (const [did, spans] of [
      ["performed", map.spans],
      ["undone", undone],
    ] as const)
      for (const { from } of spans) {
        const beside = spans.filter(
          (other) => other.from <= from && other.until > from + facts.bounds.transactionMs,
        );
        if (beside.length <= work.concurrency) continue;
        const text = `${beside.length} items of ${stepName(run, no)} were being ${did} at ${from}, of ${work.concurrency} at most`;
        yield { runId, text };
      }
    const last = Math.max(0, ...map.spans.map(({ item }) => item));
    if (last > items.total) {
      const text = `item ${last} of ${stepName(run, no)} was performed, of ${items.total} that it has`;
      yield { runId, text };
    }
  }
}

/**
 * A part of G5. No item begins before every item of the waves before its own has ended, nor, where
 * there is a gate, before one gate for each of these waves has succeeded, or a person has approved
 * it.
 */
export function* wavesFollowEachOther(facts: Facts): Iterable<Finding> {
  for (const { run, no, work, items, spans } of mapsOf(facts)) {
    const size = sizeOf(work, items);
    const outcomes = (run.handOuts.get(no) ?? []).flatMap(({ end }) =>
      end?.outcome.kind === "success" ? [end.at] : [],
    );
    const decided = run.run.escalations.flatMap(({ step, answer, closedAt }) =>
      step === no && answer?.answer === "succeed" ? [closedAt ?? Number.POSITIVE_INFINITY] : [],
    );
    const gates = [...outcomes, ...decided];
    const { runId } = run.run;
    for (const { item, from } of spans) {
      const before = Math.floor((item - 1) / size);
      const latest = from + facts.bounds.transactionMs;
      const name = `item ${item} of ${stepName(run, no)}`;
      const open = spans.find((one) => one.item <= before * size && one.until > latest);
      if (open)
        yield { runId, text: `${name} began at ${from}, before item ${open.item} had ended` };
      const passed = gates.filter((at) => at <= latest).length;
      if (work.gate && passed < before)
        yield { runId, text: `${name} began at ${from}, past ${before} gates; ${passed} let it` };
    }
  }
}

function* mapsOf(facts: Facts): Iterable<MapFacts> {
  for (const run of facts.runs.values())
    for (const { no, work } of run.plan.steps) {
      const items = run.run.steps.find((row) => row.no === no)?.items;
      if (work.kind !== "map" || !items || reusedStep(run, no)) continue;
      yield { run, no, work, items, spans: spansOf(run, no, "forward") };
    }
}

function spansOf(run: RunFacts, no: number, side: "forward" | "undo"): readonly Span[] {
  const itemKeys = [...run.handOuts.keys()].filter(
    (key) => numberOf(key) === no && itemOf(key) > 0,
  );
  return itemKeys.flatMap((key) => {
    // A strategy that an item leaves is undone by the item, in its turn to be performed.
    const tasks = tasksOf(run, key).filter((task) =>
      side === "undo"
        ? task.task === "compensate" && isOfRun(run, task)
        : task.task !== "compensate",
    );
    const [first] = tasks;
    if (!first) return [];
    // The row of one that was settled tells when that was, and the item may have ended before.
    const ends = tasks.map(({ settled, startedAt, end }) =>
      settled ? startedAt : (end?.at ?? Number.POSITIVE_INFINITY),
    );
    return [{ item: itemOf(key), from: first.startedAt, until: Math.max(...ends) }];
  });
}

function sizeOf({ waves }: MapFacts["work"], { total }: Items): number {
  if (!waves) return Math.max(1, total);
  const { size } = waves;
  return Math.max(1, size.kind === "count" ? size.count : Math.ceil((total * size.percent) / 100));
}
