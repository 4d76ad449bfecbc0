/** Reading runs: one with its history, lists, the items of a map, an explanation. */
import { StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { RunOrder, SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Call, CallControl } from "./call.ts";
import { type RunExplanation, readExplanation } from "./explanation.ts";
import { type RunFilterSpec, toFilter } from "./run-filter.ts";
import {
  type Attempt,
  type Decision,
  type Escalation,
  type Intervention,
  type ReceivedSignal,
  type RunWarning,
  readAttempt,
  readDecision,
  readEscalation,
  readIntervention,
  readSetting,
  readSignal,
  readWarning,
  type Setting,
} from "./run-history.ts";
import { type RunName, toRef } from "./run-name.ts";
import { readSnapshot } from "./run-watch.ts";
import { type Run, readRun, readStep, type Step } from "./runs.ts";

/** What to return beside the run and its steps. Default: nothing. */
export interface GetRunSpec extends CallControl {
  readonly attempts?: boolean;
  readonly interventions?: boolean;
  readonly escalations?: boolean;
  readonly signals?: boolean;
  readonly decisions?: boolean;
  /** Every setting with its effective value and the source of that value. */
  readonly settings?: boolean;
}

export interface RunDetails {
  readonly run: Run;
  readonly steps: readonly Step[];
  /** `run.warnings` is their number. */
  readonly warnings: readonly RunWarning[];
  readonly attempts: readonly Attempt[];
  readonly interventions: readonly Intervention[];
  readonly escalations: readonly Escalation[];
  readonly signals: readonly ReceivedSignal[];
  readonly decisions: readonly Decision[];
  readonly settings: readonly Setting[];
}

export interface ListRunsSpec extends CallControl, RunFilterSpec {
  /** Default: newest first. */
  readonly order?: "newest-first" | "oldest-first";
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ListItemsSpec extends CallControl {
  /** Items in one of the states. Empty: all. A page may then have fewer items than its size. */
  readonly states?: readonly Exclude<keyof typeof StepState, "UNSPECIFIED">[];
  /** Default 50, at most 1,000. */
  readonly pageSize?: number;
  readonly pageToken?: string;
}

export interface ItemPage {
  readonly items: readonly Step[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface RunPage {
  readonly runs: readonly Run[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
}

export interface RunQueries {
  getRun(run: RunName, options?: GetRunSpec): Promise<RunDetails>;
  listRuns(options?: ListRunsSpec): Promise<RunPage>;
  /** The items of a map that have started, in the order of its list, each as a step. */
  listItems(run: RunName, map: string, options?: ListItemsSpec): Promise<ItemPage>;
  /** Why the run is not moving, what happens next, and what a person can do. */
  explainRun(run: RunName, options?: CallControl): Promise<RunExplanation>;
}

const rpc = SchedulerService.method;

export function createRunQueries(call: Call, namespace: string): RunQueries {
  return Object.freeze({
    async getRun(name: RunName, spec: GetRunSpec = {}): Promise<RunDetails> {
      const request = {
        namespace,
        run: toRef(name),
        includeAttempts: spec.attempts ?? false,
        includeInterventions: spec.interventions ?? false,
        includeEscalations: spec.escalations ?? false,
        includeSignals: spec.signals ?? false,
        includeDecisions: spec.decisions ?? false,
        includeSettings: spec.settings ?? false,
      };
      const answer = await call(rpc.getRun, request, { signal: spec.signal });
      return {
        ...readSnapshot(answer),
        warnings: answer.warnings.map(readWarning),
        attempts: answer.attempts.map(readAttempt),
        interventions: answer.interventions.map(readIntervention),
        escalations: answer.escalations.map(readEscalation),
        signals: answer.signals.map(readSignal),
        decisions: answer.decisions.map(readDecision),
        settings: answer.settings.map(readSetting),
      };
    },

    async listRuns(spec: ListRunsSpec = {}): Promise<RunPage> {
      const request = {
        namespace,
        filter: toFilter(spec),
        order: spec.order === "oldest-first" ? RunOrder.CREATED_ASC : RunOrder.CREATED_DESC,
        pageSize: spec.pageSize ?? 0,
        pageToken: spec.pageToken ?? "",
      };
      const answer = await call(rpc.listRuns, request, { signal: spec.signal });
      return { runs: answer.runs.map(readRun), nextPageToken: answer.nextPageToken };
    },

    async listItems(
      name: RunName,
      stepId: string,
      { states = [], pageSize = 0, pageToken = "", signal }: ListItemsSpec = {},
    ): Promise<ItemPage> {
      const page = { states: states.map((state) => StepState[state]), pageSize, pageToken };
      const request = { namespace, run: toRef(name), stepId, ...page };
      const { items, nextPageToken } = await call(rpc.listItems, request, { signal });
      return { items: items.map(readStep), nextPageToken };
    },

    async explainRun(name: RunName, { signal }: CallControl = {}): Promise<RunExplanation> {
      const request = { namespace, run: toRef(name) };
      return readExplanation(await call(rpc.explainRun, request, { signal }));
    },
  });
}
