// `npm run model`: checks every model and its twins, or those of the models that are named, and
// prints what it found.
//
//   npm run model -- [--json] [MODEL ...]
//
// Exit 1: a model is broken, or a twin is not. Without Spin nothing is checked and a message
// reports that; with DROVER_REQUIRE=spin (or `all`) it is a failure.
import { parseArgs } from "node:util";
import { checks } from "./models.ts";
import { type Found, isRequired, missingTool, search } from "./spin.ts";

const { values, positionals } = parseArgs({
  options: { json: { type: "boolean", default: false } },
  allowPositionals: true,
});

function lineOf(found: Found): string {
  const { model, without, of, result, states, depth, memoryMib, seconds, asExpected } = found;
  const what = without === null ? of : `without its rule: ${without}`;
  const size = [
    `${states} states`.padStart(15),
    `depth ${depth}`.padStart(11),
    `${Math.round(memoryMib)} MiB`.padStart(9),
    `${seconds.toFixed(1)} s`.padStart(7),
  ];
  return `${asExpected ? "ok  " : "BAD "} ${model.padEnd(9)} ${result.padEnd(9)} ${size.join(" ")}  ${what}\n`;
}

async function main(): Promise<void> {
  const unknown = positionals.find((name) => !checks.some(({ model }) => model === name));
  if (unknown !== undefined) {
    const names = [...new Set(checks.map(({ model }) => model))].join(", ");
    throw new Error(`there is no model ${unknown}: name one of ${names}`);
  }
  const missing = await missingTool();
  if (missing !== null) {
    if (isRequired(process.env)) throw new Error(missing);
    process.stderr.write(`skipped: ${missing}\n`);
    return;
  }
  const found: Found[] = [];
  for (const check of checks) {
    if (positionals.length > 0 && !positionals.includes(check.model)) continue;
    const one = await search(check);
    found.push(one);
    if (!values.json) process.stdout.write(lineOf(one));
  }
  if (values.json) process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  if (!found.every(({ asExpected }) => asExpected)) process.exitCode = 1;
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
