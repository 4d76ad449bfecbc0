/**
 * The differences between the text form of a workflow and the message that it becomes. Everything
 * else follows the descriptor of the message: a field that is added to the proto can be used in
 * texts at once.
 *
 *     task, queue     are keys of the step itself; the message has them in the step's kind
 *     wait, signal    may be a duration and a name instead of a map
 *     run             may be the name of a workflow instead of a map
 *     retry           may be one policy instead of a list
 *     durations       1h30m
 *     enum values     short and lower case
 *     input, schemas  any value, carried as JSON
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import {
  CompleteActionSchema,
  HmacAuthSchema,
  RunEndSourceSchema,
  ScheduleActionSchema,
  SignalActionSchema,
  TriggerDefinitionSchema,
} from "@drover/proto/drover/v1/trigger_pb.ts";
import {
  ApprovalStepSchema,
  CompensateSchema,
  GateSchema,
  MapStepSchema,
  RunStepSchema,
  SignalStepSchema,
  StepDefinitionSchema,
  TaskStepSchema,
  VerifySchema,
  WaitStepSchema,
  WavesSchema,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";

/**
 * Keys without which a message of the type is invalid. The kind of a step is checked separately.
 */
export const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  [WorkflowDefinitionSchema.typeName]: ["workflow", "steps"],
  [StepDefinitionSchema.typeName]: ["id"],
  [VerifySchema.typeName]: ["task"],
  [CompensateSchema.typeName]: ["task"],
  [SignalStepSchema.typeName]: ["name"],
  [MapStepSchema.typeName]: ["over", "task"],
  [GateSchema.typeName]: ["task"],
  [RunStepSchema.typeName]: ["workflow"],
  [TriggerDefinitionSchema.typeName]: ["trigger"],
  [HmacAuthSchema.typeName]: ["header"],
  [RunEndSourceSchema.typeName]: ["workflow"],
  [ScheduleActionSchema.typeName]: ["workflow"],
  [SignalActionSchema.typeName]: ["name", "signal_id"],
  [CompleteActionSchema.typeName]: ["callback_token", "outcome"],
};

export const namesOfMessages: Readonly<Record<string, string>> = {
  [WorkflowDefinitionSchema.typeName]: "a workflow",
  [StepDefinitionSchema.typeName]: "a step",
  [WaitStepSchema.typeName]: "a wait",
  [SignalStepSchema.typeName]: "a signal",
  [ApprovalStepSchema.typeName]: "an approval",
  [MapStepSchema.typeName]: "a map",
  [WavesSchema.typeName]: "the waves of a map",
  [GateSchema.typeName]: "a gate",
  [TriggerDefinitionSchema.typeName]: "a trigger",
};

export const kinds = ["task", "wait", "signal", "approval", "run", "map"];

/** Messages that a text may write as the value of one field, and the name of that field. */
const shortForms: Readonly<Record<string, string>> = {
  [WaitStepSchema.typeName]: "for",
  [SignalStepSchema.typeName]: "name",
  [RunStepSchema.typeName]: "workflow",
};

/** Lists that a text may write as a single item. */
export const oneOrMany = new Set(["retry"]);

/**
 * The field of the message that a key of the text sets: directly, or in the message in `parent`.
 */
export interface TextKey {
  readonly field: DescField;
  readonly parent: DescField | null;
}

/** The field whose value may be written for the whole message; null: there is none. */
export function shortField(desc: DescMessage): DescField | null {
  return desc.fields.find(({ name }) => name === shortForms[desc.typeName]) ?? null;
}

const slotsByType = new Map<string, ReadonlyMap<string, TextKey>>();

export function textKeysOf(desc: DescMessage): ReadonlyMap<string, TextKey> {
  const known = slotsByType.get(desc.typeName);
  if (known !== undefined) return known;
  const slots = new Map<string, TextKey>();
  for (const field of desc.fields) {
    if (field.message?.typeName !== TaskStepSchema.typeName)
      slots.set(field.name, { field, parent: null });
    else
      for (const inner of field.message.fields)
        slots.set(inner.name === "name" ? field.name : inner.name, { field: inner, parent: field });
  }
  slotsByType.set(desc.typeName, slots);
  return slots;
}
