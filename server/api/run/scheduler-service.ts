// SchedulerService: register workflows; start, read and wait for runs, and send commands to them.
// It contains no rules: it converts requests for the scheduler and the store, and their answers to
// messages.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Attempt } from "@drover/proto/drover/v1/run_pb.ts";
import type {
  GetRunRequest,
  GetRunResponseSchema,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Clock } from "../../clock.ts";
import { isItemName } from "../../core/plan/item-name.ts";
import { planOf } from "../../core/plan/plan.ts";
import type { LogAppends } from "../../dispatch/dispatcher.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { AllShards } from "../../store/all-shards.ts";
import type { OperatorStore } from "../../store/operator-store.ts";
import type { RunDetail } from "../../store/reads.ts";
import { readTrace } from "../../store/trace.ts";
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
import { attemptMessages, withHosts } from "./convert-attempt.ts";
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
import { listRuns } from "./run-list.ts";
import { createRunLookup, type FoundRun, type RunLookup } from "./run-lookup.ts";
import { waitRun, watchRun } from "./run-watch.ts";
import { createScheduleCalls as createRunCalls } from "./schedule-calls.ts";
import { getStepInput } from "./step-input.ts";
import { traceUrl } from "./trace-link.ts";

/** What calls about one run, workflow or schedule need: the engine's half of the store. */
interface RunServiceDeps {
  readonly scheduler: Scheduler;
  readonly store: Pick<AllShards, "reads" | "definition" | "workflowVersion" | "schedules">;
  readonly namespaces: Namespaces;
  readonly check: Pick<RequestCheck, "checkDefinition">;
  /** The check of a definition beyond its structure: its expressions and schemas. */
  readonly definitionCheck: DefinitionCheck;
  readonly drain: Drain;
  readonly clock: Clock;
  /** The template of links to traces; undefined: there are none. */
  readonly traceLink?: string | undefined;
  readonly logs: Pick<LogAppends, "offBy">;
}

interface SchedulerServiceDeps extends RunServiceDeps {
  readonly store: RunServiceDeps["store"] &
    Pick<AllShards, "namespaces"> &
    Pick<OperatorStore, "lists" | "operators" | "logs">;
}

type ListCalls =
  | "listRuns"
  | "listLogs"
  | "listSchedules"
  | "listWorkflows"
  | "getWorkflow"
  | "bulkAction";

/**
 * GetRun shows at most this many rows of each kind, the newest ones. Attempts at items are a kind
 * of their own, so that a large map does not hide the attempts at other steps.
 */
const HISTORY_MAX = 1_000;
const EXPLAINED_BY = { attempts: true, interventions: false, escalations: true };
const WITH_BODIES = { bodies: true };

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
      return await getRun(
        { ...deps, runs },
        await runs.find(request.namespace, request.run),
        request,
      );
    },

    async explainRun(request) {
      const found = await runs.find(request.namespace, request.run);
      // Liveness is read last, so it is the newer of the two: a time in the detail must not be
      // after the time of the liveness.
      const detail = await runs.detail(found, EXPLAINED_BY);
      const liveness = await deps.store.reads.runLiveness(found.ref.runId);
      return explainMessage(await runs.plan(detail.run), detail, liveness, found.namespace.name);
    },

    getStepInput: (request) => getStepInput({ scheduler, runs }, request),

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

interface GetRunDeps extends Pick<RunServiceDeps, "store" | "logs" | "traceLink"> {
  readonly runs: RunLookup;
}

async function getRun(
  { runs, store, logs, traceLink = "" }: GetRunDeps,
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
  const attempts = wanted.includeAttempts ? attemptMessages(detail, plan) : [];
  const shown = new Set([
    ...newest(attempts.filter(({ stepId }) => !isItemName(stepId))),
    ...newest(attempts.filter(({ stepId }) => isItemName(stepId))),
  ]);
  const traced = (await store.reads.tracedRuns([found.ref.runId])).get(found.ref.runId)?.trace;
  const trace = traced ? readTrace(traced) : null;
  return {
    run: runMessage(detail.run, found.namespace.name, {
      ...WITH_BODIES,
      named: namedSteps(detail, plan),
    }),
    steps: stepMessages(detail, plan, WITH_BODIES),
    attempts: await withHosts(
      attempts.filter((attempt) => shown.has(attempt)),
      store.reads,
    ),
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
    settings: wanted.includeSettings
      ? effectiveSettings(definition, plan, logs.offBy(found.namespace.name))
      : [],
    ...(wanted.includeDefinition ? { definition: definitionMessage(definition) } : {}),
    ...totalsOf(wanted, detail, attempts),
    traceId: trace?.traceId ?? "",
    // Without a sample, no receiver has the trace.
    traceUrl: trace?.sampled ? traceUrl(traceLink, trace.traceId) : "",
  };
}

/** `attempts` has those in progress, too, which the detail does not count. */
function totalsOf(
  wanted: GetRunRequest,
  { totals, attempts: ended }: Pick<RunDetail, "totals" | "attempts">,
  attempts: readonly Attempt[],
): Pick<MessageInitShape<typeof GetRunResponseSchema>, "attemptsTotal" | "interventionsTotal"> {
  return {
    ...(wanted.includeAttempts && totals.attempts !== null
      ? { attemptsTotal: totals.attempts + attempts.length - ended.length }
      : {}),
    ...(totals.interventions === null ? {} : { interventionsTotal: totals.interventions }),
  };
}
