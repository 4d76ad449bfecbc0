// Pauses all queues of the namespace at once, and resumes them.
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { Act, written } from "../../parts/act.tsx";
import { Badge } from "../../parts/badge.tsx";
import { WhyField } from "../../parts/person-fields.tsx";
import { useNamespace } from "../../shell/namespace.tsx";

const EVERY_MS = 3_000;

export function NamespacePause() {
  const namespace = useNamespace();
  const seen = useCall(
    `namespace pause ${namespace}`,
    async (signal) =>
      (await operator.getOverview({ namespace }, { signal })).namespacePause ?? null,
    { everyMs: EVERY_MS },
  );
  if (seen.kind !== "loaded") return null;
  if (seen.value === null)
    return (
      <Act
        name="Pause all queues"
        title="Pause all queues of this namespace?"
        act="Pause all"
        done={seen.again}
        onAct={async (form) => {
          await operator.pauseNamespace({ namespace, reason: written(form, "why") });
          return "All queues of the namespace are paused.";
        }}
      >
        <p>
          No task is handed out in the namespace {namespace}, also of queues that come later. What
          agents have goes on, and so do the times of steps and runs.
        </p>
        <WhyField />
      </Act>
    );
  const { reason } = seen.value;
  return (
    <>
      <Badge tone="paused" word={`all queues are paused${reason === "" ? "" : `: ${reason}`}`} />
      <Act
        name="Resume all queues"
        title="Let the namespace go on?"
        act="Resume all"
        look="main"
        done={seen.again}
        onAct={async () => {
          await operator.resumeNamespace({ namespace });
          return "The namespace goes on.";
        }}
      >
        <p>
          What waits in its queues is handed out at once; a queue that is paused by itself stays so.
        </p>
      </Act>
    </>
  );
}
