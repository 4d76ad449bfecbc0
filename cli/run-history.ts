/** The history of a run, as tables for people. */
import {
  type Attempt,
  AttemptSource,
  type Decision,
  type EffectiveSetting,
  type Intervention,
  OutcomeKindSchema,
  type ReceivedSignal,
  type RunWarning,
  SettingSourceSchema,
} from "@drover/proto/drover/v1/run_pb.ts";
import { TaskKindSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { instanceWords } from "./agent-instances.ts";
import type { Texts } from "./cut-texts.ts";
import type { Output } from "./output.ts";
import { progressWords } from "./progress-words.ts";
import { errorWords } from "./run-words.ts";
import { printTable, printTexts } from "./table.ts";
import { between, clean, phrase, statedName, timeOfDay, timeWords, wholePayload } from "./words.ts";

/**
 * On a terminal without fences, hosts and, where all attempts are of one day, the date; `-o wide`
 * has them.
 */
export function printAttempts(attempts: readonly Attempt[], texts: Texts, output: Output): void {
  const isWide = output.columns === null;
  const days = new Set(attempts.map(({ startedTime }) => timeWords(startedTime).slice(0, 10)));
  const started = isWide || days.size > 1 ? timeWords : timeOfDay;
  const headers = [
    "STARTED",
    "STEP",
    "KIND",
    "FENCE",
    "ATTEMPT",
    "AGENT",
    "INSTANCE",
    "HOST",
    "TOOK",
    "PROGRESS",
    "OUTCOME",
    "WHY",
  ];
  const rows = attempts.map((attempt) => [
    started(attempt.startedTime),
    clean(attempt.stepId),
    phrase(TaskKindSchema, attempt.kind),
    isWide ? String(attempt.fence) : "",
    String(attempt.attempt),
    whoEnded(attempt),
    instanceWords(attempt.session),
    isWide ? clean(attempt.host) : "",
    between(attempt.startedTime, attempt.endedTime),
    progressWords(attempt.progress),
    outcomeWords(attempt),
    texts.error(errorWords(attempt.failure)),
  ]);
  printTexts(output, headers, rows);
}

/** An answer is named by the person who gave it, or by its signal. */
function whoEnded({ agentId, source }: Attempt): string {
  if (source === AttemptSource.ENGINE) return "the engine";
  return source === AttemptSource.ANSWER ? `${clean(agentId)} (no agent)` : clean(agentId);
}

function outcomeWords({ outcome, late, endedTime }: Attempt): string {
  if (endedTime === undefined) return "in progress";
  return `${phrase(OutcomeKindSchema, outcome)}${late ? ", too late" : ""}`;
}

/** Failures after which the run continued. */
export function printWarnings(warnings: readonly RunWarning[], output: Output): void {
  const rows = warnings.map(({ stepId, code, message }) => [
    clean(stepId),
    errorWords({ code, message }),
  ]);
  printTexts(output, ["STEP", "WARNING"], rows);
}

export function printInterventions(interventions: readonly Intervention[], output: Output): void {
  const headers = ["TIME", "STEP", "RULE", "OBSERVED", "LATENESS", "ACTION", "BY"];
  const rows = interventions.map((intervention) => [
    timeWords(intervention.actedTime),
    clean(intervention.stepId) || "the run",
    clean(intervention.rule),
    clean(intervention.saw),
    between(intervention.dueTime, intervention.actedTime),
    clean(intervention.did),
    whoActed(intervention),
  ]);
  printTable(output, headers, rows);
}

/** Some interventions are reports of the agent itself, without a supervisor. */
function whoActed({ supervisor, partition }: Intervention): string {
  return `${clean(supervisor) || "its agent"} (partition ${partition})`;
}

export function printSignals(
  signals: readonly ReceivedSignal[],
  texts: Texts,
  output: Output,
): void {
  const rows = signals.map((signal) => [
    timeWords(signal.receivedTime),
    clean(signal.name),
    clean(signal.signalId),
    clean(signal.takenBy) || "-",
    texts.text(wholePayload(signal.payload)),
  ]);
  printTable(output, ["RECEIVED", "SIGNAL", "ID", "TAKEN BY", "PAYLOAD"], rows);
}

export function printDecisions(decisions: readonly Decision[], texts: Texts, output: Output): void {
  const rows = decisions.map((decision) => [
    timeWords(decision.decidedTime),
    clean(decision.stepId),
    statedName(decision.approver, decision.approverVerified),
    decision.approved ? "approved" : "rejected",
    texts.text(clean(decision.comment)),
    texts.text(wholePayload(decision.form)),
  ]);
  printTable(output, ["DECIDED", "STEP", "APPROVER", "DECISION", "COMMENT", "FORM"], rows);
}

export function printSettings(
  settings: readonly EffectiveSetting[],
  texts: Texts,
  output: Output,
): void {
  const rows = settings.map(({ stepId, field, value, source }) => [
    clean(stepId) || "the run",
    clean(field),
    texts.text(clean(value)),
    phrase(SettingSourceSchema, source),
  ]);
  printTable(output, ["STEP", "SETTING", "VALUE", "FROM"], rows);
}
