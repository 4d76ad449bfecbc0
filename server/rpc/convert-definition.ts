// A workflow definition between the wire and the core. What the contract has and this engine cannot
// do yet is refused with the path of each, never dropped.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import {
  type Compensate,
  CompensateSchema,
  CompensateWhen,
  Effects,
  OnFailure,
  type RetryPolicy as RetryMessage,
  RetryPolicySchema,
  StepDefinitionSchema,
  type StepDefinition as StepMessage,
  type Timeouts as TimeoutsMessage,
  TimeoutsSchema,
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type {
  CompensateDefinition,
  Definition,
  RetryPolicy,
  StepDefinition,
  Timeouts,
} from "../core/definition.ts";
import type { FieldProblem } from "../errors.ts";
import { refusal } from "./errors.ts";
import { payloadFrom, payloadMessage } from "./payload.ts";

/** `at`: where the definition stands in the request, as `definition`; "" for a text. */
export function definitionFrom(message: WorkflowDefinition, at: string): Definition {
  const problems = unsupported(message).map(({ path, message: text }) => ({
    path: at === "" ? path : `${at}.${path}`,
    message: text,
  }));
  if (problems.length > 0) throw refusal("NOT_SUPPORTED", problems);
  return {
    workflow: message.workflow,
    ...given("timeoutMs", msOf(message.timeout)),
    steps: message.steps.map(stepFrom),
  };
}

function stepFrom(message: StepMessage): StepDefinition {
  return {
    id: message.id,
    needs: [...message.needs],
    task: message.kind.value?.name ?? "",
    ...given("queue", message.kind.value?.queue || undefined),
    ...given("input", payloadFrom(message.input) ?? undefined),
    ...given("retry", retryFrom(message.retry)),
    ...given("timeouts", message.timeouts && timeoutsFrom(message.timeouts)),
    ...given("compensate", message.compensate && compensateFrom(message.compensate)),
    ...given("onFailure", onFailureFrom(message.onFailure)),
  };
}

function compensateFrom(message: Compensate): CompensateDefinition {
  return {
    task: message.task,
    ...given("queue", message.queue || undefined),
    ...given("retry", retryFrom(message.retry)),
    ...given("timeouts", message.timeouts && timeoutsFrom(message.timeouts)),
  };
}

/** An empty list says nothing: the default policy. */
function retryFrom(messages: readonly RetryMessage[]): Partial<RetryPolicy>[] | undefined {
  if (messages.length === 0) return undefined;
  return messages.map((message) => ({
    ...given("on", message.on.length > 0 ? [...message.on] : undefined),
    ...given("attempts", message.attempts),
    ...given("initialMs", msOf(message.initial)),
    ...given("factor", message.factor),
    ...given("maxMs", msOf(message.max)),
    ...given("jitter", message.jitter),
  }));
}

function timeoutsFrom(message: TimeoutsMessage): Partial<Timeouts> {
  return {
    ...given("pickupMs", msOf(message.pickup)),
    ...given("attemptMs", msOf(message.attempt)),
    ...given("heartbeatMs", msOf(message.heartbeat)),
    ...given("totalMs", msOf(message.total)),
    ...given("cancelMs", msOf(message.cancel)),
    ...given("settleMs", msOf(message.settle)),
  };
}

function onFailureFrom(value: OnFailure): "compensate" | "fail" | undefined {
  if (value === OnFailure.COMPENSATE) return "compensate";
  return value === OnFailure.FAIL ? "fail" : undefined;
}

