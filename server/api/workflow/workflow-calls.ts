// Calls about workflows: register a version, set the default version, read versions and count the
// runs that still use them.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  GetWorkflowRequest,
  GetWorkflowResponseSchema,
  ListWorkflowsRequest,
  ListWorkflowsResponseSchema,
  RegisterWorkflowRequest,
  SetDefaultVersionRequest,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type {
  StepDurationsSchema,
  WorkflowVersionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Definition } from "../../core/definition/definition.ts";
import { itemOf, numberOf } from "../../core/model/step-key.ts";
import { workflowTextOf } from "../../definition-text/writer.ts";
import { DroverError } from "../../errors.ts";
import type { Scheduler } from "../../scheduler/scheduler.ts";
import type { AllShards, WholeStore } from "../../store/all-shards.ts";
import type { VersionRecord } from "../../store/lists.ts";
import type { Namespace } from "../../store/store.ts";
import { auditEntry, type Who } from "../calls/audit-entry.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import type { RequestCheck } from "../calls/request-check.ts";
import { pauseMessage } from "../operator/queue-calls.ts";
import { workflowPageFrom } from "../run/run-list.ts";
import { definitionMessage } from "./convert-definition.ts";
import {
  type DefinitionCheck,
  definitionOfMessage,
  definitionOfText,
} from "./definition-source.ts";
import { given } from "./definition-values.ts";
import { missingWorkflows } from "./missing-workflows.ts";
import { statisticsFields, workflowStatistics } from "./workflow-statistics.ts";

interface RegisterCallDeps {
  readonly scheduler: Pick<Scheduler, "registerWorkflow" | "setDefaultVersion">;
  readonly store: Pick<AllShards, "workflowVersion">;
  readonly namespaces: Namespaces;
  readonly check: Pick<RequestCheck, "checkDefinition">;
  /** The check of a definition beyond its structure: its expressions and schemas. */
  readonly definitionCheck: DefinitionCheck;
}

interface WorkflowListDeps {
  readonly scheduler: Pick<Scheduler, "learnedDurations">;
  readonly store: Pick<WholeStore, "lists" | "operators" | "definition" | "workflowVersion">;
  readonly namespaces: Namespaces;
}

/** Versions shown of one workflow, and of each workflow in a list. */
const VERSIONS_MAX = 1_000;
const VERSIONS_LISTED_MAX = 10;

export function createRegisterCalls(deps: RegisterCallDeps) {
  const { scheduler, namespaces } = deps;
  return Object.freeze({
    async registerWorkflow(request: RegisterWorkflowRequest, who: Who) {
      const namespace = await namespaces.find(request.namespace);
      const definition = registeredDefinition(request, deps);
      const missing = await missingWorkflows(deps.store, namespace, definition);
      // Reported with the position in the text, like all other problems of the definition.
      if (missing.length > 0)
        registeredDefinition(request, { ...deps, definitionCheck: () => missing });
      const { version, created } = await scheduler.registerWorkflow(
        namespace,
        definition,
        request.keepDefault,
        auditEntry(who, {
          action: "workflow.register",
          namespaceId: namespace.id,
          subject: ["workflow", definition.workflow],
        }),
      );
      return { name: definition.workflow, version, created };
    },

    async setDefaultVersion({ namespace: of, name, version }: SetDefaultVersionRequest, who: Who) {
      const namespace = await namespaces.find(of);
      const entry = auditEntry(who, {
        action: "workflow.default",
        namespaceId: namespace.id,
        subject: ["workflow", name],
        details: { version },
      });
      const previous = await scheduler.setDefaultVersion(namespace, name, version, entry);
      if (previous === null)
        throw notFound(`version ${version} of workflow "${name}"`, name, namespace);
      return { previousVersion: previous, version };
    },
  });
}

export function createWorkflowLists(deps: WorkflowListDeps) {
  return Object.freeze({
    getWorkflow: (request: GetWorkflowRequest) => getWorkflow(deps, request),
    listWorkflows: (request: ListWorkflowsRequest) => listWorkflows(deps, request),
  });
}

