/** A scenario from its text, played on a workflow from its text, without files. */

import { createRequestCheck } from "../../server/api/calls/request-check.ts";
import { definitionOfText } from "../../server/api/workflow/definition-source.ts";
import { RPC_DEFAULTS } from "../../server/rpc-config.ts";
import { type Difference, differences } from "../../simulator/expectations.ts";
import { type PlayedScenario, playScenario } from "../../simulator/play-scenario.ts";
import type { Scenario } from "../../simulator/scenario.ts";
import { readScenarios } from "../../simulator/scenario-file.ts";
import { namesIn } from "../../simulator/workflow-names.ts";

const check = createRequestCheck(RPC_DEFAULTS);

/** The first scenario of a file that is given without its first line. */
export function scenarioOf(text: string): Scenario {
  const read = readScenarios(`workflow: w.yaml\n${text}`);
  if (read.kind === "bad") throw new Error(JSON.stringify(read.problems));
  const [scenario] = read.file.scenarios;
  if (!scenario) throw new Error("there is no scenario");
  return scenario;
}

export async function played(
  workflow: string,
  text: string,
): Promise<{ readonly came: PlayedScenario; readonly differences: readonly Difference[] }> {
  const scenario = scenarioOf(text);
  const names = namesIn(definitionOfText(workflow, check, () => []));
  const { findsQueues, approvers, maps } = names;
  const play = { workflow, workflows: [], queues: [...names.queues], findsQueues, approvers, maps };
  const came = await playScenario(play, scenario);
  return { came, differences: differences(scenario, came) };
}

/** The timeline as lines. */
export function lines({ timeline }: PlayedScenario): readonly string[] {
  return timeline.map(({ atMs, who, about, what }) =>
    [`${atMs}`, who, about, what].filter((part) => part !== "").join(" "),
  );
}
