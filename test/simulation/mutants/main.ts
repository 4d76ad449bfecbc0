// npm run mutants [-- --seeds 1000 --seed 1 --only "NAME"]: every mutant must be caught by the
// simulator within so many seeds, or by its test, by one that the right server passes. Exit code 0
// only when all are.
//
// First comes the seed that has caught the mutant before (known-seeds.ts), then seed after seed
// from the first; with a first seed given, only the search runs.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { MUTANTS, type Mutant } from "./catalogue.ts";
import { KNOWN_SEEDS } from "./known-seeds.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    seed: { type: "string" },
    only: { type: "string" },
  },
});

/** A seed, or the file of a test. */
type Catcher = number | string;

interface Hunted {
  readonly caught: Catcher | null;
  /** Seeds, or tests of the file. */
  readonly tried: number;
  readonly violation: string;
}

function hunt(by: "hunt.ts" | "hunt-test.ts", ...asked: readonly Catcher[]): Promise<Hunted> {
  const program = fileURLToPath(new URL(by, import.meta.url));
  const child = spawn(process.execPath, [program, ...asked.map(String)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let complained = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complained += text;
  });
  return new Promise((resolve) => {
    child.once("close", (code) => {
      // A mutant that ends the process, or its start, is noticed too; but not by the simulator.
      if (code === 0) resolve(JSON.parse(output));
      else resolve({ caught: null, tried: 0, violation: `the hunt failed: ${complained}` });
    });
  });
}

function huntFor({ name, test, shards = 1 }: Mutant): Promise<Hunted> {
  if (test !== undefined) return hunt("hunt-test.ts", name, test);
  const known = values.seed === undefined ? (KNOWN_SEEDS[name] ?? "") : "";
  return hunt("hunt.ts", name, values.seed ?? 1, values.seeds, shards, known);
}

/** By catcher, as several mutants are caught by the same one. */
const played = new Map<string, Promise<Hunted>>();
async function isRight(by: Catcher, shards = 1): Promise<boolean> {
  const right = () =>
    typeof by === "number" ? hunt("hunt.ts", "", by, 1, shards) : hunt("hunt-test.ts", "", by);
  const found = played.get(`${by} ${shards}`) ?? right();
  played.set(`${by} ${shards}`, found);
  const { caught, tried } = await found;
  return caught === null && tried > 0;
}

const wanted = MUTANTS.filter(({ name }) => values.only === undefined || name === values.only);
const left = [...wanted];
const escaped: string[] = [];
const news: string[] = [];
async function hunter(): Promise<void> {
  for (let mutant = left.shift(); mutant; mutant = left.shift()) {
    const { name } = mutant;
    const { caught, tried, violation } = await huntFor(mutant);
    // A seed that the right server fails too has caught nothing.
    const isCaught = caught !== null && (await isRight(caught, mutant.shards));
    const by = typeof caught === "number" ? `seed ${caught}` : caught;
    const how = isCaught
      ? `caught by ${by}`
      : `NOT CAUGHT in ${tried} ${mutant.test === undefined ? "seeds" : "tests"}`;
    process.stdout.write(`${name}: ${how}\n    ${violation.slice(0, 300)}\n`);
    if (!isCaught) escaped.push(name);
    else if (typeof caught === "number" && KNOWN_SEEDS[name] !== caught)
      news.push(`  "${name}": ${caught},`);
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, hunter));
process.stdout.write(`${wanted.length - escaped.length} caught, ${escaped.length} not caught\n`);
if (news.length > 0 && values.seed === undefined)
  process.stdout.write(`known-seeds.ts does not have:\n${news.join("\n")}\n`);
process.exitCode = wanted.length > 0 && escaped.length === 0 ? 0 : 1;
