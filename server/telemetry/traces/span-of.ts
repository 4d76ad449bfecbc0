// A span of a run, with the ids and the attributes that follow from its subject.
import type { Attempt, EpochMs } from "../../core/model/attempt.ts";
import { itemOf, numberOf } from "../../core/model/step-key.ts";
import { nameAt, type Plan } from "../../core/plan/plan.ts";
import type { ReadyRow } from "../../store/store.ts";
import type { Trace, TracedRun } from "../../store/trace.ts";
import {
  type AttributesOf,
  SPANS,
  type SpanData,
  type SpanLink,
  type SpanName,
  type SpanSpec,
} from "../spans.ts";
import { attemptIdOf, rootIdOf, spanIdOf } from "./ids.ts";

/** The constant data of a run. */
export interface Traced {
  readonly run: TracedRun;
  readonly trace: Trace;
  readonly plan: Plan;
}

/** What distinguishes the span from other spans of its run; or its id. */
type Named = { readonly id: readonly (string | number)[] } | { readonly spanId: string };

export function spanOf<Name extends SpanName>(
  { run, trace }: Traced,
  of: Name,
  {
    after,
    startMs,
    endMs,
    attributes,
    error = null,
    links = [],
    ...named
  }: Named & {
    readonly after: string;
    readonly startMs: EpochMs;
    readonly endMs: EpochMs;
    readonly attributes: AttributesOf<Name>;
    readonly error?: string | null;
    readonly links?: readonly SpanLink[];
  },
): SpanData {
  const spec: SpanSpec = SPANS[of];
  return {
    of,
    name: spec.named === "" ? of : `${of} ${after}`,
    role: spec.role,
    traceId: trace.traceId,
    spanId: "spanId" in named ? named.spanId : spanIdOf(run.runId, ...named.id),
    parentId: rootIdOf(run.runId),
    state: trace.state,
    startMs,
    // The database's clock may have been set back.
    endMs: Math.max(startMs, endMs),
    error,
    attributes: { "drover.run.id": run.runId, ...present(attributes) },
    links,
  };
}

function present(
  attributes: Readonly<Record<string, string | number | boolean | null | undefined>>,
): SpanData["attributes"] {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, value]],
    ),
  );
}

export function attemptLink({ run, trace }: Traced, step: number, fence: number): SpanLink {
  return { traceId: trace.traceId, spanId: attemptIdOf(run.runId, step, fence, 0) };
}

/** From a task that waits in its queue, to the attempt that it becomes. */
export function tryLink({ run, trace }: Traced, ready: ReadyRow): SpanLink {
  const { step, fence } = ready;
  return { traceId: trace.traceId, spanId: attemptIdOf(run.runId, step, fence, tryNumber(ready)) };
}

/** Distinguishes the tasks of one fence: verify tasks have numbers of their own, from 1. */
export function tryNumber({ task, attempt }: Pick<ReadyRow, "task" | "attempt">): number {
  return task === "verify" ? attempt : 0;
}

export function rootLink({ run, trace }: Traced): SpanLink {
  return { traceId: trace.traceId, spanId: rootIdOf(run.runId) };
}

/** The items of a map have one name: the item's index is an attribute. */
export function stepName({ plan }: Traced, stepKey: number): string {
  return nameAt(plan, numberOf(stepKey));
}

export function stepAttributes(traced: Traced, stepKey: number) {
  const item = itemOf(stepKey);
  return {
    "drover.step.id": stepName(traced, stepKey),
    "drover.step.item": item === 0 ? null : item - 1,
  } as const;
}

export function tryAttributes(
  traced: Traced,
  { step, fence, attempt }: Pick<Attempt, "step" | "fence" | "attempt">,
) {
  return {
    ...stepAttributes(traced, step),
    "drover.fence": fence,
    "drover.attempt": attempt,
  } as const;
}

export function endAttributes(attempt: Attempt) {
  return {
    "drover.outcome": attempt.outcome.kind,
    "error.type": outcomeOf(attempt).error,
  } as const;
}

/** The agent's message stays in the run: readers of traces may not be allowed to read runs. */
export function outcomeOf({ outcome }: Attempt): { readonly error: string | null } {
  return { error: outcome.kind === "failure" || outcome.kind === "unknown" ? outcome.code : null };
}
