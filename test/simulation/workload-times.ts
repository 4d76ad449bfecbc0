/**
 * Times as a server takes them: no part of a step's time is longer than the total that is given,
 * and no wait longer than its run.
 */
import type {
  Definition,
  StepDefinition,
  Timeouts,
} from "../../server/core/definition/definition.ts";

export function fitted<D extends Pick<Definition, "timeoutMs" | "steps">>(definition: D): D {
  const { timeoutMs, steps } = definition;
  return { ...definition, steps: steps.map((step) => fittedStep(step, timeoutMs)) };
}

function fittedStep(step: StepDefinition, most = Number.POSITIVE_INFINITY): StepDefinition {
  if (step.kind === "wait" && step.forMs !== undefined)
    return { ...step, forMs: Math.min(step.forMs, most) };
  if ((step.kind === "signal" || step.kind === "approval") && step.withinMs !== undefined)
    return { ...step, withinMs: Math.min(step.withinMs, most) };
  return step.timeouts ? { ...step, timeouts: fittedTimeouts(step.timeouts) } : step;
}

function fittedTimeouts(requested: Partial<Timeouts>): Partial<Timeouts> {
  const { totalMs, pickupMs, attemptMs, callbackMs } = requested;
  if (totalMs === undefined) return requested;
  return {
    ...requested,
    ...(pickupMs === undefined ? {} : { pickupMs: Math.min(pickupMs, totalMs) }),
    ...(attemptMs === undefined ? {} : { attemptMs: Math.min(attemptMs, totalMs) }),
    ...(callbackMs === undefined ? {} : { callbackMs: Math.min(callbackMs, totalMs) }),
  };
}
