/** Selects runs: all conditions that are set must match. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { RunState, RunSubstate } from "@drover/proto/drover/v1/run_pb.ts";
import type { RunFilterSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";

export interface RunFilterSpec {
  readonly states?: readonly Exclude<keyof typeof RunState, "UNSPECIFIED">[];
  /** Open runs with a step that does or waits for one of these. */
  readonly substates?: readonly Exclude<keyof typeof RunSubstate, "UNSPECIFIED">[];
  readonly workflow?: string;
  /** Runs that a step of this run started. */
  readonly parentRunId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  /** Conditions as text, such as `state:failed error:sold-out`; RunFilter.query in the contract. */
  readonly query?: string;
}

export function toFilter(spec: RunFilterSpec): MessageInitShape<typeof RunFilterSchema> {
  return {
    states: (spec.states ?? []).map((state) => RunState[state]),
    substates: (spec.substates ?? []).map((substate) => RunSubstate[substate]),
    workflow: spec.workflow ?? "",
    parentRunId: spec.parentRunId ?? "",
    labels: { ...spec.labels },
    query: spec.query ?? "",
    ...(spec.createdAfter && { createdAfter: timestampFromDate(spec.createdAfter) }),
    ...(spec.createdBefore && { createdBefore: timestampFromDate(spec.createdBefore) }),
  };
}
