/**
 * Tells a story: starts what it needs, prints what happens as a live timeline, and judges by the
 * ledgers. Answers the exit code: 0 only when the ledgers are right.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@drover/sdk";
import { type Fact, readBooks } from "./books.ts";
import { CutShort, createEnding, type Ending } from "./ending.ts";
import { type Follow, followRuns } from "./follow.ts";
import { leaveNothing, makePlace, type Place, startDrover, textIn } from "./place.ts";
import { createProcesses, type Processes } from "./processes.ts";
import { createRemote } from "./remote.ts";
import type { Deal, Problem, RunSpec, Story } from "./story.ts";
import { factTable, rateTable, runTable } from "./summary.ts";
import { failureTable, interventionTable, seconds, verdictLines } from "./tables.ts";
import { createTimeline, type Timeline } from "./timeline.ts";

export interface Telling {
  readonly name: string;
  readonly story: Story;
  /** Of the story, with `workflow.yaml`, `services.ts` and `agents/`. */
  readonly folder: URL;
  readonly deal: Deal;
  readonly naive: boolean;
  /** An empty database; null: an embedded one. */
  readonly databaseUrl: string | null;
  /** Runs, ledger and problems are written there. */
  readonly json: string | null;
}

interface Scene {
  readonly telling: Telling;
  readonly place: Place;
  readonly processes: Processes;
  readonly timeline: Timeline;
  readonly ending: Ending;
  readonly ledger: string;
}

export const exitCodes = { right: 0, wrong: 1, usage: 2 } as const;
/** From the first line to the verdict. */
const limitMs = 60_000;
/** More for each run that was asked for. */
const limitPerRunMs = 1_000;

export async function tellStory(telling: Telling): Promise<number> {
  const { name, story, naive, json, deal } = telling;
  const startedMs = Date.now();
  const ending = createEnding(limitMs + limitPerRunMs * (deal.runs ?? 0));
  const place = makePlace(name, null);
  const processes = createProcesses({
    logFolder: place.logs,
    onLost: (message) => ending.cutShort(message, exitCodes.wrong),
  });
  const timeline = createTimeline(startedMs, "story", (line) => console.log(line));
  const ledger = join(place.ledgers, `${name}.jsonl`);
  const scene = { telling, place, processes, timeline, ending, ledger };
  try {
    console.log(`${story.intro}\n`);
    timeline.head();
    const playing = naive ? tellNaive(scene) : tell(scene);
    const told = await Promise.race([playing, ending.never()]);
    timeline.flush();
    console.log(`\n${summary(scene, told)}\nIt took ${seconds(Date.now() - startedMs)}.`);
    if (json !== null) writeJson(json, scene, told);
    return told.problems.length === 0 ? exitCodes.right : exitCodes.wrong;
  } catch (error) {
    timeline.flush();
    console.error(`\n${name}: ${error instanceof Error ? error.message : String(error)}`);
    return error instanceof CutShort ? error.exitCode : exitCodes.wrong;
  } finally {
    await leaveNothing(place, processes);
  }
}

/** URL of the remote services. */
async function startServices({ telling, processes }: Scene, ledger: string): Promise<string> {
  const { ready } = await processes.startReady({
    name: "services",
    program: new URL("services.ts", telling.folder),
    args: ["--ledger", ledger, "--seed", String(telling.deal.seed)],
  });
  return textIn(ready, "url");
}

interface Told {
  /** null: the naive caller has no runs. */
  readonly follow: Follow | null;
  readonly problems: readonly Problem[];
  /** Of the naive caller, where the two are compared. */
  readonly naive: readonly Problem[] | null;
}

async function tell(scene: Scene): Promise<Told> {
  const follow = await play(scene);
  const problems = judge(scene, follow);
  const { story } = scene.telling;
  const naive = story.compares ? await callNaively(scene, `${scene.ledger}.naive`, () => {}) : null;
  return { follow, problems, naive };
}

