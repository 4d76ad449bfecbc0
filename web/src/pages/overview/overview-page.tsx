// The first thing a person sees: what needs one.
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";

export function OverviewPage() {
  const namespace = useNamespace();
  const overview = useCall(`overview ${namespace}`, (signal) =>
    operator.getOverview({ namespace }, { signal }),
  );
  return (
    <>
      <PageHead title="Overview" />
      <Shown of={overview} what="the overview">
        {(seen) => (
          <Panel title="What needs a person">
            <Facts
              of={[
                ["Open escalations", seen.openEscalations],
                ["Tasks that nobody asks for", seen.unservedTasks.length],
                ["Open circuits", seen.openCircuits.length],
              ]}
            />
          </Panel>
        )}
      </Shown>
    </>
  );
}
