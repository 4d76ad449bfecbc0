// Converts a workflow definition between protobuf and the core. A field that is not set stays unset
// in both directions.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Compensate,
  CompensateSchema,
  CompensateWhen,
  DeadlineAnswer,
  Effects,
  type Escalate,
  EscalateSchema,
  type Fallback,
  FallbackSchema,
  OnFailure,
  OnPickup,
  RunIf,
  StepDefinitionSchema,
  StepLogs,
  type StepDefinition as StepMessage,
  type Verify,
  VerifySchema,
  type WorkflowDefinition,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type {
  CompensateDefinition,
  DeadlineAnswer as CoreDeadlineAnswer,
  Effects as CoreEffects,
  OnFailure as CoreOnFailure,
  OnPickup as CoreOnPickup,
  RunIf as CoreRunIf,
  StepLogs as CoreStepLogs,
  Definition,
  EscalationDefinition,
  FallbackDefinition,
  StepDefinition,
  StepRules,
  VerifyDefinition,
} from "../../core/definition/definition.ts";
import { payloadFrom, payloadMessage } from "../calls/payload.ts";
import { retryFrom, retryMessage, timeoutsFrom, timeoutsMessage } from "./convert-retry.ts";
import { runFrom, workFrom, workMessage } from "./convert-work.ts";
import { durationField, given, msOf, wordOf } from "./definition-values.ts";

const EFFECTS: Readonly<Record<CoreEffects, Effects>> = Object.freeze({
  idempotent: Effects.IDEMPOTENT,
  verifiable: Effects.VERIFIABLE,
  once: Effects.ONCE,
});

const ON_FAILURE: Readonly<Record<CoreOnFailure, OnFailure>> = Object.freeze({
  compensate: OnFailure.COMPENSATE,
  fail: OnFailure.FAIL,
  continue: OnFailure.CONTINUE,
  escalate: OnFailure.ESCALATE,
});

const ON_PICKUP: Readonly<Record<CoreOnPickup, OnPickup>> = Object.freeze({
  alarm: OnPickup.ALARM,
  escalate: OnPickup.ESCALATE,
  fallback: OnPickup.FALLBACK,
});

const DEADLINE_ANSWER: Readonly<Record<CoreDeadlineAnswer, DeadlineAnswer>> = Object.freeze({
  retry: DeadlineAnswer.RETRY,
  skip: DeadlineAnswer.SKIP,
  compensate: DeadlineAnswer.COMPENSATE,
  fail: DeadlineAnswer.FAIL,
});

const RUN_IF: Readonly<Record<CoreRunIf, RunIf>> = Object.freeze({
  ended: RunIf.ENDED,
  all_ok: RunIf.ALL_OK,
  any_ok: RunIf.ANY_OK,
});

const STEP_LOGS: Readonly<Record<CoreStepLogs, StepLogs>> = Object.freeze({
  on: StepLogs.ON,
  off: StepLogs.OFF,
});

const COMPENSATE_WHEN = Object.freeze({
  finished: CompensateWhen.FINISHED,
  attempted: CompensateWhen.ATTEMPTED,
});

/** The message has passed the validation rules of the proto. */
export function definitionFrom(message: WorkflowDefinition): Definition {
  return {
    workflow: message.workflow,
    ...given("timeoutMs", msOf(message.timeout)),
    ...given("inputSchema", payloadFrom(message.inputSchema) ?? undefined),
    steps: message.steps.map(stepFrom),
  };
}

function stepFrom(message: StepMessage): StepDefinition {
  const rules: StepRules = {
    id: message.id,
    needs: [...message.needs],
    ...given("input", payloadFrom(message.input) ?? undefined),
    ...given("retry", retryFrom(message.retry)),
    ...given("timeouts", message.timeouts && timeoutsFrom(message.timeouts)),
    ...given("effects", wordOf(EFFECTS, message.effects)),
    ...given("verify", message.verify && otherTaskFrom(message.verify)),
    ...given("compensate", message.compensate && compensateFrom(message.compensate)),
    ...given("fallback", fallbackFrom(message.fallback)),
    ...given("onFailure", wordOf(ON_FAILURE, message.onFailure)),
    ...given("onPickup", wordOf(ON_PICKUP, message.onPickup)),
    ...given("escalation", message.escalation && escalationFrom(message.escalation)),
    ...given("runIf", wordOf(RUN_IF, message.runIf)),
    ...given("when", message.when || undefined),
    ...given("always", message.always || undefined),
    ...given("pivot", message.pivot || undefined),
    ...given("outputSchema", payloadFrom(message.outputSchema) ?? undefined),
    ...given("logs", wordOf(STEP_LOGS, message.logs)),
  };
  return { ...rules, ...workFrom(message.kind) };
}

