// `npm run chaos -- --seed 7 --minutes 10`: real processes under faults, checked afterwards. On a
// failure the folder with the history, the logs and the data stays. `--check FILE` checks a history
// that was recorded before.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkHistory } from "../simulation/checker/check-history.ts";
import { historyOf } from "../simulation/history.ts";
import { LANGUAGES, prepareAgents } from "./languages.ts";
import { preparePreload } from "./preloaded.ts";
import { exitCodeOf, reportText, violationText } from "./report.ts";
import { runChaos } from "./run-chaos.ts";
import { boundsOf } from "./stored-history.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "1" },
    languages: { type: "string", default: LANGUAGES.join(",") },
    open: { type: "string", default: "12" },
    /** Some faults of each main kind once, as in the test. */
    short: { type: "boolean", default: false },
    /** A history to check. */
    check: { type: "string" },
    /** Keeps the folder whatever the result. */
    keep: { type: "boolean", default: false },
  },
});

function numberOf(name: "seed" | "minutes" | "open", least: number): number {
  const value = Number(values[name]);
  if (Number.isFinite(value) && value >= least) return value;
  throw new Error(`--${name} ${values[name]}: give a number of at least ${least}`);
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
// So that the processes end with this one.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));
if (values.check !== undefined) {
  const history = historyOf(readFileSync(values.check, "utf8"));
  const violations = checkHistory(history, boundsOf(history)).map(violationText);
  say([...violations, `violations: ${violations.length}`].join("\n"));
  process.exit(violations.length === 0 ? 0 : 1);
}
const wanted = values.languages.split(",");
const languages = LANGUAGES.filter((language) => wanted.includes(language));
if (languages.length !== wanted.length)
  throw new Error(`--languages ${values.languages}: give some of ${LANGUAGES.join(",")}`);
const agents = await prepareAgents(languages);
if (agents.kind === "missing") throw new Error(`${agents.why}; without it: --languages typescript`);
const preload = await preparePreload();
const folder = mkdtempSync(join(tmpdir(), "drover-chaos-"));
const startedMs = performance.now();
const { report } = await runChaos({
  seed: numberOf("seed", 0),
  plan: values.short ? { kind: "short" } : { kind: "rounds", minutes: numberOf("minutes", 0) },
  openMax: numberOf("open", 1),
  folder,
  agents: agents.commands,
  preload,
  log: (line) =>
    say(`${((performance.now() - startedMs) / 1_000).toFixed(1).padStart(6)} s  ${line}`),
});
say(reportText(report));
process.exitCode = exitCodeOf(report);
if (process.exitCode === 0 && !values.keep) rmSync(folder, { recursive: true, force: true });
else say(`everything is in ${folder}`);
process.exit();
