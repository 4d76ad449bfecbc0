/**
 * `drover run show`: a run with all that happened to it: its steps, every hand-out of a task, what
 * the supervisor noticed, after how long, and what it did, and what a person is asked.
 */
import {
  type Attempt,
  type Escalation,
  type Intervention,
  OutcomeKindSchema,
  type Run,
  type Step,
} from "@drover/proto/drover/v1/run_pb.ts";
import {
  type GetRunResponse,
  GetRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { TaskKindSchema } from "@drover/proto/drover/v1/task_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import {
  errorWords,
  isFinal,
  runVerdict,
  stepState,
  undoWords,
  workflowWords,
} from "../run-words.ts";
import { printTable } from "../table.ts";
import {
  between,
  clean,
  clip,
  labelWords,
  moment,
  payloadWords,
  phrase,
  timeOfDay,
} from "../words.ts";

export function addRunShow(run: Command, ended: Ended): void {
  addRunRef(run.command("show"))
    .description("show a run: steps, attempts, interventions, escalations")
    .action(async (name: string | undefined, options: RunRefOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.getRun({
        namespace,
        run: runRefOf(name, options),
        includeAttempts: true,
        includeInterventions: true,
        includeEscalations: true,
      });
      output.data(GetRunResponseSchema, answer);
      if (output.format === "table") print(answer, output);
      ended(exitCodes.done);
    });
}

function print(answer: GetRunResponse, output: Output): void {
  const { run, steps, attempts, interventions, escalations } = answer;
  if (run) printRun(run, output);
  printSection("steps", steps.length, output);
  printSteps(steps, output);
  printSection("attempts", attempts.length, output);
  printAttempts(attempts, output);
  printSection("interventions", interventions.length, output);
  printInterventions(interventions, output);
  printSection("escalations", escalations.length, output);
  for (const escalation of escalations) printEscalation(escalation, run, output);
  if (run && !isFinal(run.state)) output.note(`  next: drover run watch ${clean(run.runId)}`);
}

function printSection(title: string, count: number, output: Output): void {
  if (count > 0) output.line(`\n${output.paint("bold", title)}`);
}

function printRun(run: Run, output: Output): void {
  const took = between(run.createdTime, run.endedTime);
  const rows = [
    ["run", clean(run.runId)],
    ["state", runVerdict(run, output)],
    ["workflow", workflowWords(run)],
    ["key", clean(run.key)],
    ["labels", labelWords(run.labels)],
    ["created", moment(run.createdTime)],
    ["deadline", moment(run.deadlineTime)],
    ["ended", run.endedTime ? `${moment(run.endedTime)}, after ${took}` : ""],
    ["cancelled", clean(run.cancelReason)],
    ["input", payloadWords(run.input)],
  ];
  for (const [name, text] of rows)
    if (text) output.line(`${output.paint("dim", (name ?? "").padEnd(9))}  ${text}`);
}

const textShownMax = 100;

function printSteps(steps: readonly Step[], output: Output): void {
  const headers = ["STEP", "STATE", "UNDO", "TASK", "QUEUE", "ATTEMPT", "AGENT", "NEXT", "RESULT"];
  const rows = steps.map((step) => [
    clean(step.id),
    stepState(step, output),
    undoWords(step),
    clean(step.task),
    clean(step.queue),
    step.attempt > 0 ? String(step.attempt) : "",
    clean(step.agentId),
    timeOfDay(step.nextTime),
    clip(payloadWords(step.output) || errorWords(step.error), textShownMax),
  ]);
  printTable(output, headers, rows);
}

function printAttempts(attempts: readonly Attempt[], output: Output): void {
  const headers = [
    "STARTED",
    "STEP",
    "KIND",
    "FENCE",
    "ATTEMPT",
    "AGENT",
    "TOOK",
    "OUTCOME",
    "WHY",
  ];
  const rows = attempts.map((attempt) => [
    moment(attempt.startedTime),
    clean(attempt.stepId),
    phrase(TaskKindSchema, attempt.kind),
    String(attempt.fence),
    String(attempt.attempt),
    clean(attempt.agentId),
    between(attempt.startedTime, attempt.endedTime),
    outcomeWords(attempt),
    clip(errorWords(attempt.failure), textShownMax),
  ]);
  printTable(output, headers, rows);
}

function outcomeWords({ outcome, late, endedTime }: Attempt): string {
  if (endedTime === undefined) return "in hand";
  return `${phrase(OutcomeKindSchema, outcome)}${late ? ", too late" : ""}`;
}

function printInterventions(interventions: readonly Intervention[], output: Output): void {
  const headers = ["ACTED", "STEP", "RULE", "SAW", "NOTICED AFTER", "DID", "BY"];
  const rows = interventions.map((intervention) => [
    moment(intervention.actedTime),
    clean(intervention.stepId) || "the run",
    clean(intervention.rule),
    clean(intervention.saw),
    between(intervention.dueTime, intervention.actedTime),
    clean(intervention.did),
    `${clean(intervention.supervisor)} (partition ${intervention.partition})`,
  ]);
  printTable(output, headers, rows);
}

/** The answers of an escalation as commands of this program. */
function printEscalation(escalation: Escalation, run: Run | undefined, output: Output): void {
  const { closedTime, closedBy } = escalation;
  const where = clean(escalation.stepId) || "the run";
  const opened = `${moment(escalation.openedTime)}  ${where}  ${clean(escalation.reason)}`;
  output.line(`${opened}: ${clean(escalation.message)}`);
  if (closedTime) {
    output.line(`  closed ${moment(closedTime)} by ${clean(closedBy)}`);
    return;
  }
  output.line(`  ${output.paint("red", "open")}: a person must answer`);
  for (const answer of escalation.answers) {
    const id = clean(run?.runId ?? "");
    const way =
      answer === "cancel" ? `drover run cancel ${id} --leave --reason WHY` : clean(answer);
    output.line(`  next: ${way}`);
  }
}
