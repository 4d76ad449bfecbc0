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
          No task is handed out in the namespace {namespace}, including queues that are created
          later. Agents finish the tasks that they have. The timeouts of steps and runs continue.
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
        title="Resume the namespace?"
        act="Resume all"
        variant="main"
        done={seen.again}
        onAct={async () => {
          await operator.resumeNamespace({ namespace });
          return "The namespace is resumed.";
        }}
      >
        <p>Waiting tasks are handed out at once. A queue that was paused by itself stays paused.</p>
      </Act>
    </>
  );
}
