// SchedulerService: register workflows; start, read and wait for runs, and send commands to them.
// It contains no rules: it converts requests for the scheduler and the store, and their answers to
// messages.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  GetRunRequest,
  GetRunResponseSchema,
  ListRunsRequest,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Clock } from "../../clock.ts";
import { planOf } from "../../core/plan/plan.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { Lists } from "../../store/lists.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import type { EngineStore } from "../../store/store.ts";
import type { Drain } from "../calls/drain.ts";
import type { Handlers } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import type { RequestCheck } from "../calls/request-check.ts";
import { waitMs } from "../calls/waits.ts";
import { createScheduleCalls, listSchedules } from "../trigger/cron-schedule-calls.ts";
import { definitionMessage } from "../workflow/convert-definition.ts";
import type { DefinitionCheck } from "../workflow/definition-source.ts";
import { effectiveSettings } from "../workflow/effective-settings.ts";
import { createRegisterCalls, createWorkflowLists } from "../workflow/workflow-calls.ts";
import { createBulkCalls } from "./bulk-calls.ts";
import { attemptMessages } from "./convert-attempt.ts";
import { explainMessage } from "./convert-explanation.ts";
import {
  decisionMessage,
  escalationMessage,
  interventionMessage,
  signalMessage,
  warningMessages,
} from "./convert-history.ts";
import { namedSteps, runMessage, stepMessages } from "./convert-run.ts";
import { listItems } from "./item-list.ts";
import { listLogs } from "./log-list.ts";
import { createRerunCalls } from "./rerun-calls.ts";
import { createRunCommands } from "./run-commands.ts";
import { runPageFrom } from "./run-list.ts";
import { createRunLookup, type FoundRun, type RunLookup } from "./run-lookup.ts";
import { waitRun, watchRun } from "./run-watch.ts";
import { createScheduleCalls as createRunCalls } from "./schedule-calls.ts";

/** What calls about one run, workflow or schedule need: the engine's half of the store. */
interface RunServiceDeps {
  readonly scheduler: Scheduler;
  readonly store: Pick<EngineStore, "reads" | "definition" | "workflowVersion" | "schedules">;
  readonly namespaces: Namespaces;
  readonly check: Pick<RequestCheck, "checkDefinition">;
  /** The check of a definition beyond its structure: its expressions and schemas. */
  readonly definitionCheck: DefinitionCheck;
  readonly drain: Drain;
  readonly clock: Clock;
}

interface SchedulerServiceDeps extends RunServiceDeps {
  readonly store: RunServiceDeps["store"] & Pick<OperatorStore, "lists" | "logs">;
}

type ListCalls =
  | "listRuns"
  | "listLogs"
  | "listSchedules"
  | "listWorkflows"
  | "getWorkflow"
  | "bulkAction";

/** GetRun shows at most this many rows of each kind, the newest ones. */
const HISTORY_MAX = 1_000;
const EXPLAINED_BY = { attempts: true, interventions: false, escalations: true };
const WITH_BODIES = { bodies: true };
const WITHOUT_BODIES = { bodies: false };

export function createSchedulerService(
  deps: SchedulerServiceDeps,
): Handlers<typeof SchedulerService> {
  const runs = createRunLookup(deps.store, deps.namespaces);
  return Object.freeze({
    ...createRunService(deps),
    ...createWorkflowLists(deps),
    listSchedules: (request) => listSchedules(deps, request),
    listRuns: (request) => listRuns(deps, request),
    listLogs: (request) => listLogs({ store: deps.store, runs }, request),
    ...createBulkCalls(deps),
  }) satisfies Handlers<typeof SchedulerService>;
}

/** All calls of the service except lists. */
export function createRunService(
  deps: RunServiceDeps,
): Omit<Handlers<typeof SchedulerService>, ListCalls> {
  const { scheduler, namespaces } = deps;
  const runs = createRunLookup(deps.store, namespaces);
  const commands = createRunCommands({ scheduler, namespaces, runs });
  const watching = { scheduler, runs, drain: deps.drain, clock: deps.clock };

  return Object.freeze({
    ...createRegisterCalls(deps),

    ...createRunCalls(deps),

    ...createScheduleCalls(deps),

    async getRun(request) {
      return await getRun(runs, await runs.find(request.namespace, request.run), request);
    },

    async explainRun(request) {
      const found = await runs.find(request.namespace, request.run);
      // Liveness is read last, so it is the newer of the two: a time in the detail must not be
      // after the time of the liveness.
      const detail = await runs.detail(found, EXPLAINED_BY);
      const liveness = await deps.store.reads.runLiveness(found.ref.runId);
      return explainMessage(await runs.plan(detail.run), detail, liveness, found.namespace.name);
    },

    listItems: (request) => listItems({ store: deps.store, runs }, request),

    async *watchRun(request, { signal }) {
      const found = await runs.find(request.namespace, request.run);
      yield* watchRun(watching, found, request, signal);
    },

    async waitRun(request, { signal, deadlineMs }) {
      const found = await runs.find(request.namespace, request.run);
      const forMs = waitMs(request.wait, deadlineMs);
      const record = await waitRun(watching, found, forMs, signal);
      return {
        run: runMessage(record, found.namespace.name, WITH_BODIES),
        ended: record.endedAt !== null,
      };
    },

    ...createRerunCalls({ scheduler, runs }),
    ...commands,
  }) satisfies Omit<Handlers<typeof SchedulerService>, ListCalls>;
}

interface RunListDeps {
  readonly store: { readonly lists: Pick<Lists, "runs"> };
  readonly namespaces: Namespaces;
}

export async function listRuns({ store, namespaces }: RunListDeps, request: ListRunsRequest) {
  const namespace = await namespaces.find(request.namespace);
  const page = runPageFrom(request, namespace);
  const query = { ...page.query, limit: page.limit + 1 };
  const rows = await store.lists.runs(namespace.id, query);
  return {
    runs: rows
      .slice(0, page.limit)
      .map((record) => runMessage(record, namespace.name, WITHOUT_BODIES)),
    nextPageToken: page.nextToken(rows, (row) => row.runId),
  };
}

async function getRun(
  runs: RunLookup,
  found: FoundRun,
  wanted: GetRunRequest,
): Promise<MessageInitShape<typeof GetRunResponseSchema>> {
  const detail = await runs.detail(found, {
    attempts: true,
    interventions: wanted.includeInterventions,
    escalations: wanted.includeEscalations,
  });
  const definition = await runs.definition(detail.run);
  const plan = planOf(definition);
  const newest = <T>(rows: readonly T[]) => rows.slice(-HISTORY_MAX);
  return {
    run: runMessage(detail.run, found.namespace.name, {
      ...WITH_BODIES,
      named: namedSteps(detail, plan),
    }),
    steps: stepMessages(detail, plan, WITH_BODIES),
    attempts: wanted.includeAttempts ? newest(attemptMessages(detail, plan)) : [],
    interventions: newest(detail.interventions).map((record) =>
      interventionMessage(record, plan, detail.attempts),
    ),
    escalations: newest(detail.escalations).map((record) =>
      escalationMessage(record, plan, detail.run, detail),
    ),
    signals: wanted.includeSignals
      ? detail.signals.map((record) => signalMessage(record, plan))
      : [],
    decisions: wanted.includeDecisions
      ? newest(detail.decisions).map((record) => decisionMessage(record, plan))
      : [],
    warnings: warningMessages(detail, plan),
    settings: wanted.includeSettings ? effectiveSettings(definition, plan) : [],
    ...(wanted.includeDefinition ? { definition: definitionMessage(definition) } : {}),
  };
}
