// Checks the times of a definition for those that another time would silently cut off: a part of a
// step's time that is longer than its total, a wait that is longer than its run, and a time that is
// longer than a default. The timeout of a workflow may be shorter than the times of its tasks:
// tasks mostly end earlier, and the author has written the timeout beside them.

import { durationText } from "../../duration-text.ts";
import type { Definition, StepDefinition, Timeouts } from "../definition/definition.ts";
import { RUN_TIMEOUT_MS, totalOf } from "./plan.ts";

interface Problem {
  /** Path of the field within the step. */
  readonly path: string;
  readonly message: string;
}

/** A time that the definition itself gives. */
interface Given {
  readonly path: string;
  readonly ms: number;
  /** The time in words: "waits 10d". */
  readonly words: string;
}

const PARTS = [
  ["pickup", ({ pickupMs }) => pickupMs],
  ["attempt", ({ attemptMs }) => attemptMs],
  ["callback", ({ callbackMs }) => callbackMs],
] as const satisfies readonly (readonly [
  string,
  (given: Partial<Timeouts>) => number | undefined,
])[];

export function timeProblems(step: StepDefinition, definition: Definition): readonly Problem[] {
  return [...overTotal(step), ...overRun(step, definition)];
}

/** A default total grows with its parts (plan.ts), but not with the backoffs between tries. */
function overTotal({ timeouts = {}, retry = [] }: StepDefinition): readonly Problem[] {
  const total = totalOf(timeouts);
  const isDefault = timeouts.totalMs === undefined;
  const given = isDefault ? ", the default of timeouts.total" : "";
  const waits = (isDefault ? retry : []).flatMap(({ initialMs }, no) =>
    initialMs === undefined
      ? []
      : [
          {
            path: `retry[${no}].initial`,
            ms: initialMs,
            words: `waits ${durationText(initialMs)} before it is tried again`,
          },
        ],
  );
  return [...partsOf(timeouts), ...waits].flatMap(({ path, ms, words }) => {
    if (ms <= total) return [];
    const message = `${words}, and all its tries together may take ${durationText(total)}${given}: give it a longer timeouts.total, or a shorter ${path}`;
    return [{ path, message }];
  });
}

function partsOf(timeouts: Partial<Timeouts>): readonly Given[] {
  return PARTS.flatMap(([name, of]) => {
    const ms = of(timeouts);
    return ms === undefined
      ? []
      : [{ path: `timeouts.${name}`, ms, words: `allows ${durationText(ms)} for its ${name}` }];
  });
}

/** `always` steps have no deadline, nor have the steps after a pivot. */
function overRun(step: StepDefinition, { timeoutMs, steps }: Definition): readonly Problem[] {
  if (step.always || steps.some(({ pivot }) => pivot)) return [];
  const run = timeoutMs ?? RUN_TIMEOUT_MS;
  const isDefault = timeoutMs === undefined;
  const given = isDefault ? ", the default of timeout" : "";
  return [...waitOf(step), ...(isDefault ? workOf(step) : [])].flatMap(({ path, ms, words }) => {
    if (ms <= run) return [];
    const message = `${words}, and its run may take ${durationText(run)}${given}: give the workflow a longer timeout, or the step a shorter ${path}`;
    return [{ path, message }];
  });
}

function waitOf(step: StepDefinition): readonly Given[] {
  switch (step.kind) {
    case "wait":
      return one("wait.for", step.forMs, "waits");
    case "signal":
      return one("signal.within", step.withinMs, "waits", " for its signal");
    case "approval":
      return one("approval.within", step.withinMs, "waits", " for its approval");
    default:
      return [];
  }
}

/** If the total is given, only the total is compared. */
function workOf({ timeouts = {} }: StepDefinition): readonly Given[] {
  return timeouts.totalMs === undefined
    ? partsOf(timeouts)
    : one("timeouts.total", timeouts.totalMs, "allows", " for all its tries");
}

function one(path: string, ms: number | undefined, label: string, what = ""): readonly Given[] {
  return ms === undefined ? [] : [{ path, ms, words: `${label} ${durationText(ms)}${what}` }];
}
