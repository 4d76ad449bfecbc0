/** `drover run why`: why a run is not moving, what happens next, and what a person can do. */
import {
  ActionKind,
  NextKind,
  NextKindSchema,
  type PersonAction,
  type Wait,
  WaitKindSchema,
} from "@drover/proto/drover/v1/explain_pb.ts";
import {
  type ExplainRunResponse,
  ExplainRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { resolveCommand } from "../escalation-words.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { supervisorCommand } from "../region-words.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import { errorWords, runOutcome, workflowWords } from "../run-words.ts";
import { printTable } from "../table.ts";
import { between, clean, phrase } from "../words.ts";

export function addRunWhy(run: Command, ended: Ended): void {
  addRunRef(run.command("why"))
    .description("explain why a run is not moving, and what can be done")
    .action(async (name: string | undefined, options: RunRefOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      const { scheduler, namespace } = connect();
      const answer = await scheduler.explainRun({ namespace, run: runRefOf(name, options) });
      output.data(ExplainRunResponseSchema, answer);
      if (output.format === "table") print(answer, output);
      ended(exitCodes.done);
    });
}

function print(answer: ExplainRunResponse, output: Output): void {
  const { run, wait, steps } = answer;
  if (!run || !wait) return;
  const id = clean(run.runId);
  output.line(`run ${id} (${workflowWords(run)}) is ${runOutcome(run, output)}`);
  output.line(clean(wait.sentence));
  if (steps.length > 0) output.line(`\n${output.paint("bold", "steps")}`);
  printTable(
    output,
    HEADERS,
    steps.map((step) => rowOf(step, answer)),
  );
  for (const { sentence } of steps) if (sentence !== wait.sentence) output.line(clean(sentence));
  for (const { sentence } of answer.untakenSignals) output.line(clean(sentence));
  const actions = [...steps.flatMap((step) => step.actions), ...wait.actions];
  const children = steps.flatMap(({ detail }) => (detail.case === "child" ? detail.value : []));
  const busy = steps.flatMap(({ detail }) =>
    detail.case === "lane" && detail.value.polled ? detail.value.queue : [],
  );
  const lines = new Set([
    ...busy.map(
      (queue) => `drover queue show ${clean(queue)}${output.again} (which runs its agents work on)`,
    ),
    ...children.map(({ runId }) => `drover run why ${clean(runId)}${output.again}`),
    ...actions.map((action) => actionWords(action, id, output.again)),
  ]);
  if (lines.size > 0) output.line(`\n${output.paint("bold", "what can be done")}`);
  for (const line of lines) output.line(`  ${line}`);
}

const HEADERS = ["STEP", "WAITS FOR", "FOR", "NEXT", "IN", "ATTEMPTS", "LAST"];

function rowOf(wait: Wait, { now }: ExplainRunResponse): readonly string[] {
  const { tried } = wait;
  return [
    `${clean(wait.stepId)}${wait.undo ? " (undo)" : ""}`,
    phrase(WaitKindSchema, wait.waitingFor),
    between(wait.sinceTime, now),
    wait.next === NextKind.UNSPECIFIED ? "" : phrase(NextKindSchema, wait.next),
    between(now, wait.nextTime),
    tried && tried.attempts > 0 ? String(tried.attempts) : "",
    errorWords(tried?.lastFailure),
  ];
}

function agentWords({ agentVersion }: PersonAction): string {
  return agentVersion === "" ? "an agent" : `an agent of version ${clean(agentVersion)}`;
}

/** As an argument: an item of a map, such as deploy[3], is quoted, or a shell looks for files. */
function stepWords(stepId: string): string {
  const step = clean(stepId);
  return step.includes("[") ? `'${step}'` : step;
}

/** A command if there is one, else the call of the contract. */
function actionWords(action: PersonAction, runId: string, again: string): string {
  const choices = action.choices.map(clean);
  switch (action.kind) {
    case ActionKind.START_AGENT:
      return `start ${agentWords(action)} for queue ${clean(action.queue)}, task ${clean(action.task)}`;
    case ActionKind.ANSWER: {
      const asked = { runId, id: action.escalationId, answers: choices };
      return `${resolveCommand(asked)}${again}${choices.length > 1 ? ` (${choices.join(", ")})` : ""}`;
    }
    case ActionKind.SIGNAL:
      return `drover run signal ${runId} ${clean(action.signalName)}${again}`;
    case ActionKind.DECIDE: {
      const approvers = action.approvers.map(clean).join(", ") || "any person";
      const ways = choices.map((way) => `--${way}`).join(", or ");
      const step = `${runId} ${clean(action.stepId)}`;
      return `drover approval decide ${step} --by NAME ${ways}${again} (approvers: ${approvers}); drover approval show ${step}${again} prints its form`;
    }
    case ActionKind.COMPLETE_DEFERRED:
      return `drover run complete ${runId} ${stepWords(action.stepId)} --succeed, or --payload JSON, or --error CODE${again} (if the callback does not come)`;
    case ActionKind.PAUSE:
      return `drover run pause ${runId}${again}`;
    case ActionKind.RESUME_QUEUE:
      return `drover queue resume ${clean(action.queue)}${again}`;
    case ActionKind.SET_CIRCUIT: {
      const of = `${clean(action.queue)} ${clean(action.task)}${again}`;
      return `drover queue circuit close ${of}, or release`;
    }
    case ActionKind.UNCORDON_AGENT:
      return `drover agent cordons${again} lists cordoned agents; drover agent uncordon`;
    case ActionKind.START_SUPERVISOR:
      return `${supervisorCommand(action)} (with DATABASE_URL)`;
    case ActionKind.RESUME_NAMESPACE:
      return `drover namespace resume${again}`;
    case ActionKind.RESUME_WORKFLOW:
      return `drover workflow resume ${clean(action.workflow)}${again}`;
    case ActionKind.RESUME:
      return `drover run resume ${runId}${again}`;
    case ActionKind.RETRY_RUN:
      return `drover run retry ${runId}${again} (reuses the steps that succeeded)`;
    case ActionKind.RERUN:
      return `drover run rerun ${runId} --from STEP --input JSON${again} (both optional)`;
    case ActionKind.CANCEL: {
      const ways = choices.map((way) => (way === "leave" ? " --leave" : ""));
      return ways.map((way) => `drover run cancel ${runId}${way}${again}`).join(", or ");
    }
    default:
      return `an action that only a newer drover knows (${action.kind})`;
  }
}
