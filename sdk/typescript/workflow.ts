/**
 * A workflow as a plain object, typed, with the words of the YAML dialect: an editor completes it,
 * and the server checks it. It holds what the server can run today, nothing else.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type CompensateSchema,
  OnFailure,
  type RetryPolicySchema,
  type StepDefinitionSchema,
  type TimeoutsSchema,
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { type Duration, toDuration } from "./duration.ts";
import { toPayload } from "./payload.ts";

export interface WorkflowSpec {
  readonly workflow: string;
  /** Longest time of a run. Default 7 days. */
  readonly timeout?: Duration;
  readonly steps: readonly StepSpec[];
}

export interface StepSpec {
  readonly id: string;
  /** Name of the task that an agent performs. */
  readonly task: string;
  /** Default: "default". */
  readonly queue?: string;
  /** Steps that must have ended before this one starts. */
  readonly needs?: readonly string[];
  /** JSON, or a Payload. Default: the run's input. */
  readonly input?: unknown;
  /** The first policy that matches the code of a failure decides. */
  readonly retry?: RetrySpec | readonly RetrySpec[];
  readonly timeouts?: TimeoutsSpec;
  /** The task that undoes the step, by its name alone or with its own settings. */
  readonly compensate?: string | CompensateSpec;
  /** Default: compensate if an effect that can be undone exists by then, else fail. */
  readonly onFailure?: "compensate" | "fail";
}

export interface CompensateSpec {
  readonly task: string;
  /** Default: the queue of the step. */
  readonly queue?: string;
  readonly retry?: RetrySpec | readonly RetrySpec[];
  readonly timeouts?: TimeoutsSpec;
}

export interface RetrySpec {
  /** Codes of failures that it is for. Default: all. */
  readonly on?: readonly string[];
  /** Tries in all, the first included. Default 5, to undo 10. */
  readonly attempts?: number;
  readonly initial?: Duration;
  readonly factor?: number;
  readonly max?: Duration;
  readonly jitter?: number;
}

export interface TimeoutsSpec {
  readonly pickup?: Duration;
  readonly attempt?: Duration;
  /** Length of the lease, at least 2 s. */
  readonly heartbeat?: Duration;
  readonly total?: Duration;
  readonly cancel?: Duration;
  readonly settle?: Duration;
}

export function toDefinition(spec: WorkflowSpec): WorkflowDefinition {
  return create(WorkflowDefinitionSchema, {
    workflow: spec.workflow,
    ...durations({ timeout: spec.timeout }),
    steps: spec.steps.map(toStep),
  });
}

function toStep(step: StepSpec): MessageInitShape<typeof StepDefinitionSchema> {
  const input = toPayload(step.input);
  return {
    id: step.id,
    needs: [...(step.needs ?? [])],
    kind: { case: "task", value: { name: step.task, queue: step.queue ?? "" } },
    retry: toRetry(step.retry),
    onFailure: toOnFailure(step.onFailure),
    ...(input && { input }),
    ...(step.timeouts && { timeouts: toTimeouts(step.timeouts) }),
    ...(step.compensate !== undefined && { compensate: toCompensate(step.compensate) }),
  };
}

function toCompensate(
  compensate: string | CompensateSpec,
): MessageInitShape<typeof CompensateSchema> {
  if (typeof compensate === "string") return { task: compensate };
  return {
    task: compensate.task,
    queue: compensate.queue ?? "",
    retry: toRetry(compensate.retry),
    ...(compensate.timeouts && { timeouts: toTimeouts(compensate.timeouts) }),
  };
}

function toRetry(
  retry: RetrySpec | readonly RetrySpec[] | undefined,
): MessageInitShape<typeof RetryPolicySchema>[] {
  const policies: readonly RetrySpec[] =
    retry === undefined ? [] : "length" in retry ? retry : [retry];
  return policies.map((policy) => ({
    on: [...(policy.on ?? [])],
    ...(policy.attempts !== undefined && { attempts: policy.attempts }),
    ...(policy.factor !== undefined && { factor: policy.factor }),
    ...(policy.jitter !== undefined && { jitter: policy.jitter }),
    ...durations({ initial: policy.initial, max: policy.max }),
  }));
}

function toTimeouts(timeouts: TimeoutsSpec): MessageInitShape<typeof TimeoutsSchema> {
  const { pickup, attempt, heartbeat, total, cancel, settle } = timeouts;
  return durations({ pickup, attempt, heartbeat, total, cancel, settle });
}

function toOnFailure(onFailure: StepSpec["onFailure"]): OnFailure {
  switch (onFailure) {
    case "compensate":
      return OnFailure.COMPENSATE;
    case "fail":
      return OnFailure.FAIL;
    case undefined:
      return OnFailure.UNSPECIFIED;
  }
}

/** What is not given stays out of the message: absent means the default. */
function durations<K extends string>(
  given: Readonly<Record<K, Duration | undefined>>,
): { [P in K]?: ReturnType<typeof toDuration> } {
  const out: { [P in K]?: ReturnType<typeof toDuration> } = {};
  for (const key in given) {
    const value = given[key];
    if (value !== undefined) out[key] = toDuration(value);
  }
  return out;
}
