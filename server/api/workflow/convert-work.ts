// Converts the work of a step, by its kind, between protobuf and the core.
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ApprovalExpiry,
  type ApprovalStep,
  type RunStep,
  SignalExpiry,
  type StepDefinition,
  type StepDefinitionSchema,
  type WaitStep,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type {
  ApprovalWork,
  ApprovalExpiry as CoreApprovalExpiry,
  SignalExpiry as CoreSignalExpiry,
  RunWork,
  StepWork,
  WaitWork,
} from "../../core/definition/definition.ts";
import { payloadFrom, payloadMessage } from "../calls/payload.ts";
import { mapFrom, mapMessage } from "./convert-map.ts";
import { durationField, given, msOf, wordOf } from "./definition-values.ts";

type KindInit = NonNullable<MessageInitShape<typeof StepDefinitionSchema>["kind"]>;

const SIGNAL_EXPIRY: Readonly<Record<CoreSignalExpiry, SignalExpiry>> = Object.freeze({
  escalate: SignalExpiry.ESCALATE,
  fail: SignalExpiry.FAIL,
  skip: SignalExpiry.SKIP,
});

export const APPROVAL_EXPIRY: Readonly<Record<CoreApprovalExpiry, ApprovalExpiry>> = Object.freeze({
  escalate: ApprovalExpiry.ESCALATE,
  reject: ApprovalExpiry.REJECT,
  approve: ApprovalExpiry.APPROVE,
});

/** The message has passed the validation rules of the proto. */
export function workFrom(kind: StepDefinition["kind"]): StepWork {
  switch (kind.case) {
    case "task":
      return { task: kind.value.name, ...given("queue", kind.value.queue || undefined) };
    case "wait":
      return waitFrom(kind.value);
    case "signal":
      return {
        kind: "signal",
        name: kind.value.name,
        ...given("withinMs", msOf(kind.value.within)),
        ...given("onExpiry", wordOf(SIGNAL_EXPIRY, kind.value.onExpiry)),
      };
    case "approval":
      return approvalFrom(kind.value);
    case "map":
      return mapFrom(kind.value);
    case "run":
      return { kind: "run", ...runFrom(kind.value) };
    case undefined:
      throw new Error("a step without a kind has passed the rules");
  }
}

/** Version 0 means: not set, the default version. */
export function runFrom({ workflow, version }: RunStep): Omit<RunWork, "kind"> {
  return { workflow, ...given("version", version || undefined) };
}

function waitFrom({ over }: WaitStep): WaitWork {
  return over.case === "until"
    ? { kind: "wait", until: over.value }
    : { kind: "wait", ...given("forMs", msOf(over.value)) };
}

function approvalFrom(message: ApprovalStep): ApprovalWork {
  return {
    kind: "approval",
    approvers: [...message.approvers],
    ...given("need", message.need),
    ...given("notRequester", message.notRequester || undefined),
    ...given("form", payloadFrom(message.form) ?? undefined),
    ...given("withinMs", msOf(message.within)),
    ...given("onExpiry", wordOf(APPROVAL_EXPIRY, message.onExpiry)),
  };
}

export function workMessage(work: StepWork): KindInit {
  switch (work.kind) {
    case "wait":
      return { case: "wait", value: { over: waitOver(work) } };
    case "signal":
      return {
        case: "signal",
        value: {
          name: work.name,
          ...given("within", durationField(work.withinMs)),
          ...given("onExpiry", work.onExpiry && SIGNAL_EXPIRY[work.onExpiry]),
        },
      };
    case "approval":
      return {
        case: "approval",
        value: {
          approvers: [...work.approvers],
          notRequester: work.notRequester ?? false,
          ...given("need", work.need),
          ...given("form", work.form && payloadMessage(work.form)),
          ...given("within", durationField(work.withinMs)),
          ...given("onExpiry", work.onExpiry && APPROVAL_EXPIRY[work.onExpiry]),
        },
      };
    case "map":
      return { case: "map", value: mapMessage(work) };
    case "run":
      return { case: "run", value: { workflow: work.workflow, version: work.version ?? 0 } };
    default:
      return { case: "task", value: { name: work.task, queue: work.queue ?? "" } };
  }
}

function waitOver({ forMs, until }: WaitWork) {
  if (until !== undefined) return { case: "until" as const, value: until };
  const value = durationField(forMs);
  if (value === undefined) throw new Error("a wait has neither a duration nor a time");
  return { case: "for" as const, value };
}
