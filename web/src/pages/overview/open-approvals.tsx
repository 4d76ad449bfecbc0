// Open approvals: those of the oldest runs one by one, of the others only the number of runs.
import type { Approval } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Activity } from "@drover/proto/drover/v1/overview_pb.ts";
import { RunSubstate } from "@drover/proto/drover/v1/run_pb.ts";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { approverWords } from "../../words/approval-words.ts";
import { counted } from "../../words/counts.ts";
import type { Need } from "./needs-person.tsx";

const SHOWN_MAX = 3;
const LOOK_AGAIN_MS = 10_000;

export function useOpenApprovals(activity: Activity | undefined): readonly Need[] {
  const namespace = useNamespace();
  const of = activity?.substates.find(
    ({ substate }) => substate === RunSubstate.WAITING_FOR_APPROVAL,
  );
  const runs = of?.runs ?? 0;
  const found = useCall(
    runs === 0 ? null : `open approvals ${namespace} ${runs}`,
    (signal) => operator.listApprovals({ namespace, pageSize: SHOWN_MAX }, { signal }),
    { everyMs: LOOK_AGAIN_MS },
  );
  const shown =
    found.kind === "loaded" && runs > 0 ? found.value.approvals.slice(0, SHOWN_MAX) : [];
  const rest = runs - new Set(shown.map(({ runId }) => runId)).size;
  return [...shown.map(needOf), ...restOf(rest, shown.length > 0, of?.moreRuns ?? false)];
}

function needOf(approval: Approval): Need {
  const { runId, stepId, workflow, sinceTime } = approval;
  return {
    key: `approval ${runId} ${stepId}`,
    tone: "warning",
    word: "approval",
    text: (
      <>
        <Link href={`/runs/${runId}`}>
          <b>{stepId}</b> of {workflow}
        </Link>{" "}
        waits for approval by {approverWords(approval)} since <Ago at={sinceTime} />.
      </>
    ),
    href: "/approvals?for=",
    act: "Decide",
  };
}

function restOf(runs: number, isMore: boolean, moreRuns: boolean): readonly Need[] {
  if (runs <= 0) return [];
  const many = `${counted(runs, isMore ? "more run" : "run")}${moreRuns ? " or more" : ""}`;
  return [
    {
      key: "approvals",
      tone: "warning",
      word: "approvals",
      text: `${many} to approve or reject.`,
      href: "/approvals?for=",
      act: "Decide",
    },
  ];
}
