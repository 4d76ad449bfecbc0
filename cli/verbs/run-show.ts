/**
 * `drover run show`: a run with its whole history: its steps, every attempt, interventions of
 * supervisors with their delays, signals and decisions, and escalations.
 */
import {
  ConcurrencyPolicySchema,
  type Escalation,
  type Run,
  RunState,
  type Step,
  StepKind,
  StepKindSchema,
  StepState,
  WaitingOn,
} from "@drover/proto/drover/v1/run_pb.ts";
import {
  type GetRunResponse,
  GetRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { cutTexts, type Texts } from "../cut-texts.ts";
import { closedWords, escalationName, resolveCommand, subjectWords } from "../escalation-words.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import {
  printAttempts,
  printDecisions,
  printInterventions,
  printSettings,
  printSignals,
  printWarnings,
} from "../run-history.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import {
  errorWords,
  isFinal,
  mannerWords,
  runOutcome,
  runStatus,
  stepState,
  undoWords,
  workflowWords,
} from "../run-words.ts";
import { printPairs, printTexts } from "../table.ts";
import {
  between,
  clean,
  labelWords,
  phrase,
  timeOfDay,
  timeWords,
  wholePayload,
} from "../words.ts";

interface ShowOptions extends RunRefOptions {
  readonly settings?: boolean;
  readonly full?: boolean;
}

export function addRunShow(run: Command, ended: Ended): void {
  addRunRef(run.command("show"))
    .description("show a run: steps, attempts, interventions, signals, decisions, escalations")
    .option("--settings", "include every setting with its effective value and its source")
    .option("--full", "print long messages, inputs and outputs in full, as -o wide")
    .action(async (name: string | undefined, options: ShowOptions, command: Command) => {
      const { output, connect } = contextOf(command, options);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.getRun({
        namespace,
        run: runRefOf(name, options),
        includeAttempts: true,
        includeInterventions: true,
        includeEscalations: true,
        includeSignals: true,
        includeDecisions: true,
        includeSettings: options.settings ?? false,
      });
      output.data(GetRunResponseSchema, answer);
      if (output.format === "table") print(answer, cutTexts(output), output);
      ended(exitCodes.done);
    });
}

function print(answer: GetRunResponse, texts: Texts, output: Output): void {
  const { run, steps, attempts, interventions, signals, decisions, settings } = answer;
  if (run) printRun(run, answer.traceUrl || answer.traceId, texts, output);
  printSection("steps", steps.length, output);
  printSteps(steps, texts, output);
  printSection("warnings", answer.warnings.length, output);
  printWarnings(answer.warnings, output);
  printSection("attempts", attempts.length, output);
  printAttempts(attempts, texts, output);
  printSection("interventions", interventions.length, output);
  printInterventions(interventions, output);
  printSection("signals", signals.length, output);
  printSignals(signals, texts, output);
  printSection("decisions", decisions.length, output);
  printDecisions(decisions, texts, output);
  printSection("settings", settings.length, output);
  printSettings(settings, texts, output);
  printSection("escalations", answer.escalations.length, output);
  for (const escalation of answer.escalations) printEscalation(escalation, output);
  if (!run) return;
  if (texts.cut) output.next(`drover run show ${clean(run.runId)} --full`);
  for (const command of nextCommands(run, steps)) output.next(command);
}

/**
 * What the run waits for comes first; items are listed separately; a run that has not ended can be
 * watched.
 */
function nextCommands(run: Run, steps: readonly Step[]): readonly string[] {
  const id = clean(run.runId);
  const maps = steps.flatMap(({ id: step, items }) => {
    const failed = items && items.failed > 0 ? " --state failed" : "";
    return items ? [`drover run items ${id} ${clean(step)}${failed}`] : [];
  });
  if (isFinal(run.state)) return maps;
  const waiting = (on: WaitingOn) =>
    steps.find(({ state, waitingOn }) => state === StepState.WAITING && waitingOn === on);
  const approval = waiting(WaitingOn.APPROVAL);
  const name = waiting(WaitingOn.SIGNAL)?.signalName;
  const children = steps.filter(({ waitingOn, childRunId }) => {
    return (
      childRunId !== "" && (waitingOn === WaitingOn.CHILD || waitingOn === WaitingOn.CHILD_END)
    );
  });
  return [
    ...children.map(({ childRunId }) => `drover run show ${clean(childRunId)}`).slice(0, 1),
    ...(approval ? [`drover run decide ${id} ${clean(approval.id)} --approve --by NAME`] : []),
    ...(name ? [`drover run signal ${id} ${clean(name)}`] : []),
    ...maps,
    ...(run.state === RunState.PAUSED ? [`drover run resume ${id}`] : []),
    `drover run watch ${id}`,
  ];
}

