/**
 * Random definitions, valid or not, and the texts that a person would write for them: the other
 * direction of server/definition-text/workflow-text.ts, made independently of it.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  ApprovalExpiry,
  CompensateWhen,
  Effects,
  OnFailure,
  OnPickup,
  type RetryPolicy,
  RunIf,
  type RunStep,
  SignalExpiry,
  type StepDefinition,
  StepLogs,
  type Timeouts,
  type WorkflowDefinition,
  type WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import fc from "fast-check";
import { stringify } from "yaml";
import { jsonValues } from "./json-values.ts";

const names = fc.stringMatching(/^[A-Za-z0-9._-]{1,12}$/);
const times = fc
  .tuple(fc.integer({ min: 0, max: 400_000_000 }), fc.integer({ min: 0, max: 999 }))
  .map(([seconds, ms]) => ({ seconds: BigInt(seconds), nanos: ms * 1_000_000 }));
const payloads = jsonValues(3).map((value) => ({
  body: { case: "json" as const, value: JSON.stringify(value) },
}));

const retries = fc.record(
  {
    on: fc.array(names, { maxLength: 2 }),
    attempts: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    initial: times,
    factor: fc.double({ noNaN: true, noDefaultInfinity: true }),
    max: times,
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  },
  { requiredKeys: [] },
);

const timeouts = fc.record(
  {
    pickup: times,
    attempt: times,
    heartbeat: times,
    stall: times,
    total: times,
    settle: times,
    callback: times,
  },
  { requiredKeys: [] },
);

const otherTask = {
  task: names,
  queue: names,
  retry: fc.array(retries, { minLength: 1, maxLength: 2 }),
  timeouts,
};

const runs = fc.record({ workflow: names, version: fc.nat({ max: 3 }) });

const kinds = fc.oneof(
  fc
    .record({ name: names, queue: fc.option(names, { nil: "" }) })
    .map((value) => ({ case: "task" as const, value })),
  fc
    .oneof(
      times.map((value) => ({ case: "for" as const, value })),
      fc.string({ minLength: 1 }).map((value) => ({ case: "until" as const, value })),
    )
    .map((over) => ({ case: "wait" as const, value: { over } })),
  fc
    .record(
      {
        name: names,
        within: times,
        onExpiry: fc.constantFrom(SignalExpiry.ESCALATE, SignalExpiry.FAIL, SignalExpiry.SKIP),
      },
      { requiredKeys: ["name"] },
    )
    .map((value) => ({ case: "signal" as const, value })),
  fc
    .record(
      {
        approvers: fc.array(fc.string(), { maxLength: 2 }),
        need: fc.nat(),
        notRequester: fc.constant(true),
        form: payloads,
        within: times,
        onExpiry: fc.constantFrom(ApprovalExpiry.REJECT, ApprovalExpiry.APPROVE),
      },
      { requiredKeys: [] },
    )
    .map((value) => ({ case: "approval" as const, value })),
  runs.map((value) => ({ case: "run" as const, value })),
);

const steps = fc.record(
  {
    id: names,
    needs: fc.array(names, { maxLength: 3 }),
    kind: kinds,
    input: payloads,
    retry: fc.array(retries, { minLength: 1, maxLength: 3 }),
    timeouts,
    effects: fc.constantFrom(Effects.IDEMPOTENT, Effects.VERIFIABLE, Effects.ONCE),
    verify: fc.record(otherTask, { requiredKeys: ["task"] }),
    compensate: fc.record(
      {
        ...otherTask,
        when: fc.constantFrom(CompensateWhen.FINISHED, CompensateWhen.ATTEMPTED),
      },
      { requiredKeys: ["task"] },
    ),
    fallback: fc.array(
      fc.record({ queue: names, task: names, run: runs, input: payloads }, { requiredKeys: [] }),
      { maxLength: 2 },
    ),
    onFailure: fc.constantFrom(
      OnFailure.COMPENSATE,
      OnFailure.FAIL,
      OnFailure.CONTINUE,
      OnFailure.ESCALATE,
    ),
    when: fc.string({ minLength: 1, maxLength: 20 }),
    runIf: fc.constantFrom(RunIf.ENDED, RunIf.ALL_OK, RunIf.ANY_OK),
    always: fc.constant(true),
    pivot: fc.constant(true),
    onPickup: fc.constantFrom(OnPickup.ALARM, OnPickup.ESCALATE, OnPickup.FALLBACK),
    outputSchema: payloads,
    logs: fc.constantFrom(StepLogs.ON, StepLogs.OFF),
  },
  { requiredKeys: ["id", "kind"] },
);

export const definitions: fc.Arbitrary<MessageInitShape<typeof WorkflowDefinitionSchema>> =
  fc.record(
    {
      workflow: names,
      timeout: times,
      inputSchema: payloads,
      steps: fc.array(steps, { minLength: 1, maxLength: 4 }),
    },
    { requiredKeys: ["workflow", "steps"] },
  );

/** Ways to write it down. */
export const styles = fc.constantFrom<(plain: unknown) => string>(
  (plain) => JSON.stringify(plain),
  (plain) => JSON.stringify(plain, null, "\t"),
  (plain) => stringify(plain, { aliasDuplicateObjects: false }),
  (plain) => stringify(plain, { aliasDuplicateObjects: false, collectionStyle: "flow" }),
);

