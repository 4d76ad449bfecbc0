/** A run to start, as callers describe it. */
import { isMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ConcurrencyPolicy, type ConcurrencySchema } from "@drover/proto/drover/v1/run_pb.ts";
import {
  WorkflowDefinitionSchema,
  type WorkflowDefinition as WorkflowMessage,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { DroverCallError } from "./call-error.ts";
import { type Codec, encoded } from "./codec.ts";
import { toDefinition } from "./definition.ts";
import { readPayload, toPayload } from "./payload.ts";
import { check, textOf } from "./schema.ts";
import { activeTrace } from "./tracing.ts";
import type { WorkflowSpec } from "./workflow.ts";
import type { WorkflowDefinition } from "./workflow-definition.ts";

/** `In`: what the workflow takes as input. */
export type ScheduleSpec<In = unknown> = ScheduleSettings & {
  /**
   * A registered workflow, by its name or by `defineWorkflow`, which checks the input; or a whole
   * workflow for this run only: an object, or a message.
   */
  readonly workflow: string | WorkflowSpec | WorkflowMessage | WorkflowDefinition<In>;
} & InputSpec<In>;

/** JSON, or a Payload. It may be left out where it may be undefined. */
export type InputSpec<In> = undefined extends In
  ? { readonly input?: NoInfer<In> }
  : { readonly input: NoInfer<In> };

export interface ScheduleSettings {
  /** Version of a registered workflow. Default: the default version. */
  readonly version?: number;
  /** The caller's own name for the run: one key starts one run only. Default: random. */
  readonly key?: string;
  /** 1 (first) to 9 (last). Default 5. */
  readonly priority?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** When it begins; a time in the past means now. Default: at once. */
  readonly startTime?: Date;
  /** Limits how many runs of one key are in progress. Default: no limit. */
  readonly concurrency?: ConcurrencySpec;
  /**
   * The hook that is notified of its end, by name or with a URL instead of its own. Default: none.
   */
  readonly notify?: string | { readonly hook: string; readonly url?: string };
}

export interface ConcurrencySpec {
  /** The key, within the namespace of the run, such as `customer-17`. */
  readonly key: string;
  /** The run begins only while fewer runs of the key are in progress. Default 1, at most 1,000. */
  readonly limit?: number;
  /**
   * What happens while there is no free permit: the run waits (`queue`, the default), it is refused
   * with CONCURRENCY_LIMIT (`refuse`), the oldest run of the key is cancelled and undone
   * (`cancel-oldest`), or the run waits unless another one already does (`queue-one`).
   */
  readonly policy?: keyof typeof policies;
}

const policies = {
  queue: ConcurrencyPolicy.QUEUE,
  refuse: ConcurrencyPolicy.REFUSE,
  "cancel-oldest": ConcurrencyPolicy.CANCEL_OLDEST,
  "queue-one": ConcurrencyPolicy.QUEUE_ONE,
};

/**
 * Throws what the server would throw for an input that it refuses; nothing is sent. What is checked
 * is the input as its reader gets it.
 */
export async function checkInput({ workflow, input }: ScheduleSpec): Promise<void> {
  if (typeof workflow === "string" || "steps" in workflow) return;
  const checked = await check(workflow.input, readPayload(toPayload(input)));
  if (checked.kind === "valid") return;
  const text = textOf(checked.problems);
  throw new DroverCallError(
    "INVALID_ARGUMENT",
    `The input for the workflow ${workflow.name} is not as expected: ${text}`,
    {
      reason: "INVALID_REQUEST",
      fields: checked.problems.map(({ path, message }) => {
        const within = path === "" || path.startsWith("[") ? path : `.${path}`;
        return { path: `input${within}`, message };
      }),
    },
  );
}

export function toSchedule(spec: ScheduleSpec, codec: Codec) {
  const { startTime, concurrency, notify } = spec;
  const input = encoded(spec.input, codec);
  return {
    key: spec.key ?? crypto.randomUUID(),
    target: toTarget(spec),
    priority: spec.priority ?? 0,
    labels: { ...spec.labels },
    ...activeTrace(),
    ...(input && { input }),
    ...(startTime && { startTime: timestampFromDate(startTime) }),
    ...(concurrency && { concurrency: toConcurrency(concurrency) }),
    ...(notify !== undefined && { notify: typeof notify === "string" ? { hook: notify } : notify }),
  };
}

function toTarget({ workflow, version = 0 }: ScheduleSpec) {
  if (typeof workflow !== "string") {
    if (isMessage(workflow, WorkflowDefinitionSchema))
      return { case: "definition" as const, value: workflow };
    if ("steps" in workflow) return { case: "definition" as const, value: toDefinition(workflow) };
  }
  const name = typeof workflow === "string" ? workflow : workflow.name;
  return { case: "workflow" as const, value: { name, version } };
}

function toConcurrency({
  key,
  limit = 0,
  policy = "queue",
}: ConcurrencySpec): MessageInitShape<typeof ConcurrencySchema> {
  return { key, limit, policy: policies[policy] };
}
