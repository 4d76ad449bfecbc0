/**
 * The table of agents by scenarios: for a terminal, and as docs/CONFORMANCE.md. A cell of the page
 * for which there is no new result retains its old value.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { agents } from "./agents.ts";
import type { Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios/scenarios.ts";
import type { Mark, Result } from "./suite.ts";
import { root } from "./toolbox.ts";

export const pagePath = join(root, "docs/CONFORMANCE.md");

/** The content of a cell: passed, failed, not required, not run. */
export type Cell = "yes" | "NO" | "–" | "?";

/** By agent, then by scenario. */
export type Cells = ReadonlyMap<string, ReadonlyMap<string, Cell>>;

const cells: Readonly<Record<Mark["kind"], Cell>> = {
  passed: "yes",
  failed: "NO",
  "not-asked": "–",
};

/** A result that was not played leaves the page as it is. */
export function marksOf(results: readonly Result[], page = readPage()): Cells {
  const known = cellsOf(page);
  return new Map(
    agents.map(({ name }) => {
      const marks = results.find(({ agent }) => agent === name)?.marks;
      const column = scenarios.map((scenario): [string, Cell] => {
        const mark = marks?.get(scenario.name);
        const cell = mark === undefined ? known.get(name)?.get(scenario.name) : cells[mark.kind];
        return [scenario.name, cell ?? "?"];
      });
      return [name, new Map(column)];
    }),
  );
}

export function readPage(): string {
  return existsSync(pagePath) ? readFileSync(pagePath, "utf8") : "";
}

/** The cells of the page's table. */
export function cellsOf(page: string): Cells {
  const rows = page
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const heads = rows.find(([, first]) => first === "scenario") ?? [];
  return new Map(
    agents.map(({ name }) => {
      const at = heads.indexOf(name);
      const column = rows.flatMap((row): [string, Cell][] => {
        const cell = (["yes", "NO", "–", "?"] as const).find((known) => known === row[at]);
        return at < 0 || cell === undefined ? [] : [[row[1] ?? "", cell]];
      });
      return [name, new Map(column)];
    }),
  );
}

export function conformancePage(marks: Cells): string {
  const names = agents.map(({ name }) => name);
  const row = (cellsOfRow: readonly string[]): string => `| ${cellsOfRow.join(" | ")} |`;
  const reasons = new Map(
    scenarios.flatMap(({ name, notForStubs }) =>
      notForStubs === undefined ? [] : [[name, notForStubs] as const],
    ),
  );
  return [
    "# Conformance",
    "",
    "<!-- Made by `npm run conformance -- --write`: change the scenarios, not this page. -->",
    "",
    "After reading this page you know what the conformance suite requires of an agent, which SDKs and example agents pass, and how to run the suite. [PROTOCOL.md](../test/conformance/PROTOCOL.md) says how an agent of your own takes part.",
    "",
    `The suite plays the same ${scenarios.length} scenarios with every agent, in any language, against a real server. The agents are those of the SDKs and the stubs in [agents-examples/stubs](../agents-examples/stubs), which use only code that is generated from the contract.`,
    "",
    "```sh",
    "npm run conformance                              # all of them",
    "npm run conformance -- --agent go --only cancel  # one agent, one scenario",
    "```",
    "",
    "The suite skips an agent whose tools are missing on the machine, and says so at the end. With `DROVER_REQUIRE=all` a missing tool is a failure.",
    "",
    "## Results",
    "",
    "`yes`: the agent passes; `NO`: it fails; `–`: the scenario does not apply, for the reason [below](#scenarios-that-do-not-apply-to-stubs); `?`: not played yet.",
    "",
    row(["scenario", ...names]),
    row(["---", ...names.map(() => ":-:")]),
    ...scenarios.map(({ name }) =>
      row([name, ...names.map((agent) => marks.get(agent)?.get(name) ?? "?")]),
    ),
    "",
    "## Scenarios",
    "",
    row(["name", "what holds"]),
    row(["---", "---"]),
    ...scenarios.map(({ name, guarantee }) => row([name, guarantee])),
    "",
    "## Scenarios that do not apply to stubs",
    "",
    row(["name", "reason"]),
    row(["---", "---"]),
    ...[...reasons].map(([name, why]) => row([name, why])),
    "",
  ].join("\n");
}

/** A row for each scenario, a column for each agent that was to be tested. */
export function tableForTerminal(results: readonly Result[], played: readonly Scenario[]): string {
  const width = Math.max(...played.map(({ name }) => name.length), 8) + 2;
  const cell = (result: Result, name: string): string => {
    const mark = result.marks.get(name);
    return mark === undefined ? "skipped" : cells[mark.kind];
  };
  const line = (name: string, of: (result: Result) => string): string =>
    name.padEnd(width) +
    results.map((result) => of(result).padEnd(result.agent.length + 2)).join("");
  return [
    line("", ({ agent }) => agent),
    ...played.map(({ name }) => line(name, (result) => cell(result, name))),
  ]
    .map((text) => text.trimEnd())
    .join("\n");
}
