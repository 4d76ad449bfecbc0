// One mutant in a process of its own: simulates seed after seed until a violation is seen.
//   node hunt.ts NAME FIRST-SEED SEEDS  →  one JSON line {caught: seed | null, seeds, violation}
// An empty name hunts in the server as it is.
import { mutate } from "./mutate.ts";

const [name = "", first = "1", many = "1000"] = process.argv.slice(2);
if (name !== "") mutate(name);
const { simulate } = await import("../simulate.ts");

// The stack of an error costs more than the rest of a call.
Error.stackTraceLimit = 0;
let caught: number | null = null;
let violation = "";
let seed = Number(first);
const end = seed + Number(many);
for (; seed < end && caught === null; seed++) {
  const found = await simulate(seed).then(
    ({ violations }) => violations,
    (error: unknown) => [String(error)],
  );
  if (found.length === 0) continue;
  caught = seed;
  violation = found[0] ?? "";
}
process.stdout.write(`${JSON.stringify({ caught, seeds: seed - Number(first), violation })}\n`);
process.exit(0);
