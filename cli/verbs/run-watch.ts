/**
 * `drover run watch`: follows a run to its end, as a live tree on a terminal and as lines in a
 * pipe. The exit code says how the run ended.
 */
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import {
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
import { clean } from "../words.ts";

export function addRunWatch(run: Command, ended: Ended): void {
  addRunRef(run.command("watch"))
    .description("follow a run until it has ended")
    .action(async (name: string | undefined, options: RunRefOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      ended(await watchRun(runRefOf(name, options), output, connect()));
    });
}

/** With `-o jsonl` each state is a line; with `-o json` and `yaml` the last is the document. */
export async function watchRun(
  ref: RunRef,
  output: Output,
  connection: Connection,
): Promise<ExitCode> {
  let last: WatchRunResponse | null = null;
  for await (const state of statesOf(connection, ref)) {
    if (output.format === "jsonl") output.data(WatchRunResponseSchema, state);
    if (output.format === "table") show(last, state, output);
    last = state;
  }
  if (last?.run === undefined)
    throw new CliFailure("the server told nothing about the run", {
      code: exitCodes.failed,
      next: "drover run list",
    });
  if (output.format !== "jsonl") output.data(WatchRunResponseSchema, last);
  const code = exitOfRun(last.run.state);
  if (code !== exitCodes.done) output.next(`drover run show ${clean(last.run.runId)}`);
  return code;
}

/** A row stays free for what the shell writes after us. */
const rowsFree = 2;

function show(before: WatchRunResponse | null, state: WatchRunResponse, output: Output): void {
  const { screen } = output;
  if (screen === null) for (const line of changeLines(before, state, output)) output.line(line);
  else {
    const lines = treeLines(state, output, screen.rows - rowsFree);
    const waits = state.run !== undefined && needsPerson(state.run, state.steps);
    const hint = `waits for a person: drover run show ${clean(state.run?.runId ?? "")}`;
    screen.draw(waits ? [...lines, hint] : lines);
  }
}

/** A run that was undone or cancelled has not done what it was started for. */
export function exitOfRun(state: RunState): ExitCode {
  return state === RunState.COMPLETED ? exitCodes.done : exitCodes.failed;
}
