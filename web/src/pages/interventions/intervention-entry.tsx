// One intervention in one line, which opens to whole sentences.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Intervention } from "@drover/proto/drover/v1/run_pb.ts";
import { Link } from "wouter";
import { Badge } from "../../parts/badge.tsx";
import { Entry } from "../../parts/entry.tsx";
import { Facts } from "../../parts/panel.tsx";
import { ruleTone, ruleWords } from "../../words/rule-words.ts";
import { durationWords, exactTime } from "../../words/time-words.ts";

export function InterventionEntry({ of }: { readonly of: Intervention }) {
  const { rule, runId, stepId, workflow, saw, did, dueTime, actedTime, attempt } = of;
  const dueMs = dueTime ? timestampMs(dueTime) : null;
  const actedMs = actedTime ? timestampMs(actedTime) : null;
  const late = dueMs != null && actedMs != null ? Math.max(0, actedMs - dueMs) : null;
  const lateness = late === null ? "" : `, ${durationWords(late)} after it was due`;
  return (
    <Entry
      at={actedTime}
      head={
        <>
          <Badge tone={ruleTone(rule)} word={ruleWords(rule)} />
          <Link href={`/runs/${runId}`}>
            {stepId || "the run"} of {workflow}
            {attempt > 0 ? `, attempt ${attempt}` : ""}
          </Link>
        </>
      }
      summary={did}
    >
      <Facts
        of={[
          ["Observed", saw],
          ["Action", did],
          ["Due", dueMs === null ? "" : exactTime(dueMs)],
          ["Done", actedMs === null ? "" : `${exactTime(actedMs)}${lateness}`],
          ["Rule", <code key="rule">{rule}</code>],
        ]}
      />
    </Entry>
  );
}