function escalationFrom(message: Escalate): EscalationDefinition {
  return {
    ...given("remindMs", msOf(message.remind)),
    ...given("deadlineMs", msOf(message.deadline)),
    ...given("answer", wordOf(DEADLINE_ANSWER, message.then)),
  };
}

function escalationMessage({ remindMs, deadlineMs, answer }: EscalationDefinition): Escalate {
  return create(EscalateSchema, {
    ...given("remind", durationField(remindMs)),
    ...given("deadline", durationField(deadlineMs)),
    ...given("then", answer && DEADLINE_ANSWER[answer]),
  });
}

function otherTaskFrom(message: Verify | Compensate): VerifyDefinition {
  return {
    task: message.task,
    ...given("queue", message.queue || undefined),
    ...given("retry", retryFrom(message.retry)),
    ...given("timeouts", message.timeouts && timeoutsFrom(message.timeouts)),
  };
}

function compensateFrom(message: Compensate): CompensateDefinition {
  return { ...otherTaskFrom(message), ...given("when", wordOf(COMPENSATE_WHEN, message.when)) };
}

function fallbackFrom(messages: readonly Fallback[]): FallbackDefinition[] | undefined {
  if (messages.length === 0) return undefined;
  return messages.map((message) => ({
    ...given("queue", message.queue || undefined),
    ...given("task", message.task || undefined),
    ...(message.run ? runFrom(message.run) : {}),
    ...given("input", payloadFrom(message.input) ?? undefined),
  }));
}

/** The definition as registered: fields that were not set stay unset. */
export function definitionMessage(definition: Definition): WorkflowDefinition {
  return create(WorkflowDefinitionSchema, {
    workflow: definition.workflow,
    ...given("timeout", durationField(definition.timeoutMs)),
    ...given("inputSchema", definition.inputSchema && payloadMessage(definition.inputSchema)),
    steps: definition.steps.map(stepMessage),
  });
}

function stepMessage(step: StepDefinition): MessageInitShape<typeof StepDefinitionSchema> {
  return create(StepDefinitionSchema, {
    id: step.id,
    needs: [...step.needs],
    kind: workMessage(step),
    retry: step.retry?.map(retryMessage) ?? [],
    fallback: step.fallback?.map(fallbackMessage) ?? [],
    when: step.when ?? "",
    always: step.always ?? false,
    pivot: step.pivot ?? false,
    ...given("input", step.input && payloadMessage(step.input)),
    ...given("timeouts", step.timeouts && timeoutsMessage(step.timeouts)),
    ...given("effects", step.effects && EFFECTS[step.effects]),
    ...given("verify", step.verify && create(VerifySchema, otherTaskMessage(step.verify))),
    ...given("compensate", step.compensate && compensateMessage(step.compensate)),
    ...given("onFailure", step.onFailure && ON_FAILURE[step.onFailure]),
    ...given("onPickup", step.onPickup && ON_PICKUP[step.onPickup]),
    ...given("escalation", step.escalation && escalationMessage(step.escalation)),
    ...given("runIf", step.runIf && RUN_IF[step.runIf]),
    ...given("outputSchema", step.outputSchema && payloadMessage(step.outputSchema)),
    ...given("logs", step.logs && STEP_LOGS[step.logs]),
  });
}

function otherTaskMessage(other: VerifyDefinition) {
  return {
    task: other.task,
    queue: other.queue ?? "",
    retry: other.retry?.map(retryMessage) ?? [],
    ...given("timeouts", other.timeouts && timeoutsMessage(other.timeouts)),
  };
}

function compensateMessage(compensate: CompensateDefinition): Compensate {
  return create(CompensateSchema, {
    ...otherTaskMessage(compensate),
    ...given("when", compensate.when && COMPENSATE_WHEN[compensate.when]),
  });
}

function fallbackMessage(fallback: FallbackDefinition): Fallback {
  return create(FallbackSchema, {
    queue: fallback.queue ?? "",
    task: fallback.task ?? "",
    ...given("run", runOf(fallback)),
    ...given("input", fallback.input && payloadMessage(fallback.input)),
  });
}

function runOf({ workflow, version = 0 }: FallbackDefinition) {
  return workflow === undefined ? undefined : { workflow, version };
}
