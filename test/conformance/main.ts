// npm run conformance [-- --agent NAME] [--only SCENARIO] [--jobs N] [--write]
//
// Prints the table of agents by scenarios. `--agent` and `--only` may be repeated; `--write` puts
// the table into docs/CONFORMANCE.md. Exit code 0 only when all pass; an agent that needs what this
// machine lacks is skipped, printed at the end, and a failure where DROVER_REQUIRE names the tool.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { agents } from "./agents.ts";
import { conformancePage, marksOf, pagePath, tableForTerminal } from "./page.ts";
import { scenarios } from "./scenarios/scenarios.ts";
import { startServers } from "./servers.ts";
import { isGood, type Mark, putToTheTest, type Result } from "./suite.ts";

const { values } = parseArgs({
  options: {
    agent: { type: "string", multiple: true, default: [] },
    only: { type: "string", multiple: true, default: [] },
    jobs: { type: "string", default: "6" },
    write: { type: "boolean", default: false },
  },
});

/** Those that are named, or all if none is. */
function chosen<T extends { readonly name: string }>(
  what: string,
  all: readonly T[],
  names: readonly string[],
): readonly T[] {
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined)
    throw new Error(
      `there is no ${what} "${unknown}": say one of ${all.map(({ name }) => name).join(", ")}`,
    );
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

function report(agent: string, scenario: string, mark: Mark): void {
  if (mark.kind === "not-asked") return;
  const how = mark.kind === "passed" ? `passed in ${mark.ms} ms` : `FAILED\n${mark.why}`;
  process.stdout.write(`${agent}: ${scenario}: ${how}\n`);
}

async function main(): Promise<void> {
  const tested = chosen("agent", agents, values.agent);
  const played = chosen("scenario", scenarios, values.only);
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1)
    throw new Error(`--jobs is "${values.jobs}"; it must be a whole number from 1 up`);
  const servers = await startServers();
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM"])
      process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  });
  const results: Result[] = [];
  try {
    for (const agent of tested) {
      const test = putToTheTest(agent, { servers, scenarios: played, jobs, report });
      results.push(await Promise.race([test, interrupted]));
    }
  } finally {
    await servers.stop();
  }
  process.stdout.write(`\n${tableForTerminal(results, played)}\n`);
  for (const { agent, skipped } of results)
    if (skipped !== null) process.stdout.write(`skipped: ${agent}: ${skipped}\n`);
  if (values.write) writeFileSync(pagePath, conformancePage(marksOf(results)));
  if (!results.every(isGood)) process.exitCode = 1;
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  // After an interrupt scenarios may still be under way.
  process.exit(1);
});