function unsupported(message: WorkflowDefinition): FieldProblem[] {
  const later = "is not supported by this version of the server: leave it out";
  const problems: FieldProblem[] = [];
  message.steps.forEach((step, no) => {
    const at = `steps[${no}]`;
    const refuse = (field: string, text: string) => {
      problems.push({ path: `${at}.${field}`, message: text });
    };
    if (step.when !== "") refuse("when", `a condition ${later}`);
    if (step.fallback.length > 0) refuse("fallback", `a fallback ${later}`);
    if (step.verify) refuse("verify", `verify ${later}`);
    if (step.effects !== Effects.UNSPECIFIED && step.effects !== Effects.IDEMPOTENT)
      refuse("effects", `${nameOf(Effects, step.effects)} ${later}, or say IDEMPOTENT`);
    if (step.onFailure === OnFailure.CONTINUE || step.onFailure === OnFailure.ESCALATE)
      refuse("on_failure", `${nameOf(OnFailure, step.onFailure)} ${later}`);
    if (step.compensate?.when === CompensateWhen.ATTEMPTED)
      refuse("compensate.when", `ATTEMPTED ${later}, or say FINISHED`);
    if (step.timeouts?.stall) refuse("timeouts.stall", `a stall timeout ${later}`);
    if (step.compensate?.timeouts?.stall)
      refuse("compensate.timeouts.stall", `a stall timeout ${later}`);
    if (step.input?.body.case === "json" && hasExpression(JSON.parse(step.input.body.value)))
      refuse("input.json", `an expression, "\${...}", ${later}, or write the value`);
  });
  return problems;
}

/** Walks without recursion: a payload may be nested as deep as it is long. */
function hasExpression(root: unknown): boolean {
  const left: unknown[] = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === "string" && value.includes("${")) return true;
    if (typeof value !== "object" || value === null) continue;
    if (!Array.isArray(value)) left.push(...Object.keys(value));
    for (const inner of Object.values(value)) left.push(inner);
  }
  return false;
}

function nameOf(names: Readonly<Record<string, number>>, value: number): string {
  return Object.keys(names).find((name) => names[name] === value) ?? String(value);
}

/** The definition as registered: what was not said stays unsaid. */
export function definitionMessage(definition: Definition): WorkflowDefinition {
  return create(WorkflowDefinitionSchema, {
    workflow: definition.workflow,
    ...given("timeout", durationField(definition.timeoutMs)),
    steps: definition.steps.map(stepMessage),
  });
}

function stepMessage(step: StepDefinition): MessageInitShape<typeof StepDefinitionSchema> {
  return create(StepDefinitionSchema, {
    id: step.id,
    needs: [...step.needs],
    kind: { case: "task", value: { name: step.task, queue: step.queue ?? "" } },
    retry: step.retry?.map(retryMessage) ?? [],
    ...given("input", step.input && payloadMessage(step.input)),
    ...given("timeouts", step.timeouts && timeoutsMessage(step.timeouts)),
    ...given("compensate", step.compensate && compensateMessage(step.compensate)),
    ...given("onFailure", step.onFailure && onFailureValue(step.onFailure)),
  });
}

function onFailureValue(value: "compensate" | "fail"): OnFailure {
  return value === "compensate" ? OnFailure.COMPENSATE : OnFailure.FAIL;
}

function compensateMessage(compensate: CompensateDefinition): Compensate {
  return create(CompensateSchema, {
    task: compensate.task,
    queue: compensate.queue ?? "",
    retry: compensate.retry?.map(retryMessage) ?? [],
    ...given("timeouts", compensate.timeouts && timeoutsMessage(compensate.timeouts)),
  });
}

function retryMessage(policy: Partial<RetryPolicy>): RetryMessage {
  return create(RetryPolicySchema, {
    on: [...(policy.on ?? [])],
    ...given("attempts", policy.attempts),
    ...given("initial", durationField(policy.initialMs)),
    ...given("factor", policy.factor),
    ...given("max", durationField(policy.maxMs)),
    ...given("jitter", policy.jitter),
  });
}

function timeoutsMessage(timeouts: Partial<Timeouts>): TimeoutsMessage {
  return create(TimeoutsSchema, {
    ...given("pickup", durationField(timeouts.pickupMs)),
    ...given("attempt", durationField(timeouts.attemptMs)),
    ...given("heartbeat", durationField(timeouts.heartbeatMs)),
    ...given("total", durationField(timeouts.totalMs)),
    ...given("cancel", durationField(timeouts.cancelMs)),
    ...given("settle", durationField(timeouts.settleMs)),
  });
}

function msOf(duration: Duration | undefined): number | undefined {
  return duration && durationMs(duration);
}

function durationField(ms: number | undefined): Duration | undefined {
  return ms === undefined ? undefined : durationFromMs(ms);
}

/** A field that is there only if something was said. */
function given<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [key in Name]: Value });
}