type Duration = NonNullable<WorkflowDefinition["timeout"]>;

/** 3725004 ms as 1h2m5s4ms. */
function written(duration: Duration | undefined): string | undefined {
  if (duration === undefined) return undefined;
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
    ["ms", 1],
  ] as const;
  let leftMs = durationMs(duration);
  let text = "";
  for (const [unit, unitMs] of units) {
    const count = Math.floor(leftMs / unitMs);
    leftMs -= count * unitMs;
    if (count > 0) text += `${count}${unit}`;
  }
  return text || "0s";
}

const short = (values: Readonly<Record<string, number>>, value: number) =>
  value === 0
    ? undefined
    : Object.entries(values)
        .find(([, number]) => number === value)?.[0]
        .toLowerCase();
const orAbsent = <T>(list: readonly T[]) => (list.length > 0 ? list : undefined);

function plainRetry(policies: readonly RetryPolicy[]) {
  const plain = policies.map(({ on, attempts, initial, factor, max, jitter }) => ({
    on: orAbsent(on),
    attempts,
    initial: written(initial),
    factor,
    max: written(max),
    jitter,
  }));
  return plain.length === 1 ? plain[0] : orAbsent(plain);
}

function plainTimeouts(timeouts: Timeouts | undefined) {
  if (timeouts === undefined) return undefined;
  const { pickup, attempt, heartbeat, stall, total, settle, callback } = timeouts;
  return {
    pickup: written(pickup),
    attempt: written(attempt),
    heartbeat: written(heartbeat),
    stall: written(stall),
    total: written(total),
    settle: written(settle),
    callback: written(callback),
  };
}

/** In the short form where there is one. */
function plainKind({ kind }: StepDefinition): object {
  switch (kind.case) {
    case "task":
      return { task: kind.value.name, queue: kind.value.queue || undefined };
    case "wait": {
      const { over } = kind.value;
      return { wait: over.case === "until" ? { until: over.value } : written(over.value) };
    }
    case "signal": {
      const { name, within, onExpiry } = kind.value;
      const more = { within: written(within), on_expiry: short(SignalExpiry, onExpiry) };
      return { signal: within || onExpiry ? { name, ...more } : name };
    }
    case "approval": {
      const { approvers, need, notRequester, form, within, onExpiry } = kind.value;
      return {
        approval: {
          approvers: orAbsent(approvers),
          need,
          not_requester: notRequester || undefined,
          form: plainInput(form),
          within: written(within),
          on_expiry: short(ApprovalExpiry, onExpiry),
        },
      };
    }
    case "run":
      return { run: plainRun(kind.value) };
    default:
      return {};
  }
}

function plainRun({ workflow, version }: RunStep) {
  return version === 0 ? workflow : { workflow, version };
}

function plainInput(input: StepDefinition["input"]): unknown {
  return input?.body.case === "json" ? JSON.parse(input.body.value) : undefined;
}

function plainTask(other: StepDefinition["verify"] | StepDefinition["compensate"]) {
  return (
    other && {
      task: other.task,
      queue: other.queue || undefined,
      retry: plainRetry(other.retry),
      timeouts: plainTimeouts(other.timeouts),
    }
  );
}

/** What a person would write for the definition, before it is put into YAML or JSON. */
export function plainOf(definition: WorkflowDefinition): unknown {
  const { workflow, timeout, inputSchema, steps } = definition;
  const plain = {
    workflow,
    input_schema: plainInput(inputSchema),
    timeout: written(timeout),
    steps: steps.map((step) => ({
      id: step.id,
      needs: orAbsent(step.needs),
      ...plainKind(step),
      input: plainInput(step.input),
      retry: plainRetry(step.retry),
      timeouts: plainTimeouts(step.timeouts),
      effects: short(Effects, step.effects),
      verify: plainTask(step.verify),
      compensate: step.compensate && {
        ...plainTask(step.compensate),
        when: short(CompensateWhen, step.compensate.when),
      },
      fallback: orAbsent(
        step.fallback.map(({ queue, task, run, input }) => ({
          queue: queue || undefined,
          task: task || undefined,
          run: run && plainRun(run),
          input: plainInput(input),
        })),
      ),
      on_failure: short(OnFailure, step.onFailure),
      when: step.when || undefined,
      run_if: short(RunIf, step.runIf),
      always: step.always || undefined,
      pivot: step.pivot || undefined,
      on_pickup: short(OnPickup, step.onPickup),
      output_schema: plainInput(step.outputSchema),
      logs: short(StepLogs, step.logs),
    })),
  };
  return JSON.parse(JSON.stringify(plain));
}
