/** Converts a workflow from an object to the message of the contract. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  ApprovalExpiry,
  type ApprovalStepSchema,
  type CompensateSchema,
  CompensateWhen,
  DeadlineAnswer,
  Effects,
  type EscalateSchema,
  type FallbackSchema,
  type GateSchema,
  type MapStepSchema,
  OnFailure,
  OnPickup,
  type RetryPolicySchema,
  RunIf,
  type RunStepSchema,
  SignalExpiry,
  type SignalStepSchema,
  type StepDefinitionSchema,
  StepLogs,
  type TimeoutsSchema,
  type WaitStepSchema,
  type WavesSchema,
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { type Duration, toDuration } from "./duration.ts";
import { json, toPayload } from "./payload.ts";
import { withKnownKeys } from "./spec-keys.ts";
import type {
  ApprovalSpec,
  CompensateSpec,
  EscalationSpec,
  FallbackSpec,
  GateSpec,
  MapSpec,
  RetrySpec,
  RunSpec,
  SignalWaitSpec,
  StepSpec,
  TimeoutsSpec,
  VerifySpec,
  WaitSpec,
  WavesSpec,
  WorkflowSpec,
} from "./workflow.ts";

/** Throws TypeError for an unknown key. */
export function toDefinition(given: WorkflowSpec): WorkflowDefinition {
  const spec = withKnownKeys(given);
  return create(WorkflowDefinitionSchema, {
    workflow: spec.workflow,
    ...durations({ timeout: spec.timeout }),
    ...payloads({ inputSchema: spec.inputSchema }),
    steps: spec.steps.map(toStep),
  });
}

type StepInit = MessageInitShape<typeof StepDefinitionSchema>;

/** Settings that have no meaning for the kind are sent unchanged: the server refuses them. */
function toStep(step: StepSpec): StepInit {
  return {
    id: step.id,
    needs: [...(step.needs ?? [])],
    kind: toKind(step),
    when: step.when ?? "",
    runIf: enumValue(RunIf, step.runIf),
    always: step.always ?? false,
    pivot: step.pivot ?? false,
    retry: toRetry(step.retry),
    effects: enumValue(Effects, step.effects),
    fallback: (step.fallback ?? []).map(toFallback),
    onPickup: enumValue(OnPickup, step.onPickup),
    onFailure: enumValue(OnFailure, step.onFailure),
    logs: enumValue(StepLogs, step.logs),
    ...payloads({ input: step.input, outputSchema: step.outputSchema }),
    ...(step.escalation && { escalation: toEscalation(step.escalation) }),
    ...(step.timeouts && { timeouts: toTimeouts(step.timeouts) }),
    ...(step.verify !== undefined && { verify: toTask(step.verify) }),
    ...(step.compensate !== undefined && { compensate: toCompensate(step.compensate) }),
  };
}

function toKind(step: StepSpec): NonNullable<StepInit["kind"]> {
  const kinds = ["task", "wait", "signal", "approval", "run", "map"].filter((kind) => kind in step);
  if (kinds.length > 1)
    throw new TypeError(`The step "${step.id}" is a ${kinds.join(" and a ")}; leave one of them.`);
  if ("task" in step) return { case: "task", value: { name: step.task, queue: step.queue ?? "" } };
  if ("wait" in step) return { case: "wait", value: toWait(step.wait) };
  if ("signal" in step) return { case: "signal", value: toSignal(step.signal) };
  if ("map" in step) return { case: "map", value: toMap(step.map) };
  if ("run" in step) return { case: "run", value: toRun(step.run) };
  return { case: "approval", value: toApproval(step.approval) };
}

function toMap(map: MapSpec): MessageInitShape<typeof MapStepSchema> {
  const { over, task, queue = "", concurrency, tolerate, toleratePercent, waves } = map;
  refuseBoth({ tolerate, toleratePercent });
  return {
    over: String(over),
    task,
    queue,
    ...(concurrency !== undefined && { concurrency }),
    ...(tolerate !== undefined && {
      tolerated: { case: "tolerate", value: tolerate } as const,
    }),
    ...(toleratePercent !== undefined && {
      tolerated: { case: "toleratePercent", value: toleratePercent } as const,
    }),
    ...(waves && { waves: toWaves(waves) }),
  };
}

function toWaves({ size, percent, pause, gate }: WavesSpec): MessageInitShape<typeof WavesSchema> {
  refuseBoth({ size, percent });
  return {
    ...(size !== undefined && { amount: { case: "size", value: size } as const }),
    ...(percent !== undefined && { amount: { case: "percent", value: percent } as const }),
    ...durations({ pause }),
    ...(gate !== undefined && { gate: toGate(gate) }),
  };
}

