/** A run to start, as callers describe it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ConcurrencyPolicy, type ConcurrencySchema } from "@drover/proto/drover/v1/run_pb.ts";
import { type Codec, encoded } from "./codec.ts";
import { toDefinition } from "./definition.ts";
import { activeTrace } from "./tracing.ts";
import type { WorkflowSpec } from "./workflow.ts";

export interface ScheduleSpec {
  /** A registered workflow by name, or a definition for this run only. */
  readonly workflow: string | WorkflowSpec;
  /** Version of a registered workflow. Default: the default version. */
  readonly version?: number;
  /** JSON, or a Payload. */
  readonly input?: unknown;
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
  return typeof workflow === "string"
    ? { case: "workflow" as const, value: { name: workflow, version } }
    : { case: "definition" as const, value: toDefinition(workflow) };
}

function toConcurrency({
  key,
  limit = 0,
  policy = "queue",
}: ConcurrencySpec): MessageInitShape<typeof ConcurrencySchema> {
  return { key, limit, policy: policies[policy] };
}
