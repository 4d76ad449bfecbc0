// SchedulerService: register workflows; start, see, wait for and cancel runs. No rules here:
// requests become what the scheduler and the store understand, and their answers become messages.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type CancelRunResponseSchema,
  type GetRunRequest,
  type GetRunResponseSchema,
  type ListRunsRequest,
  type ListWorkflowsRequest,
  type RegisterWorkflowRequest,
  type ScheduleRequest as ScheduleMessage,
  type SchedulerService,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Clock } from "../clock.ts";
import type { Definition } from "../core/definition.ts";
import { DroverError } from "../errors.ts";
import type { ScheduleRequest, Scheduler } from "../scheduler/scheduler.ts";
import type { Namespace, Store } from "../store/store.ts";
import { attemptMessages } from "./convert-attempt.ts";
import { definitionMessage } from "./convert-definition.ts";
import { escalationMessage, interventionMessage, runMessage, stepMessages } from "./convert-run.ts";
import { definitionOfMessage, definitionOfText } from "./definition-source.ts";
import type { Drain } from "./drain.ts";
import type { Handlers } from "./mount.ts";
import type { Namespaces } from "./namespaces.ts";
import { payloadFrom } from "./payload.ts";
import type { RequestCheck } from "./request-check.ts";
import { requestDigest } from "./request-digest.ts";
import { runPageFrom, workflowPageFrom } from "./run-list.ts";
import { createRunLookup, type FoundRun, type RunLookup } from "./run-lookup.ts";
import { waitRun, watchRun } from "./run-watch.ts";
import { waitMs } from "./waits.ts";

export interface SchedulerServiceDeps {
  readonly scheduler: Scheduler;
  readonly store: Pick<Store, "reads" | "definition" | "workflowVersion">;
  readonly namespaces: Namespaces;
  readonly check: Pick<RequestCheck, "checkDefinition">;
  readonly drain: Drain;
  readonly clock: Clock;
}

const PRIORITY_DEFAULT = 5;
/** The newest rows of each kind that GetRun shows. */
const HISTORY_MAX = 1_000;
const WITH_BODIES = { bodies: true };
const WITHOUT_BODIES = { bodies: false };

export function createSchedulerService(
  deps: SchedulerServiceDeps,
): Handlers<typeof SchedulerService> {
  const { scheduler, namespaces } = deps;
  const runs = createRunLookup(deps.store, namespaces);
  const watching = { scheduler, runs, drain: deps.drain, clock: deps.clock };

  return Object.freeze({
    async registerWorkflow(request) {
      const namespace = await namespaces.find(request.namespace);
      const definition = registeredDefinition(request, deps.check);
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
      return await scheduler.schedule(scheduleFrom(request, namespace));
    },

    async getRun(request) {
      return await getRun(runs, await runs.find(request.namespace, request.run), request);
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

    async cancelRun(request) {
      const found = await runs.find(request.namespace, request.run);
      const undo = request.undo !== Undo.LEAVE;
      return await cancelRun(scheduler, runs, found, { undo, note: request.reason });
    },
  }) satisfies Handlers<typeof SchedulerService>;
}

function registeredDefinition(
  { source }: RegisterWorkflowRequest,
  check: Pick<RequestCheck, "checkDefinition">,
): Definition {
  switch (source.case) {
    case "definition":
      return definitionOfMessage(source.value);
    case "text":
      return definitionOfText(source.value, check);
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

function scheduleFrom(request: ScheduleMessage, namespace: Namespace): ScheduleRequest {
  return {
    namespace,
    target: targetFrom(request),
    input: payloadFrom(request.input),
    key: request.key === "" ? null : request.key,
    priority: request.priority === 0 ? PRIORITY_DEFAULT : request.priority,
    labels: { ...request.labels },
    digest: requestDigest(request),
  };
}

function targetFrom({ target }: ScheduleMessage): ScheduleRequest["target"] {
  switch (target.case) {
    case "workflow":
      return { kind: "named", name: target.value.name, version: target.value.version };
    case "definition":
      return { kind: "inline", definition: definitionOfMessage(target.value) };
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
  const plan = await runs.plan(detail.run);
  return {
    run: runMessage(detail.run, found.namespace.name, WITH_BODIES),
    steps: stepMessages(detail, plan, WITH_BODIES),
    attempts: wanted.includeAttempts ? attemptMessages(detail, plan).slice(-HISTORY_MAX) : [],
    interventions: detail.interventions
      .slice(-HISTORY_MAX)
      .map((record) => interventionMessage(record, plan, detail.attempts)),
    escalations: detail.escalations
      .slice(-HISTORY_MAX)
      .map((record) => escalationMessage(record, plan)),
  };
}

async function cancelRun(
  scheduler: Scheduler,
  runs: RunLookup,
  found: FoundRun,
  request: { readonly undo: boolean; readonly note: string },
): Promise<MessageInitShape<typeof CancelRunResponseSchema>> {
  const answer = await scheduler.cancel(found.ref, request);
  switch (answer.kind) {
    case "done":
    case "repeated": {
      const record = await runs.record(found);
      return { run: runMessage(record, found.namespace.name, WITH_BODIES) };
    }
    case "refused":
      throw new DroverError("RUN_STATE", answer.why, { metadata: { state: answer.run } });
    default:
      throw new Error(`a cancel was answered ${answer.kind}`);
  }
}
