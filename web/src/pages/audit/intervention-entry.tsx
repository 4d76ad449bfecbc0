// One intervention in whole sentences, as it is meant to be read in full.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Intervention } from "@drover/proto/drover/v1/run_pb.ts";
import { Link } from "wouter";
import { Badge } from "../../parts/badge.tsx";
import { ForeignMessage } from "../../parts/foreign-message.tsx";
import { Ago } from "../../parts/time.tsx";
import { ruleTone, ruleWords } from "../../words/rule-words.ts";
import { durationWords, exactTime } from "../../words/time-words.ts";

export function InterventionEntry({ of }: { readonly of: Intervention }) {
  const { rule, runId, stepId, workflow, saw, did, dueTime, actedTime, attempt } = of;
  const dueMs = dueTime ? timestampMs(dueTime) : null;
  const actedMs = actedTime ? timestampMs(actedTime) : null;
  const late = dueMs != null && actedMs != null ? Math.max(0, actedMs - dueMs) : null;
  return (
    <li className="audit-entry">
      <div className="audit-head">
        <Badge tone={ruleTone(rule)} word={ruleWords(rule)} />
        <Link href={`/runs/${runId}`}>
          {stepId || "the run"} of {workflow}
          {attempt > 0 ? `, attempt ${attempt}` : ""}
        </Link>
        <code className="dim">{rule}</code>
        <span className="audit-when">
          <Ago at={actedTime} />
        </span>
      </div>
      <dl className="audit-words">
        <div>
          <dt>Observed</dt>
          <dd>
            <ForeignMessage text={saw} />
          </dd>
        </div>
        <div>
          <dt>Action</dt>
          <dd>
            <ForeignMessage text={did} />
          </dd>
        </div>
        <div>
          <dt>Due</dt>
          <dd className="number">{dueMs == null ? "–" : exactTime(dueMs)}</dd>
        </div>
        <div>
          <dt>Done</dt>
          <dd className="number">
            {actedMs == null ? "–" : exactTime(actedMs)}
            {late === null ? "" : `, ${durationWords(late)} after it was due`}
          </dd>
        </div>
      </dl>
    </li>
  );
}
