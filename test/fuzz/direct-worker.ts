// The pure functions that read texts, called in a thread of their own: a text that never ends there
// is known to the main thread, which ends the worker. A failing text is made smaller by fast-check.
import { parentPort, workerData } from "node:worker_threads";
import { TriggerDefinitionSchema } from "@drover/proto/drover/v1/trigger_pb.ts";
import fc from "fast-check";
import { readRunQuery } from "../../server/api/run/run-query.ts";
import type { Calendar } from "../../server/core/definition/calendar.ts";
import {
  parseDefinitionText,
  readWorkflowText,
} from "../../server/definition-text/workflow-text.ts";
import { DroverError } from "../../server/errors.ts";
import { compileExpression, evaluate, type Facts } from "../../server/expressions/expression.ts";
import { parseJson } from "../../server/expressions/json.ts";
import { compileSchema } from "../../server/expressions/schema.ts";
import { compileTemplate, renderTemplate } from "../../server/expressions/template.ts";
import { calendarProblem, calendarTimesOf } from "../../server/scheduler/cron/calendar-times.ts";
import { jsonTexts, TEXTS, type TextKind } from "./texts.ts";

export interface DirectWork {
  readonly kind: TextKind;
  readonly seed: number;
  readonly count: number;
  /** Replayed instead of made. */
  readonly text?: string;
  /** The text that is being read: its length in bytes, then its bytes in UTF-8. */
  readonly shared: SharedArrayBuffer;
}

export interface DirectResult {
  readonly done: number;
  readonly slowestMs: number;
  readonly slowest: string;
  readonly failed: { readonly text: string; readonly why: string } | null;
}

/**
 * The longest that one text may take, in milliseconds of CPU time. Expressions and schemas have
 * budgets that count work (server/expressions/meter.ts): half a second for an evaluation, a second
 * or two to compile. A text has at most 200,000 tokens at 3 µs (definition-text/document.ts).
 */
const MS_MAX: Readonly<Record<TextKind, number>> = {
  expressions: 1_000,
  yaml: 1_500,
  schema: 2_000,
  cron: 200,
  filter: 50,
};

/** Some day of 2026. */
const NOW = 1_780_000_000_000;
const scope = { steps: ["a"], allSteps: ["a", "b"], hasItem: true };

function factsOf(json: string): Facts {
  const parsed = parseJson(json);
  const input = parsed.ok ? parsed.value : null;
  return {
    input,
    item: input,
    run: { id: "r", workflow: "w", version: 1, labels: {}, key: "", createdTimeMs: 0 },
    steps: new Map([["a", { status: "SUCCEEDED", output: input, error: null }]]),
  };
}

const READERS: Readonly<Record<TextKind, (text: string, json: string) => void>> = {
  expressions(text, json) {
    const compiled = compileExpression(text, scope);
    if (compiled.ok) evaluate(compiled.expression, factsOf(json));
    const template = compileTemplate({ a: `x\${${text}}` }, scope, "input");
    if (template.ok) renderTemplate(template.template, factsOf(json));
  },
  yaml(text) {
    refusedOnly(() => readWorkflowText(text));
    refusedOnly(() => parseDefinitionText(text, TriggerDefinitionSchema, "trigger"));
  },
  schema(text, json) {
    const [schema, value] = [parseJson(text), parseJson(json)];
    if (!schema.ok) return;
    const compiled = compileSchema(schema.value);
    if (compiled.ok && value.ok) compiled.check(value.value, true);
  },
  cron(text) {
    for (const timeZone of ["UTC", "America/New_York"]) {
      const calendar: Calendar = { kind: "cron", cron: text, timeZone };
      if (calendarProblem(calendar, NOW) !== null) continue;
      const times = calendarTimesOf(calendar);
      let at: number | undefined = NOW;
      for (let count = 0; count < 5 && at !== undefined; count++) {
        const next: number | undefined = times.firstAfter(at)?.at;
        if (next !== undefined && next <= at) throw new Error(`the time after ${at} is ${next}`);
        at = next;
      }
    }
  },
  filter(text) {
    readRunQuery(text, NOW);
  },
};

/** A text may be refused, but only in Drover's own words. */
function refusedOnly(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof DroverError)) throw error;
    if (error.reason !== "INVALID_DEFINITION") throw error;
  }
}

const threadMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

function run({ kind, seed, count, text: given, shared }: DirectWork): DirectResult {
  const length = new Int32Array(shared, 0, 1);
  const bytes = new Uint8Array(shared, 4);
  let [done, slowestMs, slowest] = [0, 0, ""];
  const read = (text: string, json: string) => {
    length[0] = new TextEncoder().encodeInto(text, bytes).written;
    const began = threadMs();
    READERS[kind](text, json);
    const tookMs = threadMs() - began;
    length[0] = 0;
    done++;
    if (tookMs > slowestMs) [slowestMs, slowest] = [tookMs, text.slice(0, 300)];
    if (tookMs <= MS_MAX[kind]) return;
    // The first use of code is slow, and so is a collection in between: it has to be slow again.
    const again = threadMs();
    READERS[kind](text, json);
    const againMs = threadMs() - again;
    if (againMs > MS_MAX[kind]) throw new Error(`took ${Math.round(againMs)} ms of CPU time`);
  };
  if (given !== undefined) {
    try {
      read(given, "{}");
      return { done, slowestMs, slowest, failed: null };
    } catch (error) {
      return { done, slowestMs, slowest, failed: { text: given, why: String(error) } };
    }
  }
  const property = fc.property(TEXTS[kind], jsonTexts, read);
  const checked = fc.check(property, {
    seed,
    numRuns: count,
    endOnFailure: false,
    interruptAfterTimeLimit: 60_000,
  });
  const [text = ""] = checked.counterexample ?? [];
  const why = checked.errorInstance instanceof Error ? (checked.errorInstance.stack ?? "") : "";
  return {
    done,
    slowestMs,
    slowest,
    failed: checked.failed && checked.counterexample ? { text, why } : null,
  };
}

const work: DirectWork = workerData;
parentPort?.postMessage(run(work));
