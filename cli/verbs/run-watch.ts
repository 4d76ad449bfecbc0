/**
 * `drover run watch`: follows a run to its end, as a live tree on a terminal and as lines in a
 * pipe. The exit code reflects how the run ended.
 */
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
  type ExplainRunResponse,
  type RunRef,
  type WatchRunResponse,
  WatchRunResponseSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Command } from "commander";
import { type Connection, statesOf } from "../client.ts";
import { contextOf } from "../context.ts";
import { CliFailure, type Ended, type ExitCode, exitCodes } from "../failure.ts";
import type { Output } from "../output.ts";
import { changeLines } from "../run-lines.ts";
import { addRunRef, type RunRefOptions, runRefOf } from "../run-ref.ts";
import { treeLines } from "../run-tree.ts";
import { needsPerson } from "../run-words.ts";
import { endAtSignals, type Screen } from "../screen.ts";
import { clean } from "../words.ts";

export function addRunWatch(run: Command, ended: Ended): void {
  addRunRef(run.command("watch"))
    .description("follow a run until it has ended")
    .action(async (name: string | undefined, options: RunRefOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      ended(await watchRun(runRefOf(name, options), output, connect()));
    });
}

/**
 * Ctrl-C ends it with exit code 130. With `-o jsonl` each state is a line; with `-o json` and
 * `yaml` the last state is the document.
 */
export async function watchRun(
  ref: RunRef,
  output: Output,
  connection: Connection,
): Promise<ExitCode> {
  endAtSignals();
  const last = await (output.screen
    ? followOnScreen(ref, { output, screen: output.screen, connection })
    : followInLines(ref, output, connection));
  if (last?.run === undefined)
    throw new CliFailure("the server returned no run", {
      code: exitCodes.failed,
      next: "drover run list",
    });
  if (output.format !== "jsonl") output.data(WatchRunResponseSchema, last);
  const code = exitOfRun(last.run.state);
  if (code !== exitCodes.done) output.next(`drover run show ${clean(last.run.runId)}`);
  return code;
}

async function followInLines(
  ref: RunRef,
  output: Output,
  connection: Connection,
): Promise<WatchRunResponse | null> {
  let last: WatchRunResponse | null = null;
  for await (const state of statesOf(connection, ref)) {
    if (output.format === "jsonl") output.data(WatchRunResponseSchema, state);
    if (output.format === "table")
      for (const line of changeLines(last, state, output)) output.line(line);
    last = state;
  }
  return last;
}

const pollMs = 1_000;

/** The stream sends the states; progress is requested separately while an agent has a task. */
async function followOnScreen(
  ref: RunRef,
  {
    output,
    screen,
    connection,
  }: { readonly output: Output; readonly screen: Screen; readonly connection: Connection },
): Promise<WatchRunResponse | null> {
  const { scheduler, namespace } = connection;
  let last: WatchRunResponse | null = null;
  let why: ExplainRunResponse | undefined;
  const show = (state: WatchRunResponse) =>
    screen.show((rows) => screenLines(state, output, rows, why));
  const timer = setInterval(async () => {
    if (!last?.steps.some(({ agentId }) => agentId !== "")) return;
    // The stream detects a server that is away.
    why = await scheduler.explainRun({ namespace, run: ref }).catch(() => why);
    if (!ended) show(last);
  }, pollMs);
  let ended = false;
  try {
    for await (const state of statesOf(connection, ref)) {
      last = state;
      show(state);
    }
  } finally {
    ended = true;
    clearInterval(timer);
    screen.close();
  }
  return last;
}

function screenLines(
  state: WatchRunResponse,
  output: Output,
  rows: number,
  why: ExplainRunResponse | undefined,
): readonly string[] {
  const waits = state.run !== undefined && needsPerson(state.run, state.steps);
  const hint = `waits for a person: drover run show ${clean(state.run?.runId ?? "")}`;
  const lines = treeLines(state, output, waits ? rows - 1 : rows, why);
  return waits ? [...lines, hint] : lines;
}

/** A run that was compensated or cancelled has not done what it was started for. */
export function exitOfRun(state: RunState): ExitCode {
  return state === RunState.COMPLETED ? exitCodes.done : exitCodes.failed;
}