function printSection(title: string, count: number, output: Output): void {
  if (count > 0) output.line(`\n${output.paint("bold", title)}`);
}

/** `trace`: its address, or its id. */
function printRun(run: Run, trace: string, texts: Texts, output: Output): void {
  const took = between(run.createdTime, run.endedTime);
  printPairs(output, [
    ["run", clean(run.runId)],
    ["state", run.summary === "" ? runStatus(run, output) : runOutcome(run, output)],
    ["outcome", clean(run.summary)],
    ["workflow", workflowWords(run)],
    ["key", clean(run.key)],
    ["parent", parentWords(run)],
    ["labels", labelWords(run.labels)],
    ["created", timeWords(run.createdTime)],
    ["starts", timeWords(run.startTime)],
    ["permits", permitWords(run)],
    ["deadline", timeWords(run.deadlineTime)],
    ["ended", run.endedTime ? `${timeWords(run.endedTime)}, after ${took}` : ""],
    ["cancelled", clean(run.cancelReason)],
    ["trace", clean(trace)],
    ["input", texts.payload(wholePayload(run.input))],
  ]);
}

/** `of customer-17: 2 at a time, else queue` */
function permitWords({ concurrency }: Run): string {
  if (concurrency === undefined) return "";
  const { key, limit, policy } = concurrency;
  return `of ${clean(key)}: ${limit} at a time, else ${phrase(ConcurrencyPolicySchema, policy)}`;
}

export function printSteps(steps: readonly Step[], texts: Texts, output: Output): void {
  const headers = [
    "STEP",
    "KIND",
    "STATE",
    "UNDO",
    "TASK",
    "QUEUE",
    "ATTEMPT",
    "AGENT",
    "NEXT",
    "HOW",
    "RESULT",
  ];
  const rows = steps.map((step) => [
    clean(step.id),
    kindWords(step),
    stepState(step, output),
    undoWords(step),
    clean(step.task),
    clean(step.queue),
    step.attempt > 0 ? String(step.attempt) : "",
    clean(step.agentId),
    step.state === StepState.WAITING ? "" : timeOfDay(step.nextTime),
    mannerWords(step).join(", "),
    texts.text(wholePayload(step.output)) || texts.error(errorWords(step.error)),
  ]);
  printTexts(output, headers, rows);
}

/** The run and the step that started this run. */
function parentWords({ parent }: Run): string {
  return parent ? `${clean(parent.runId)}, step ${clean(parent.stepId)}` : "";
}

/** Tasks are shown by their name alone. */
function kindWords({ kind }: Step): string {
  if (kind === StepKind.UNSPECIFIED || kind === StepKind.TASK) return "";
  return phrase(StepKindSchema, kind);
}

/** The question, the command that answers it, and the alternative that is always possible. */
function printEscalation(escalation: Escalation, output: Output): void {
  const { closedTime, answers } = escalation;
  const { again } = output;
  const opened = `${timeWords(escalation.openedTime)}  ${subjectWords(escalation)}`;
  output.line(`${opened}  ${clean(escalation.reason)}: ${clean(escalation.message)}`);
  if (closedTime) {
    output.line(`  closed ${closedWords(escalation)}`);
    return;
  }
  output.line(`  ${output.paint("red", "open")}: a person must answer`);
  if (answers.length > 0) {
    output.line(`  answers: ${answers.map(clean).join(", ")}`);
    output.line(`  next: ${resolveCommand(escalation)}${again}`);
  } else output.line(`  next: drover escalation show ${escalationName(escalation)}${again}`);
  output.line(`  or: drover run cancel ${clean(escalation.runId)} --leave --reason TEXT${again}`);
}
