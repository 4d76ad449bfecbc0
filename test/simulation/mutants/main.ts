// npm run mutants [-- --seeds 1000 --seed 1 --only "NAME"]: every mutant must be caught by the
// simulator within so many seeds. Exit code 0 only when all are.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { MUTANTS } from "./catalogue.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
  },
});

interface Hunted {
  readonly caught: number | null;
  readonly seeds: number;
  readonly violation: string;
}

function hunt(name: string, seed: string, seeds: string): Promise<Hunted> {
  const program = fileURLToPath(new URL("./hunt.ts", import.meta.url));
  const child = spawn(process.execPath, [program, name, seed, seeds], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  let complained = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complained += text;
  });
  return new Promise((resolve) => {
    child.once("close", (code) => {
      // A mutant that ends the process, or its start, is noticed too; but not by the simulator.
      if (code === 0) resolve(JSON.parse(said));
      else resolve({ caught: null, seeds: 0, violation: `the hunt failed: ${complained}` });
    });
  });
}

const wanted = MUTANTS.filter(({ name }) => values.only === undefined || name === values.only);
const left = [...wanted];
const escaped: string[] = [];
async function hunter(): Promise<void> {
  for (let mutant = left.shift(); mutant; mutant = left.shift()) {
    const { caught, seeds, violation } = await hunt(mutant.name, values.seed, values.seeds);
    // A seed that the right server fails too has caught nothing.
    const right = caught === null ? null : await hunt("", String(caught), "1");
    const isCaught = right?.caught === null;
    const how = isCaught ? `caught by seed ${caught}` : `NOT CAUGHT in ${seeds} seeds`;
    process.stdout.write(`${mutant.name}: ${how}\n    ${violation.slice(0, 300)}\n`);
    if (!isCaught) escaped.push(mutant.name);
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, hunter));
process.stdout.write(`${wanted.length - escaped.length} caught, ${escaped.length} not caught\n`);
process.exitCode = wanted.length > 0 && escaped.length === 0 ? 0 : 1;