function toGate(gate: string | GateSpec): MessageInitShape<typeof GateSchema> {
  const input = typeof gate === "string" ? undefined : gate.input;
  return { ...toTask(gate), ...payloads({ input }) };
}

/** As the text form does: the message has room for only one of them, and would drop the other. */
function refuseBoth(either: Readonly<Record<string, number | undefined>>): void {
  const named = Object.keys(either).filter((name) => either[name] !== undefined);
  if (named.length > 1) throw new TypeError(`A map has ${named.join(" and ")}; leave one of them.`);
}

function toRun(run: string | RunSpec): MessageInitShape<typeof RunStepSchema> {
  if (typeof run === "string") return { workflow: run };
  return { workflow: run.workflow, version: run.version ?? 0 };
}

function toWait(wait: Duration | WaitSpec): MessageInitShape<typeof WaitStepSchema> {
  if (typeof wait !== "object") return { over: { case: "for", value: toDuration(wait) } };
  if (wait.for !== undefined) return { over: { case: "for", value: toDuration(wait.for) } };
  const { until } = wait;
  const value = typeof until === "string" ? until : until.toISOString();
  return { over: { case: "until", value } };
}

function toSignal(signal: string | SignalWaitSpec): MessageInitShape<typeof SignalStepSchema> {
  if (typeof signal === "string") return { name: signal };
  const { name, within, onExpiry } = signal;
  return { name, onExpiry: enumValue(SignalExpiry, onExpiry), ...durations({ within }) };
}

function toApproval(approval: ApprovalSpec): MessageInitShape<typeof ApprovalStepSchema> {
  const { approvers, need, notRequester, form, within, onExpiry } = approval;
  return {
    approvers: [...(approvers ?? [])],
    ...(need !== undefined && { need }),
    notRequester: notRequester ?? false,
    onExpiry: enumValue(ApprovalExpiry, onExpiry),
    ...durations({ within }),
    ...payloads({ form }),
  };
}

function toEscalation(spec: EscalationSpec): MessageInitShape<typeof EscalateSchema> {
  const { remind, deadline } = spec;
  const then = enumValue(DeadlineAnswer, spec.then);
  return { ...durations({ remind, deadline }), then };
}

/** A task that verifies or undoes the step. */
function toTask(spec: string | VerifySpec) {
  if (typeof spec === "string") return { task: spec };
  const { task, queue, retry, timeouts } = spec;
  return {
    task,
    queue: queue ?? "",
    retry: toRetry(retry),
    ...(timeouts && { timeouts: toTimeouts(timeouts) }),
  };
}

function toCompensate(spec: string | CompensateSpec): MessageInitShape<typeof CompensateSchema> {
  const when = typeof spec === "string" ? undefined : spec.when;
  return { ...toTask(spec), when: enumValue(CompensateWhen, when) };
}

function toFallback(spec: FallbackSpec): MessageInitShape<typeof FallbackSchema> {
  const { queue, task, run, input } = spec;
  return {
    queue: queue ?? "",
    task: task ?? "",
    ...(run !== undefined && { run: toRun(run) }),
    ...payloads({ input }),
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
  const { pickup, attempt, heartbeat, stall, total, cancel, settle, callback } = timeouts;
  return durations({ pickup, attempt, heartbeat, stall, total, cancel, settle, callback });
}

/** The value that a word in lower case names; without a word it is UNSPECIFIED: the default. */
function enumValue<T extends Readonly<Record<string, number>>>(
  values: T,
  word = "unspecified",
): T[Extract<keyof T, string>] {
  for (const name in values) if (name.toLowerCase() === word) return values[name];
  const known = Object.keys(values).filter((name) => name !== "UNSPECIFIED");
  throw new RangeError(`"${word}" is none of ${known.join(", ").toLowerCase()}.`);
}

/** A key that is not given is left out of the message: absent means the default. */
function given<K extends string, V, W>(
  values: Readonly<Record<K, V | undefined>>,
  convert: (value: V) => W,
): { [P in K]?: W } {
  const out: { [P in K]?: W } = {};
  for (const key in values) {
    const value = values[key];
    if (value !== undefined) out[key] = convert(value);
  }
  return out;
}

function durations<K extends string>(values: Readonly<Record<K, Duration | undefined>>) {
  return given(values, toDuration);
}

function payloads<K extends string>(values: Readonly<Record<K, unknown>>) {
  return given(values, (value) => toPayload(value) ?? json(null));
}
