/**
 * `npm run example NAME`: plays one of the stories. Exit code 0: the ledgers of its services are
 * right. 1: they are not, or the story failed. 2: wrong arguments. 130: stopped by Ctrl-C.
 */
import { parseArgs } from "node:util";
import { exitCodes, runStory, type StoryRequest } from "./stage/run-story.ts";
import type { Story } from "./stage/story.ts";

/** The demo is a story with more to see, and a program of its own. */
const demo = "holiday";
const stories: Readonly<Record<string, () => Promise<{ readonly story: Story }>>> = {
  deployment: () => import("./deployment/story.ts"),
  encoding: () => import("./encoding/story.ts"),
  etl: () => import("./etl/story.ts"),
  order: () => import("./order/story.ts"),
  payment: () => import("./payment/story.ts"),
  planner: () => import("./planner/story.ts"),
  provisioning: () => import("./provisioning/story.ts"),
  transfer: () => import("./transfer/story.ts"),
};

const usage = `usage: npm run example NAME [-- options]
  NAME                ${[...Object.keys(stories), demo].join(", ")}
  --naive             the same services and faults, called by a plain sequential program
  --seed N            seed of the faults (default 1)
  --runs N            how many runs, in a story that has no fixed number (provisioning)
  --json FILE         write runs, ledger and problems there
  --database-url URL  an empty database of your own (default: an embedded one, removed at the end)`;

async function read(args: readonly string[]): Promise<StoryRequest | null> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      naive: { type: "boolean", default: false },
      seed: { type: "string", default: "1" },
      runs: { type: "string" },
      json: { type: "string" },
      "database-url": { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return null;
  const [name = ""] = positionals;
  const load = stories[name];
  if (load === undefined || positionals.length > 1)
    throw new Error(`"${positionals.join(" ")}" is no story; name one`);
  return {
    name,
    ...(await load()),
    folder: new URL(`./${name}/`, import.meta.url),
    parameters: {
      seed: wholeNumber("--seed", values.seed),
      runs: values.runs === undefined ? null : wholeNumber("--runs", values.runs),
    },
    naive: values.naive,
    databaseUrl: values["database-url"] ?? null,
    json: values.json ?? null,
  };
}

function wholeNumber(flag: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`${flag} is ${text}; give a whole number of up to 9 digits`);
}

async function main(args: readonly string[]): Promise<number> {
  let request: StoryRequest | null;
  try {
    request = await read(args);
  } catch (error) {
    console.error(`example: ${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return exitCodes.usage;
  }
  if (request !== null) return runStory(request);
  console.log(usage);
  return exitCodes.right;
}

const args = process.argv.slice(2);
if (args[0] === demo) {
  process.argv.splice(2, 1);
  await import("./holiday/demo.ts");
} else process.exitCode = await main(args);
