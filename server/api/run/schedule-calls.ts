// Schedule and ScheduleBatch: converts requests for the scheduler. A problem of one run of a batch
// becomes that run's answer, with its path in the call.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type {
  ScheduleBatchRequest,
  ScheduleRequest as ScheduleMessage,
  ScheduleResultSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import { DroverError } from "../../errors.ts";
import type { BatchAnswer, ScheduleRequest, Scheduler } from "../../scheduler/scheduler.ts";
import type { Namespace } from "../../store/store.ts";
import { readTrace, type TraceContext } from "../../store/trace.ts";
import { refusal, toStatus } from "../calls/errors.ts";
import type { CallContext } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { payloadFrom } from "../calls/payload.ts";
import { requestDigest } from "../calls/request-digest.ts";
import { epochMsFrom } from "../calls/time-field.ts";
import { notifyFrom } from "../operator/hook-calls.ts";
import { type DefinitionCheck, definitionOfMessage } from "../workflow/definition-source.ts";
import { concurrencyFrom } from "./convert-concurrency.ts";

interface ScheduleCallDeps {
  readonly scheduler: Pick<Scheduler, "schedule" | "scheduleBatch">;
  readonly namespaces: Namespaces;
  readonly definitionCheck: DefinitionCheck;
}

/** Fields whose items have their own answers. */
export const SCHEDULER_ITEM_FIELDS = Object.freeze({ ScheduleBatch: "runs" });

const PRIORITY_DEFAULT = 5;
/** In characters, as for the field of the request. */
const TRACESTATE_MAX = 512;

export function createScheduleCalls({ scheduler, namespaces, definitionCheck }: ScheduleCallDeps) {
  return Object.freeze({
    async schedule(request: ScheduleMessage, context: CallContext) {
      const namespace = await namespaces.find(request.namespace);
      const callers = traceOfCall(context);
      return await scheduler.schedule(scheduleFrom(request, namespace, definitionCheck, callers));
    },

    async scheduleBatch(request: ScheduleBatchRequest, context: CallContext) {
      const { itemErrors } = context;
      const namespace = await namespaces.find(request.namespace);
      const callers = traceOfCall(context);
      const asked = request.runs.map((run, index): ScheduleRequest | DroverError => {
        const wrong = itemErrors.get(index);
        if (wrong) return wrong;
        try {
          refuseOtherNamespace(run, namespace);
          return scheduleFrom(run, namespace, definitionCheck, callers);
        } catch (error) {
          if (error instanceof DroverError) return belowItem(error, index);
          throw error;
        }
      });
      const good = asked.filter((one): one is ScheduleRequest => !(one instanceof DroverError));
      const answers = good.length === 0 ? [] : await scheduler.scheduleBatch(good);
      let at = 0;
      return {
        results: asked.map((one, index) => {
          if (one instanceof DroverError) return refused(one);
          const answer = answers[at++];
          if (!answer) throw new Error("the scheduler gave fewer answers than it was asked");
          return resultMessage(answer, index);
        }),
      };
    },
  });
}

function scheduleFrom(
  request: ScheduleMessage,
  namespace: Namespace,
  check: DefinitionCheck,
  callers: TraceContext | null,
): ScheduleRequest {
  const trace = readableTrace(request) ?? callers;
  return {
    namespace,
    target: targetFrom(request, check),
    input: payloadFrom(request.input),
    key: request.key === "" ? null : request.key,
    priority: request.priority === 0 ? PRIORITY_DEFAULT : request.priority,
    labels: { ...request.labels },
    notify: notifyFrom(request.notify),
    startAt: epochMsFrom(request.startTime, "start_time"),
    concurrency: concurrencyFrom(request.concurrency),
    digest: requestDigest(request),
    ...(trace ? { trace } : {}),
  };
}

/**
 * The trace headers of a call. An invalid traceparent counts as none: by W3C it must not fail a
 * call.
 */
function traceOfCall({ header }: CallContext): TraceContext | null {
  const traceparent = header("traceparent") ?? "";
  return readableTrace({ traceparent, tracestate: header("tracestate") ?? "" });
}

function readableTrace({ traceparent, tracestate }: TraceContext): TraceContext | null {
  const given = { traceparent, tracestate: tracestate.slice(0, TRACESTATE_MAX) };
  return readTrace(given) && given;
}

function targetFrom(
  { target }: ScheduleMessage,
  check: DefinitionCheck,
): ScheduleRequest["target"] {
  switch (target.case) {
    case "workflow":
      return { kind: "named", name: target.value.name, version: target.value.version };
    case "definition":
      return { kind: "inline", definition: definitionOfMessage(target.value, check) };
    default:
      throw new Error("a request without a target has passed the rules");
  }
}

function refuseOtherNamespace(run: ScheduleMessage, namespace: Namespace): void {
  if (run.namespace === "" || run.namespace === namespace.name) return;
  const message = `"${run.namespace}" is not the namespace of the call: leave it out`;
  throw refusal("INVALID_REQUEST", [{ path: "namespace", message }]);
}

function resultMessage(
  answer: BatchAnswer,
  index: number,
): MessageInitShape<typeof ScheduleResultSchema> {
  if (answer.kind === "refused") return refused(belowItem(answer.error, index));
  return { status: create(StatusSchema), runId: answer.runId, created: answer.created };
}

function refused(error: DroverError): MessageInitShape<typeof ScheduleResultSchema> {
  return { status: toStatus(error) };
}

function belowItem(error: DroverError, index: number): DroverError {
  const { reason, message, metadata, fields } = error;
  const at = `runs[${index}]`;
  if (fields.length === 0) return new DroverError(reason, `${at}: ${message}`, { metadata });
  const placed = fields.map((field) => ({ ...field, path: `${at}.${field.path}` }));
  return refusal(reason, placed, metadata);
}
