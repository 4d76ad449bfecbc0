// One mutant in a process of its own: simulates seed after seed until a violation is seen.
//   node hunt.ts NAME FIRST-SEED SEEDS SHARDS [KNOWN-SEED]
//   →  one JSON line {caught: seed | null, tried, violation}
// The known seed is tried first. An empty name hunts in the server as it is.
import { mutate } from "./mutate.ts";

const [name = "", first = "1", many = "1000", shards = "1", known = ""] = process.argv.slice(2);
if (name !== "") mutate(name);
const { simulate } = await import("../simulate.ts");

const searched = Array.from({ length: Number(many) }, (_, index) => Number(first) + index);
const wanted = known === "" ? searched : [Number(known), ...searched];

// The stack of an error costs more than the rest of a call.
Error.stackTraceLimit = 0;
let caught: number | null = null;
let violation = "";
let tried = 0;
for (const seed of wanted) {
  tried++;
  const found = await simulate(seed, Number(shards)).then(
    ({ violations }) => violations,
    (error: unknown) => [String(error)],
  );
  if (found.length === 0) continue;
  caught = seed;
  violation = found[0] ?? "";
  break;
}
process.stdout.write(`${JSON.stringify({ caught, tried, violation })}\n`);
process.exit(0);