async function tellNaive(scene: Scene): Promise<Told> {
  const problems = await callNaively(scene, scene.ledger, scene.timeline.act);
  return { follow: null, problems, naive: null };
}

async function play(scene: Scene): Promise<Follow> {
  const { telling, place, processes, timeline, ending } = scene;
  const { deal } = telling;
  const [drover, services] = await Promise.all([
    startDrover(place, processes, telling.databaseUrl),
    startServices(scene, scene.ledger),
  ]);
  const { address } = drover;
  timeline.act(`PostgreSQL, Drover and the remote services are up at ${address}`);
  const client = createClient({ address });
  const { signal } = ending;
  let follow: Follow | null = null;

  async function schedule(runs: readonly RunSpec[]): Promise<Follow> {
    const text = readFileSync(new URL("workflow.yaml", telling.folder), "utf8");
    const { name: workflow } = await client.registerWorkflow(text, { signal });
    for (const { run: key, ...spec } of runs)
      await client.schedule({ workflow, key, ...spec }, { signal });
    timeline.act(`${runs.length} runs of ${workflow} scheduled`);
    const keys = runs.map(({ run }) => run);
    const following = followRuns({ client, runs: keys, onNews: timeline.news, signal });
    follow = following;
    ending.waitFor(() => tellOpen(following, keys));
    return following;
  }

  function start(name: string, program = `agents/${name}-agent.ts`) {
    const args = ["--address", address, "--services", services, "--seed", String(deal.seed)];
    return processes.start({ name, program: new URL(program, telling.folder), args });
  }

  try {
    const facts = () => readBooks(scene.ledger);
    const { act } = timeline;
    await telling.story.play({ ...telling.deal, client, signal, start, schedule, act, facts });
    if (follow === null) throw new Error("the story scheduled no run");
    return follow;
  } finally {
    client.close();
  }
}

/** What the naive caller did wrong. */
async function callNaively(
  scene: Scene,
  ledger: string,
  act: Timeline["act"],
): Promise<readonly Problem[]> {
  const { deal, story } = scene.telling;
  const remote = createRemote({ url: await startServices(scene, ledger) });
  await story.naive({ ...deal, remote, signal: scene.ending.signal, act });
  return story.judge(readBooks(ledger), null, deal);
}

function tellOpen(follow: Follow, keys: readonly string[]): string {
  const open = keys.filter((run) => follow.details().get(run)?.run.ended !== true);
  return `${open.length} runs have not ended: ${open.slice(0, 5).join(", ")}`;
}

function judge({ telling, ledger }: Scene, follow: Follow): readonly Problem[] {
  const states = new Map(
    [...follow.details()].map(
      ([
        run,
        {
          run: { state },
        },
      ]) => [run, state],
    ),
  );
  return telling.story.judge(readBooks(ledger), states, telling.deal);
}

function summary(scene: Scene, { follow, problems, naive }: Told): string {
  const { story } = scene.telling;
  const facts: readonly Fact[] = readBooks(scene.ledger);
  const verdict = verdictLines(problems, story.right).join("\n");
  if (follow === null) return [factTable(facts), verdict].join("\n\n");
  const details = follow.details();
  const tables = [runTable(details), failureTable(details, story.meanings)];
  const rates = naive === null ? [] : [rateTable(details.size, { drover: problems, naive })];
  return [...tables, interventionTable(details), factTable(facts), ...rates, verdict].join("\n\n");
}

function writeJson(path: string, { ledger }: Scene, { follow, problems, naive }: Told): void {
  const runs = [...(follow?.details() ?? [])].map(([key, details]) => ({ key, ...details }));
  const report = { problems, naive, runs, facts: readBooks(ledger) };
  const bigints = (_: string, value: unknown) =>
    typeof value === "bigint" ? Number(value) : value;
  writeFileSync(path, JSON.stringify(report, bigints, 2));
}
