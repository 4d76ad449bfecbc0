/** Versions of workflows: which are there, who still needs them, and which is the default. */

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { WorkflowVersion as VersionMessage } from "@drover/proto/drover/v1/workflow_pb.ts";
import type { Call, CallControl } from "./call.ts";

export interface WorkflowVersion {
  readonly version: number;
  readonly createdTime: Date | null;
  /** Open runs that started with this content; 10,000 means that many or more. */
  readonly openRuns: number;
}

export interface WorkflowDetails {
  readonly name: string;
  readonly defaultVersion: number;
  /** The newest 1,000, newest first. */
  readonly versions: readonly WorkflowVersion[];
}

export interface MovedDefault {
  /** The default before: name it to move back. */
  readonly previousVersion: number;
  readonly version: number;
}

export interface Workflows {
  getWorkflow(name: string, options?: CallControl): Promise<WorkflowDetails>;
  /** Runs that name no version start with this one from then on; open runs keep theirs. */
  setDefaultVersion(name: string, version: number, options?: CallControl): Promise<MovedDefault>;
}

const rpc = SchedulerService.method;

export function createWorkflows(call: Call, namespace: string): Workflows {
  return Object.freeze({
    async getWorkflow(name: string, { signal }: CallControl = {}): Promise<WorkflowDetails> {
      const request = { namespace, name, includeVersions: true };
      const { workflow, versions } = await call(rpc.getWorkflow, request, { signal });
      return {
        name,
        defaultVersion: workflow?.defaultVersion ?? 0,
        versions: versions.map(readVersion),
      };
    },

    async setDefaultVersion(
      name: string,
      version: number,
      { signal }: CallControl = {},
    ): Promise<MovedDefault> {
      const answer = await call(rpc.setDefaultVersion, { namespace, name, version }, { signal });
      return { previousVersion: answer.previousVersion, version: answer.version };
    },
  });
}

function readVersion({ version, createdTime, openRuns }: VersionMessage): WorkflowVersion {
  return { version, createdTime: createdTime ? timestampDate(createdTime) : null, openRuns };
}
