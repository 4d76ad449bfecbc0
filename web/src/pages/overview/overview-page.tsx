// The first page: what needs attention, each with a link to where it is resolved; then how recent
// runs ended. Live.
import type { WatchOverviewResponse } from "@drover/proto/drover/v1/overview_pb.ts";
import { operator } from "../../calls/clients.ts";
import { newestOf, useLive } from "../../calls/use-live.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { LoadingState, ProblemState } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { ActivityPanels } from "./activity-panels.tsx";
import { FailingNow } from "./failing-now.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { NeedsPerson } from "./needs-person.tsx";
import "./overview.css";

export function OverviewPage() {
  const namespace = useNamespace();
  const live = useLive(namespace, (last: WatchOverviewResponse | null, signal) =>
    operator.watchOverview({ namespace, after: last?.cursor ?? "" }, { signal }),
  );
  const seen = newestOf(live);
  return (
    <>
      <PageHead title="Overview" beside={<LiveMark live={live.kind === "live"} />} />
      {live.kind === "failed" && seen === null ? (
        <ProblemState problem={live.problem} what="the overview" />
      ) : seen === null ? (
        <LoadingState what="the overview" />
      ) : (
        <>
          {seen.overview === undefined ? null : (
            <NeedsPerson of={seen.overview} activity={seen.activity} />
          )}
          <FirstSteps>
            {seen.activity === undefined ? null : (
              <>
                <FailingNow of={seen.activity} />
                <ActivityPanels of={seen.activity} />
              </>
            )}
          </FirstSteps>
        </>
      )}
    </>
  );
}

function LiveMark({ live }: { readonly live: boolean }) {
  return (
    <span className="live-mark" data-live={live}>
      {live ? "live" : "not live"}
    </span>
  );
}
