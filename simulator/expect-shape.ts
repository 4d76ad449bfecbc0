// The shape of what a scenario file may expect of a run.

import { shown } from "@drover/server/definition-text/problems.ts";
import { durationMs } from "@drover/server/duration-text.ts";
import { STATE } from "./event-shape.ts";
import { optional, record } from "./record-shape.ts";
import type { Range } from "./scenario.ts";
import { anything, list, matching, named, type Shape, scalar, text, time, word } from "./shape.ts";
import { REASON_WORDS, RUN_WORDS, STEP_WORDS } from "./state-words.ts";

const OF_STEP = /^[a-z-]+(?: of \S+)?$/;

/**
 * A single duration matches until the clock shows the next number of its last unit: `12s` matches
 * up to 12.999 s.
 */
function unitMs(duration: string): number {
  const unit = /[a-z]+$/.exec(duration)?.[0] ?? "";
  return { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 }[unit] ?? 1;
}

function range(
  phrase: string,
  numberOf: (given: string) => number | null,
  slack: (given: string) => number,
): Shape<Range> {
  const problem = (given: string) => ({
    kind: "problem" as const,
    message: `${shown(given)} is not ${phrase}`,
  });
  return scalar(phrase, { type: ["string", "integer"] }, (node) => {
    const given = String(node.source ?? node.value).trim();
    const [, sign = "", first = "", last] =
      /^(<=|>=)? *([^.<>=]+?)(?:\.\.([^.<>=]+))?$/.exec(given) ?? [];
    const low = numberOf(first);
    const high = last === undefined ? null : numberOf(last);
    if (low === null || (last !== undefined && (high === null || sign !== "")))
      return problem(given);
    const most =
      high ?? (sign === ">=" ? Number.POSITIVE_INFINITY : low + (sign === "" ? slack(first) : 0));
    return { kind: "value", value: { least: sign === "<=" ? 0 : low, most, text: given } };
  });
}

const TIMES = range(
  "a time, as 12s, <=15s, >=10s or 10s..15s",
  durationMs,
  (given) => unitMs(given) - 1,
);
const COUNTS = range(
  "a number, as 2, <=3, >=1 or 1..3",
  (given) => (/^\d{1,9}$/.test(given) ? Number(given) : null),
  () => 0,
);

export const EXPECT = record(
  "an expectation",
  {
    run: optional(
      word(RUN_WORDS),
      "the final state of the run, or the last state that it reached",
      null,
    ),
    reason: optional(word(REASON_WORDS), "why it ends so", null),
    within: optional(time, "it has ended by then; it is also played no longer", null),
    steps: optional(
      named("a step, or an item as `chunks[2]`", word(STEP_WORDS)),
      "the states of steps at the end. A step that was undone is `UNDONE`",
      new Map<string, string>(),
    ),
    interventions: optional(
      list(matching("a rule, of a step or not", OF_STEP, "lease of hotel")),
      "all that supervisors did, in order, each as `lease of hotel` or `deadline`. `backoff`, `settle` and `timer` may be left out: they came as planned",
      null,
    ),
    escalations: optional(
      list(matching("a reason, of a step", OF_STEP, "unknown of capture")),
      "all that people were asked, in order, each as `unknown of capture`",
      null,
    ),
    order: optional(
      list(STATE),
      "what came to be in this order, each as `hotel FAILED` or `run COMPENSATED`; other things may come between",
      [],
    ),
    times: optional(
      named("`hotel FAILED`", TIMES),
      "when it first came to that, from the start of the run: `12s`, `<=15s`, `>=10s`, `10s..15s`",
      new Map<string, Range>(),
    ),
    calls: optional(
      named("a task", COUNTS),
      "how often agents were handed a task: `2`, `<=3`, `>=1`, `1..3`",
      new Map<string, Range>(),
    ),
    effects: optional(
      list(text),
      "the effects that are there at the end, and no others: each by its step or item, and by its strategy where that is not the first, as `hotel/1`. After a clean undo: `[]`",
      null,
    ),
    inputs: optional(
      named("a task, or a step", anything),
      "what was last handed to agents: it has at least these",
      new Map(),
    ),
    outputs: optional(
      named("a step", anything),
      "what steps have put out: at least these",
      new Map(),
    ),
  },
  "run",
);