function registeredDefinition(
  { source }: RegisterWorkflowRequest,
  { check, definitionCheck }: Pick<RegisterCallDeps, "check" | "definitionCheck">,
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
  { store, scheduler, namespaces }: WorkflowListDeps,
  request: GetWorkflowRequest,
): Promise<MessageInitShape<typeof GetWorkflowResponseSchema>> {
  const { name, version: wanted, includeVersions, includeDurations } = request;
  const namespace = await namespaces.find(request.namespace);
  const [found, byDefault, pause] = await Promise.all([
    store.workflowVersion(namespace.id, name, wanted),
    store.workflowVersion(namespace.id, name, 0),
    store.lists.workflowPause({ namespaceId: namespace.id, workflow: name }),
  ]);
  if (found === null)
    throw notFound(
      wanted === 0 ? `workflow "${name}"` : `version ${wanted} of workflow "${name}"`,
      name,
      namespace,
    );
  const versions = includeVersions
    ? await store.lists.versions(namespace.id, [name], VERSIONS_MAX)
    : [];
  const definition = await store.definition(found.definitionId);
  const durations = includeDurations ? await scheduler.learnedDurations(found.definitionId) : [];
  const statistics = request.includeStatistics
    ? await statisticsFields(store, namespace.id, name)
    : {};
  const message = definitionMessage(definition);
  return {
    workflow: {
      namespace: namespace.name,
      name,
      version: found.version,
      defaultVersion: byDefault?.version ?? 0,
      createdTime: timestampFromMs(found.createdAt),
      definition: message,
      ...(pause ? { pause: pauseMessage(pause) } : {}),
    },
    versions: versions.map(versionMessage),
    durations: durations
      .map((one) => durationsMessage(definition, one))
      .sort((a, b) => a.no - b.no)
      .map(({ message }) => message),
    ...statistics,
    ...(request.includeText ? { definitionText: workflowTextOf(message) } : {}),
  };
}

function durationsMessage(
  { steps }: Definition,
  learned: Awaited<ReturnType<Scheduler["learnedDurations"]>>[number],
) {
  const { step, samples, p50Ms, p90Ms, p99Ms, slowAfterMs } = learned;
  const no = numberOf(step);
  const message: MessageInitShape<typeof StepDurationsSchema> = {
    stepId: steps[no]?.id ?? "",
    ofItems: itemOf(step) > 0,
    samples,
    p50: durationFromMs(p50Ms),
    p90: durationFromMs(p90Ms),
    p99: durationFromMs(p99Ms),
    ...(slowAfterMs === null ? {} : { slowAfter: durationFromMs(slowAfterMs) }),
  };
  return { no, message };
}

async function listWorkflows(
  { store, namespaces }: WorkflowListDeps,
  request: ListWorkflowsRequest,
): Promise<MessageInitShape<typeof ListWorkflowsResponseSchema>> {
  const namespace = await namespaces.find(request.namespace);
  const page = workflowPageFrom(request, namespace);
  const rows = await store.lists.workflows(namespace.id, page.after, page.limit + 1);
  const shown = rows.slice(0, page.limit);
  const names = request.includeVersions ? shown.map(({ name }) => name) : [];
  const versions =
    names.length === 0 ? [] : await store.lists.versions(namespace.id, names, VERSIONS_LISTED_MAX);
  const statistics = request.includeStatistics
    ? await workflowStatistics(
        store,
        namespace.id,
        shown.map(({ name }) => name),
      )
    : null;
  const workflows = shown.map((row) => ({
    name: row.name,
    defaultVersion: row.defaultVersion,
    newestVersion: row.latestVersion,
    createdTime: timestampFromMs(row.createdAt),
    versions: versions.filter(({ name }) => name === row.name).map(versionMessage),
    ...given("statistics", statistics?.get(row.name)),
  }));
  return { workflows, nextPageToken: page.nextToken(rows, (row) => row.name) };
}

function versionMessage({
  version,
  createdAt,
  openRuns,
}: VersionRecord): MessageInitShape<typeof WorkflowVersionSchema> {
  return { version, createdTime: timestampFromMs(createdAt), openRuns };
}

function notFound(what: string, name: string, namespace: Namespace): DroverError {
  return new DroverError(
    "WORKFLOW_NOT_FOUND",
    `There is no ${what} in the namespace "${namespace.name}": register it first.`,
    { metadata: { name } },
  );
}
