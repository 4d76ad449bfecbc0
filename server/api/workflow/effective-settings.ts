// Every setting of a run with its effective value and its source, so that a reader need not know
// the defaults. Values are written as in the text form of a workflow.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type EffectiveSettingSchema, SettingSource } from "@drover/proto/drover/v1/run_pb.ts";
import type {
  Definition,
  RetryPolicy,
  StepDefinition,
  TaskWork,
  Timeouts,
  VerifyDefinition,
} from "../../core/definition/definition.ts";
import type { Plan, PlanStep, PlanTask, Share } from "../../core/plan/plan.ts";
import type { LogsOff } from "../../dispatch/dispatcher.ts";
import { durationText } from "../../duration-text.ts";

type Setting = Omit<MessageInitShape<typeof EffectiveSettingSchema>, "$typeName" | "stepId">;
type Defined = Pick<VerifyDefinition, "queue" | "retry" | "timeouts">;

/** The settings of the run, then those of its steps in the order of the definition. */
export function effectiveSettings(
  definition: Definition,
  plan: Plan,
  logsOff: LogsOff | null,
): MessageInitShape<typeof EffectiveSettingSchema>[] {
  const ofRun = [setting("timeout", definition.timeoutMs, durationText(plan.timeoutMs))];
  return [
    ...ofRun.map((one) => ({ ...one, stepId: "" })),
    ...definition.steps.flatMap((step, no) => {
      const planned = plan.steps[no];
      if (!planned) return [];
      const ofStep = [...stepSettings(step, planned), ...logsSettings(step, planned, logsOff)];
      return ofStep.map((one) => ({ ...one, stepId: step.id }));
    }),
  ];
}

/** `said` undefined: the definition does not set it. */
function setting(field: string, defined: unknown, value: string): Setting {
  const source = defined === undefined ? SettingSource.DEFAULT : SettingSource.DEFINITION;
  return { field, value, source };
}

/** What the server or the namespace does not store, no step can store. */
function logsSettings(
  { logs }: StepDefinition,
  { work, storesLogs }: PlanStep,
  off: LogsOff | null,
): Setting[] {
  if (work.kind !== "task" && work.kind !== "map") return [];
  if (off === null) return [setting("logs", logs, storesLogs ? "on" : "off")];
  const source = off === "server" ? SettingSource.SERVER : SettingSource.NAMESPACE;
  return [{ field: "logs", value: "off", source }];
}

function stepSettings(step: StepDefinition, planned: PlanStep): Setting[] {
  return [
    ...workSettings(step, planned),
    setting("run_if", step.runIf, planned.runIf),
    // If the definition does not set it, the failure itself decides.
    setting("on_failure", step.onFailure, planned.onFailure ?? "compensate or fail"),
    setting(
      "escalation.remind",
      step.escalation?.remindMs,
      durationText(planned.escalation.remindMs),
    ),
    setting(
      "escalation.deadline",
      step.escalation?.deadlineMs,
      deadlineWords(planned.escalation.deadline),
    ),
    setting("always", step.always, String(planned.always)),
    setting("pivot", step.pivot, String(planned.pivot)),
    ...(step.verify && planned.verify ? taskSettings("verify.", step.verify, planned.verify) : []),
    ...(step.compensate && planned.compensate
      ? [
          setting("compensate.when", step.compensate.when, planned.compensate.when),
          ...taskSettings("compensate.", step.compensate, planned.compensate),
        ]
      : []),
  ];
}

function deadlineWords(deadline: PlanStep["escalation"]["deadline"]): string {
  return deadline === null ? "off" : `${durationText(deadline.afterMs)}, then ${deadline.answer}`;
}

function workSettings(
  step: StepDefinition,
  { work, timeouts, effects, onPickup }: PlanStep,
): Setting[] {
  switch (work.kind) {
    case "task": {
      const [first] = work.strategies;
      if (!first) throw new Error("a task without a strategy");
      return [
        ...taskSettings("", { ...step, ...queueOf(step) }, first),
        setting("effects", step.effects, effects),
        setting("on_pickup", step.onPickup, onPickup),
      ];
    }
    case "map": {
      const { concurrency, tolerate, item } = work;
      const defined = step.kind === "map" ? step : null;
      return [
        setting("map.concurrency", defined?.concurrency, String(concurrency)),
        setting(
          "map.tolerate",
          defined?.tolerate ?? defined?.toleratePercent,
          shareWords(tolerate),
        ),
        ...workSettings(step, item),
      ];
    }
    case "run":
      return [
        ...(work.strategies[0]?.retry ?? []).flatMap((policy, index) =>
          retrySettings(`retry[${index}].`, step.retry?.[index] ?? {}, policy),
        ),
        setting("timeouts.total", step.timeouts?.totalMs, durationText(timeouts.totalMs)),
      ];
    case "wait":
      return [];
    case "signal": {
      const defined = step.kind === "signal" ? step : null;
      return [
        setting("signal.within", defined?.withinMs, durationText(work.withinMs)),
        setting("signal.on_expiry", defined?.onExpiry, work.onExpiry),
      ];
    }
    case "approval": {
      const defined = step.kind === "approval" ? step : null;
      return [
        setting("approval.need", defined?.need, String(work.need)),
        setting("approval.not_requester", defined?.notRequester, String(work.notRequester)),
        setting("approval.within", defined?.withinMs, durationText(work.withinMs)),
        setting("approval.on_expiry", defined?.onExpiry, work.onExpiry),
      ];
    }
  }
}

function shareWords(share: Share): string {
  return share.kind === "count" ? String(share.count) : `${share.percent}%`;
}

function queueOf(step: StepDefinition): Pick<TaskWork, "queue"> {
  return "queue" in step && step.queue !== undefined ? { queue: step.queue } : {};
}

function taskSettings(at: string, defined: Defined, task: PlanTask): Setting[] {
  return [
    setting(`${at}queue`, defined.queue, task.queue),
    ...task.retry.flatMap((policy, index) =>
      retrySettings(`${at}retry[${index}].`, defined.retry?.[index] ?? {}, policy),
    ),
    ...timeoutSettings(`${at}timeouts.`, defined.timeouts ?? {}, task.timeouts),
  ];
}

function retrySettings(at: string, defined: Partial<RetryPolicy>, policy: RetryPolicy): Setting[] {
  return [
    setting(`${at}on`, defined.on, policy.on.join(", ") || "every code"),
    setting(`${at}attempts`, defined.attempts, String(policy.attempts)),
    setting(`${at}initial`, defined.initialMs, durationText(policy.initialMs)),
    setting(`${at}factor`, defined.factor, String(policy.factor)),
    setting(`${at}max`, defined.maxMs, durationText(policy.maxMs)),
    setting(`${at}jitter`, defined.jitter, String(policy.jitter)),
  ];
}

function timeoutSettings(at: string, defined: Partial<Timeouts>, timeouts: Timeouts): Setting[] {
  const names = [
    ["pickup", "pickupMs"],
    ["attempt", "attemptMs"],
    ["heartbeat", "heartbeatMs"],
    ["stall", "stallMs"],
    ["total", "totalMs"],
    ["cancel", "cancelMs"],
    ["settle", "settleMs"],
    ["callback", "callbackMs"],
  ] as const;
  return names.map(([field, name]) => {
    const ms = timeouts[name];
    return setting(`${at}${field}`, defined[name], ms === null ? "off" : durationText(ms));
  });
}
