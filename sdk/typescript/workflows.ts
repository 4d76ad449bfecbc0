/** Workflows: their versions, the runs that use them, the default version; pauses. */
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type {
  WorkflowSummary as SummaryMessage,
  WorkflowVersion as VersionMessage,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Call, CallControl } from "./call.ts";
import type { ReasonSpec } from "./commands.ts";
import { toDefinition } from "./definition.ts";
import type { PageSpec } from "./operations.ts";
import { type Pause, readPause } from "./queues.ts";
import { readTime } from "./runs.ts";
import type { WorkflowSpec } from "./workflow.ts";

export interface Registered {
  readonly name: string;
  readonly version: number;
  /** False: this content was registered before. */
  readonly created: boolean;
}

export interface WorkflowVersion {
  readonly version: number;
  readonly createdTime: Date | null;
  /** Number of open runs that started with this content; 10,000 means that many or more. */
  readonly openRuns: number;
}

export interface WorkflowDetails {
  readonly name: string;
  readonly defaultVersion: number;
  /** The version that was asked for, in YAML; `registerWorkflow` takes it. */
  readonly definitionText: string;
  /** The newest 1,000, newest first. */
  readonly versions: readonly WorkflowVersion[];
}

export interface WorkflowSummary {
  readonly name: string;
  readonly defaultVersion: number;
  readonly newestVersion: number;
  /** When the newest version was registered. */
  readonly createdTime: Date | null;
}

export interface WorkflowPage {
  /** By name. */
  readonly workflows: readonly WorkflowSummary[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface MovedDefault {
  /** The default before the call; set it again to go back. */
  readonly previousVersion: number;
  readonly version: number;
}

export interface Workflows {
  /** A definition, or its text in YAML or JSON. */
  registerWorkflow(
    definition: WorkflowSpec | string,
    options?: CallControl & { readonly keepDefault?: boolean },
  ): Promise<Registered>;
  /** `version`: of the text. Default: the default version. */
  getWorkflow(
    name: string,
    options?: CallControl & { readonly version?: number },
  ): Promise<WorkflowDetails>;
  listWorkflows(options?: PageSpec): Promise<WorkflowPage>;
  /** Runs that name no version start with this one from then on; open runs keep their version. */
  setDefaultVersion(name: string, version: number, options?: CallControl): Promise<MovedDefault>;
  /** Once this resolves, no task of its runs is handed out, in any version. */
  pauseWorkflow(name: string, options?: ReasonSpec): Promise<Pause | null>;
  resumeWorkflow(name: string, options?: CallControl): Promise<void>;
}

const rpc = SchedulerService.method;
const operator = OperatorService.method;

export function createWorkflows(call: Call, namespace: string): Workflows {
  return Object.freeze({
    async registerWorkflow(
      definition: WorkflowSpec | string,
      { keepDefault = false, signal }: CallControl & { readonly keepDefault?: boolean } = {},
    ): Promise<Registered> {
      const source =
        typeof definition === "string"
          ? { case: "text" as const, value: definition }
          : { case: "definition" as const, value: toDefinition(definition) };
      const request = { namespace, source, keepDefault };
      const answer = await call(rpc.registerWorkflow, request, { signal });
      return { name: answer.name, version: answer.version, created: answer.created };
    },

    async getWorkflow(
      name: string,
      { version = 0, signal }: CallControl & { readonly version?: number } = {},
    ): Promise<WorkflowDetails> {
      const request = { namespace, name, version, includeVersions: true, includeText: true };
      const answer = await call(rpc.getWorkflow, request, { signal });
      return {
        name,
        defaultVersion: answer.workflow?.defaultVersion ?? 0,
        definitionText: answer.definitionText,
        versions: answer.versions.map(readVersion),
      };
    },

    async listWorkflows(spec: PageSpec = {}): Promise<WorkflowPage> {
      const { pageSize = 0, pageToken = "", signal } = spec;
      const request = { namespace, pageSize, pageToken };
      const { workflows, nextPageToken } = await call(rpc.listWorkflows, request, { signal });
      return { workflows: workflows.map(readSummary), nextPageToken };
    },

    async setDefaultVersion(
      name: string,
      version: number,
      { signal }: CallControl = {},
    ): Promise<MovedDefault> {
      const answer = await call(rpc.setDefaultVersion, { namespace, name, version }, { signal });
      return { previousVersion: answer.previousVersion, version: answer.version };
    },

    async pauseWorkflow(
      workflow: string,
      { reason = "", signal }: ReasonSpec = {},
    ): Promise<Pause | null> {
      const request = { namespace, workflow, reason };
      return readPause((await call(operator.pauseWorkflow, request, { signal })).pause);
    },

    async resumeWorkflow(workflow: string, { signal }: CallControl = {}): Promise<void> {
      await call(operator.resumeWorkflow, { namespace, workflow }, { signal });
    },
  });
}

function readSummary(summary: SummaryMessage): WorkflowSummary {
  const { name, defaultVersion, newestVersion, createdTime } = summary;
  return { name, defaultVersion, newestVersion, createdTime: readTime(createdTime) };
}

function readVersion({ version, createdTime, openRuns }: VersionMessage): WorkflowVersion {
  return { version, createdTime: readTime(createdTime), openRuns };
}
