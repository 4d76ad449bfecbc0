// Steps that take far longer than their typical duration: the first few, so that one click leads to
// them.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Step, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import type { ListItemsRequestSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { operator, scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { placeOf } from "../../words/step-name.ts";
import type { Need } from "./needs-person.tsx";

const SHOWN_MAX = 5;
const LOOK_AGAIN_MS = 10_000;
const SUSPECTED_MS = 24 * 3_600_000;
/** The most items with agents that are read at a time. */
const ITEMS_MAX = 1_000;

interface Suspect {
  readonly runId: string;
  readonly workflow: string;
  readonly stepId: string;
  readonly since: Timestamp;
}

export function useSuspectSteps(): readonly Need[] {
  const namespace = useNamespace();
  const found = useCall(`suspect ${namespace}`, (signal) => suspectsOf(namespace, signal), {
    everyMs: LOOK_AGAIN_MS,
  });
  if (found.kind !== "loaded") return [];
  return found.value.map(({ runId, workflow, stepId, since }) => ({
    ...({ key: `suspect ${runId} ${stepId}`, tone: "warning", word: "suspect" } as const),
    text: (
      <>
        Step <b>{stepId}</b> of a run of {workflow} takes far longer than usual, since{" "}
        <Ago at={since} />.
      </>
    ),
    href: `/runs/${runId}`,
    act: "See the run",
  }));
}

/** The steps that supervisors marked as slow in the last day, if they still are. */
async function suspectsOf(namespace: string, signal: AbortSignal): Promise<readonly Suspect[]> {
  const actedAfter = timestampFromMs(Date.now() - SUSPECTED_MS);
  const { interventions } = await operator.listInterventions(
    { namespace, rules: ["slow"], actedAfter, pageSize: SHOWN_MAX },
    { signal },
  );
  const found = interventions.map(async ({ runId, stepId, workflow }) => {
    const run = { ref: { case: "runId", value: runId } } as const;
    // If the run has been deleted meanwhile, its step is no longer suspect.
    const steps = await stepsLike(stepId, { namespace, run }, signal).catch(() => []);
    const since = steps.find(({ id }) => id === stepId)?.suspectTime;
    return since === undefined ? [] : [{ runId, workflow, stepId, since }];
  });
  return (await Promise.all(found)).flat();
}

/** The steps of the run; for an item of a map, the map's items that are with agents. */
async function stepsLike(
  stepId: string,
  of: Pick<MessageInitShape<typeof ListItemsRequestSchema>, "namespace" | "run">,
  signal: AbortSignal,
): Promise<readonly Step[]> {
  const { step, item } = placeOf(stepId);
  if (item === null) return (await scheduler.getRun(of, { signal })).steps;
  const withAgents = { states: [StepState.LEASED], pageSize: ITEMS_MAX };
  return (await scheduler.listItems({ ...of, stepId: step, ...withAgents }, { signal })).items;
}
