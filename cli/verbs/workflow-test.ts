/** `drover workflow test`: runs scenarios on the real engine in virtual time, without a server. */
import type { Command } from "commander";
import { contextOf } from "../context.ts";
import { type Ended, exitCodes, usageFailure } from "../failure.ts";
import type { Output } from "../output.ts";
import type { Played } from "../scenario-report.ts";
import { counted } from "../words.ts";

interface Options {
  readonly scenario?: string;
  readonly timeline?: boolean;
}

const moreHelp = `
The scenarios of holiday.yaml are in holiday.scenarios.yaml in the same folder. A folder includes its subfolders.

Exit codes: 0 all passed, 1 an expectation was not met, 2 a file is wrong.`;

export function addWorkflowTest(workflow: Command, ended: Ended): void {
  workflow
    .command("test")
    .description("run scenarios of agent behaviour in virtual time, without a server")
    .argument("[paths...]", "scenario files, workflows with a scenario file, or folders", ["."])
    .option("--scenario <words>", "only scenarios with these words in their name")
    .option("--timeline", "print the timeline of passed scenarios, too")
    .addHelpText("after", moreHelp)
    .action(async (paths: readonly string[], options: Options, command: Command) => {
      const { output } = contextOf(command);
      const played = await playAll(paths, options, output);
      if (output.format !== "jsonl") await printAll(played, output);
      const failed = played.filter(({ passed }) => !passed).length;
      const words = failed === 0 ? "all passed" : `${failed} failed`;
      if (output.format === "table") output.line(`${counted(played.length, "scenario")}, ${words}`);
      ended(failed === 0 ? exitCodes.done : exitCodes.failed);
    });
}

async function playAll(
  paths: readonly string[],
  { scenario: words, timeline = false }: Options,
  output: Output,
): Promise<readonly Played[]> {
  // Loaded by this verb only, because they load the whole engine.
  const { loadScenarios, scenarioFilesOf } = await import("../scenario-files.ts");
  const { playScenario } = await import("@drover/simulator/play-scenario.ts");
  const { evaluated, playedJson, printPlayed } = await import("../scenario-report.ts");
  const loaded = paths.flatMap(scenarioFilesOf).map((path) => ({ path, ...loadScenarios(path) }));
  const all: Played[] = [];
  for (const { path, file, play } of loaded) {
    const chosen = file.scenarios.filter(({ name }) => words === undefined || name.includes(words));
    if (output.format === "table" && chosen.length > 0) output.line(path);
    for (const scenario of chosen) {
      const from = process.hrtime.bigint();
      const result = await playScenario(play, scenario);
      const tookMs = Number(process.hrtime.bigint() - from) / 1e6;
      const played = evaluated({ file: path, scenario, result, tookMs }, file.locate);
      all.push(played);
      if (output.format === "table") printPlayed(played, output, timeline);
      if (output.format === "jsonl") output.value(playedJson(played));
    }
  }
  if (all.length > 0) return all;
  const names = loaded.flatMap(({ file }) => file.scenarios.map(({ name }) => `"${name}"`));
  throw usageFailure(
    `no scenario has ${JSON.stringify(words ?? "")} in its name: there are ${names.join(", ") || "none"}`,
    "drover workflow test without --scenario runs all",
  );
}

async function printAll(played: readonly Played[], output: Output): Promise<void> {
  const { playedJson } = await import("../scenario-report.ts");
  const passed = played.every((one) => one.passed);
  output.value({ passed, scenarios: played.map(playedJson) });
}
