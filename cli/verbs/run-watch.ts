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
import { isFinal, needsPerson, personWords } from "../run-words.ts";
import { endAtSignals, type Screen } from "../screen.ts";
import { clean } from "../words.ts";

interface UntilOptions {
  readonly untilPerson?: boolean;
}

interface WatchOptions extends RunRefOptions, UntilOptions {}

export function addRunWatch(run: Command, ended: Ended): void {
  addRunRef(run.command("watch"))
    .description("follow a run until it has ended")
    .option("--until-person", "end with exit code 5 as soon as the run waits for a person")
    .action(async (name: string | undefined, options: WatchOptions, command: Command) => {
      const { output, connect } = contextOf(command);
      ended(await watchRun(runRefOf(name, options), output, connect(), options));
    });
}

/**
 * Follows the run past what a person must do, unless `untilPerson`: somebody may act meanwhile.
 * Ctrl-C ends it with exit code 130. With `-o jsonl` each state is a line; with `-o json` and
 * `yaml` the last state is the document.
 */
export async function watchRun(
  ref: RunRef,
  output: Output,
  connection: Connection,
  { untilPerson = false }: UntilOptions = {},
): Promise<ExitCode> {
  endAtSignals();
  const states = untilPerson
    ? statesUntilPerson(statesOf(connection, ref))
    : statesOf(connection, ref);
  const last = await (output.screen
    ? followOnScreen(ref, { output, screen: output.screen, connection, states })
    : followInLines(states, output));
  if (last?.run === undefined)
    throw new CliFailure("the server returned no run", {
      code: exitCodes.failed,
      next: "drover run list",
    });
  if (output.format !== "jsonl") output.data(WatchRunResponseSchema, last);
  if (!isFinal(last.run.state)) {
    output.next(`drover run why ${clean(last.run.runId)}`);
    return exitCodes.asked;
  }
  const code = exitOfRun(last.run.state);
  if (code !== exitCodes.done) output.next(`drover run show ${clean(last.run.runId)}`);
  return code;
}

async function* statesUntilPerson(
  states: AsyncIterable<WatchRunResponse>,
): AsyncGenerator<WatchRunResponse> {
  for await (const state of states) {
    yield state;
    if (state.run && personWords(state.run) !== "") return;
  }
}

async function followInLines(
  states: AsyncIterable<WatchRunResponse>,
  output: Output,
): Promise<WatchRunResponse | null> {
  let last: WatchRunResponse | null = null;
  for await (const state of states) {
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
    states,
  }: {
    readonly output: Output;
    readonly screen: Screen;
    readonly connection: Connection;
    readonly states: AsyncIterable<WatchRunResponse>;
  },
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
    for await (const state of states) {
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
  const { run, steps } = state;
  const waits = run !== undefined && (needsPerson(run, steps) || personWords(run) !== "");
  const hint = `waits for a person: drover run why ${clean(run?.runId ?? "")}`;
  const lines = treeLines(state, output, waits ? rows - 1 : rows, why);
  return waits ? [...lines, hint] : lines;
}

/** A run that was compensated or cancelled has not done what it was started for. */
export function exitOfRun(state: RunState): ExitCode {
  return state === RunState.COMPLETED ? exitCodes.done : exitCodes.failed;
}
