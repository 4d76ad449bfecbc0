// SchedulerService: register workflows; start, see and wait for runs, and say something to them. No
// rules here: requests become what the scheduler and the store understand, and their answers become
// messages.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  GetRunRequest,
  GetRunResponseSchema,
  ListRunsRequest,
  ListWorkflowsRequest,
  RegisterWorkflowRequest,
  ScheduleRequest as ScheduleMessage,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Clock } from "../clock.ts";
import type { Definition } from "../core/definition.ts";
import { planOf } from "../core/plan.ts";
import { DroverError } from "../errors.ts";
import type { ScheduleRequest, Scheduler } from "../scheduler/scheduler.ts";
import type { Namespace, Store } from "../store/store.ts";
import { attemptMessages } from "./convert-attempt.ts";
import { definitionMessage } from "./convert-definition.ts";
import { explainMessage } from "./convert-explanation.ts";
import {
  decisionMessage,
  escalationMessage,
  interventionMessage,
  signalMessage,
} from "./convert-history.ts";
import { runMessage, stepMessages } from "./convert-run.ts";
import {
  type DefinitionCheck,
  definitionOfMessage,
  definitionOfText,
} from "./definition-source.ts";
import type { Drain } from "./drain.ts";
import { effectiveSettings } from "./effective-settings.ts";
import type { Handlers } from "./mount.ts";
import type { Namespaces } from "./namespaces.ts";
import { payloadFrom } from "./payload.ts";
import type { RequestCheck } from "./request-check.ts";
import { requestDigest } from "./request-digest.ts";
import { createRunCommands } from "./run-commands.ts";
import { runPageFrom, workflowPageFrom } from "./run-list.ts";
import { createRunLookup, type FoundRun, type RunLookup } from "./run-lookup.ts";
import { waitRun, watchRun } from "./run-watch.ts";
import { waitMs } from "./waits.ts";

export interface SchedulerServiceDeps {
  readonly scheduler: Scheduler;
  readonly store: Pick<Store, "reads" | "definition" | "workflowVersion">;
  readonly namespaces: Namespaces;
  readonly check: Pick<RequestCheck, "checkDefinition">;
  /** What is checked of a definition beyond its structure: its expressions and schemas. */
  readonly definitionCheck: DefinitionCheck;
  readonly drain: Drain;
  readonly clock: Clock;
}

const PRIORITY_DEFAULT = 5;
/** The newest rows of each kind that GetRun shows. */
const HISTORY_MAX = 1_000;
const EXPLAINED_BY = { attempts: true, interventions: false, escalations: true };
const WITH_BODIES = { bodies: true };
const WITHOUT_BODIES = { bodies: false };

export function createSchedulerService(
  deps: SchedulerServiceDeps,
): Handlers<typeof SchedulerService> {
  const { scheduler, namespaces } = deps;
  const runs = createRunLookup(deps.store, namespaces);
  const commands = createRunCommands({ scheduler, namespaces, runs });
  const watching = { scheduler, runs, drain: deps.drain, clock: deps.clock };

  return Object.freeze({
    async registerWorkflow(request) {
      const namespace = await namespaces.find(request.namespace);
      const definition = registeredDefinition(request, deps);
      const { version, created } = await scheduler.registerWorkflow(
        namespace,
        definition,
        request.keepDefault,
      );
      return { name: definition.workflow, version, created };
    },

    getWorkflow: (request) => getWorkflow(deps, request.namespace, request.name, request.version),

    listWorkflows: (request) => listWorkflows(deps, request),

    async schedule(request) {
      const namespace = await namespaces.find(request.namespace);
      return await scheduler.schedule(scheduleFrom(request, namespace, deps.definitionCheck));
    },

    async getRun(request) {
      return await getRun(runs, await runs.find(request.namespace, request.run), request);
    },

    async explainRun(request) {
      const found = await runs.find(request.namespace, request.run);
      // What agents let hear of themselves is the newest: a moment may not be after the look.
      const detail = await runs.detail(found, EXPLAINED_BY);
      const signs = await deps.store.reads.runSigns(found.ref.runId);
      return explainMessage(await runs.plan(detail.run), detail, signs, found.namespace.name);
    },

    listRuns: (request) => listRuns(deps, request),

    async *watchRun(request, { signal }) {
      const found = await runs.find(request.namespace, request.run);
      yield* watchRun(watching, found, request.afterVersion, signal);
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

    ...commands,
  }) satisfies Handlers<typeof SchedulerService>;
}

function registeredDefinition(
  { source }: RegisterWorkflowRequest,
  { check, definitionCheck }: Pick<SchedulerServiceDeps, "check" | "definitionCheck">,
): Definition {
  switch (source.case) {
    case "definition":
      return definitionOfMessage(source.value, definitionCheck);
    case "text":
      return definitionOfText(source.value, check, definitionCheck);
    default:
      throw new Error("a request without a definition has passed the rules");
  }
}

async function getWorkflow(
  { store, namespaces }: SchedulerServiceDeps,
  namespaceName: string,
  name: string,
  wanted: number,
) {
  const namespace = await namespaces.find(namespaceName);
  const [found, byDefault] = await Promise.all([
    store.workflowVersion(namespace.id, name, wanted),
    store.workflowVersion(namespace.id, name, 0),
  ]);
  const what = wanted === 0 ? `workflow "${name}"` : `version ${wanted} of workflow "${name}"`;
  if (found === null)
    throw new DroverError(
      "WORKFLOW_NOT_FOUND",
      `There is no ${what} in the namespace "${namespace.name}": register it first.`,
      { metadata: { name } },
    );
  return {
    workflow: {
      namespace: namespace.name,
      name,
      version: found.version,
      defaultVersion: byDefault?.version ?? 0,
      createdTime: timestampFromMs(found.createdAt),
      definition: definitionMessage(await store.definition(found.definitionId)),
    },
  };
}

function scheduleFrom(
  request: ScheduleMessage,
  namespace: Namespace,
  check: DefinitionCheck,
): ScheduleRequest {
  return {
    namespace,
    target: targetFrom(request, check),
    input: payloadFrom(request.input),
    key: request.key === "" ? null : request.key,
    priority: request.priority === 0 ? PRIORITY_DEFAULT : request.priority,
    labels: { ...request.labels },
    digest: requestDigest(request),
  };
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

async function listWorkflows(
  { store, namespaces }: SchedulerServiceDeps,
  request: ListWorkflowsRequest,
) {
  const namespace = await namespaces.find(request.namespace);
  const page = workflowPageFrom(request, namespace);
  const rows = await store.reads.listWorkflows(namespace.id, page.after, page.limit + 1);
  const workflows = rows.slice(0, page.limit).map((row) => ({
    name: row.name,
    defaultVersion: row.defaultVersion,
    newestVersion: row.latestVersion,
    createdTime: timestampFromMs(row.createdAt),
  }));
  return { workflows, nextPageToken: page.nextToken(rows, (row) => row.name) };
}

async function listRuns({ store, namespaces }: SchedulerServiceDeps, request: ListRunsRequest) {
  const namespace = await namespaces.find(request.namespace);
  const page = runPageFrom(request, namespace);
  const rows =
    page.query === null
      ? []
      : await store.reads.listRuns(namespace.id, { ...page.query, limit: page.limit + 1 });
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
    run: runMessage(detail.run, found.namespace.name, WITH_BODIES),
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
    settings: wanted.includeSettings ? effectiveSettings(definition, plan) : [],
  };
}
