// ListLogs: the lines that handlers have logged for a run, page by page.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  AttemptRef as AttemptMessage,
  ListLogsRequest,
  ListLogsResponseSchema,
  LogLineSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import type { TaskKind as CoreTaskKind } from "../../core/model/attempt.ts";
import { numberOf, stepKeyOf } from "../../core/model/step-key.ts";
import { nameAt, type Plan } from "../../core/plan/plan.ts";
import type { AttemptRef, LogRecord } from "../../store/handler-logs.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import { LOG_LEVELS } from "../agent/append-logs.ts";
import { TASK_KINDS } from "../agent/convert-task.ts";
import { refusal } from "../calls/errors.ts";
import { formatPageToken, parsePageToken } from "../calls/page-token.ts";
import type { RunLookup } from "./run-lookup.ts";
import { findStep } from "./step-lookup.ts";

/** At 8 KiB a line, a page of these fits into a message. */
const LINES_MAX = 200;

interface LogListDeps {
  readonly store: Pick<OperatorStore, "logs">;
  readonly runs: RunLookup;
}

/** Which lines of a run are wanted; `item` is that of step keys. */
type Wanted =
  | { readonly kind: "run" }
  | { readonly kind: "step"; readonly no: number; readonly item: number | null }
  | { readonly kind: "attempt"; readonly attempt: AttemptRef };

export async function listLogs(
  { store, runs }: LogListDeps,
  request: ListLogsRequest,
): Promise<MessageInitShape<typeof ListLogsResponseSchema>> {
  const found = await runs.find(request.namespace, request.run);
  const plan = await runs.plan(found.record);
  const { runId } = found.ref;
  const wanted = wantedFrom(request, plan);
  const list = `logs ${runId} ${JSON.stringify(wanted)}`;
  const after = Number(parsePageToken(list, request.pageToken, isPlace) ?? 0);
  const limit = request.pageSize === 0 ? LINES_MAX : request.pageSize;
  const attempt = wanted.kind === "attempt" ? wanted.attempt : null;
  const read = await store.logs.lines({ runId, attempt, after, limit: limit + 1 });
  const page = read.slice(0, limit);
  const last = page.at(-1);
  const place = last === undefined ? after : wanted.kind === "attempt" ? last.line : last.id;
  const token = formatPageToken(list, String(place));
  return {
    lines: page.filter((line) => isWanted(wanted, line)).map((line) => lineMessage(line, plan)),
    nextPageToken: read.length > limit ? token : "",
    tailToken: token,
    runEnded: found.record.endedAt !== null,
  };
}

function isPlace(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}

function wantedFrom({ stepId, item, attempt }: ListLogsRequest, plan: Plan): Wanted {
  if (stepId === "") {
    const path = item === undefined ? "attempt" : "item";
    if (item === undefined && attempt === undefined) return { kind: "run" };
    throw refusal("INVALID_REQUEST", [{ path, message: "belongs to a step: give step_id too" }]);
  }
  const { step, key } = findStep(plan, { stepId, item });
  if (!attempt) return { kind: "step", no: step.no, item: item === undefined ? null : item + 1 };
  const { kind, fence, n } = attempt;
  return { kind: "attempt", attempt: { step: key, kind: kindFrom(kind), fence, n } };
}

function kindFrom(kind: AttemptMessage["kind"]): CoreTaskKind {
  if (kind === TaskKind.VERIFY) return "verify";
  return kind === TaskKind.COMPENSATE ? "compensate" : "perform";
}

function isWanted(wanted: Wanted, { step }: LogRecord): boolean {
  if (wanted.kind !== "step") return true;
  return wanted.item === null
    ? numberOf(step) === wanted.no
    : step === stepKeyOf(wanted.no, wanted.item);
}

function lineMessage(line: LogRecord, plan: Plan): MessageInitShape<typeof LogLineSchema> {
  const { kind, fence, n } = line;
  return {
    stepId: nameAt(plan, line.step),
    attempt: { kind: TASK_KINDS[kind], fence, n },
    attemptNumber: line.attempt,
    line: line.line,
    time: timestampFromMs(line.at),
    level: LOG_LEVELS[line.level],
    message: line.message,
    fields: { ...line.fields },
  };
}
