/**
 * Plays a story: starts what it needs, prints what happens as a live timeline, and checks the
 * ledgers. Returns the exit code: 0 only when the ledgers are right.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient } from "@drover/sdk";
import { type Fact, readBooks } from "./books.ts";
import { CutShort, createEnding, type Ending } from "./ending.ts";
import { type Follow, followRuns } from "./follow.ts";
import { createProcesses, type Processes } from "./processes.ts";
import { createRemote } from "./remote.ts";
import type { Problem, RunSpec, Story, StoryParameters } from "./story.ts";
import { factTable, rateTable, runTable } from "./summary.ts";
import { conclusionLines, failureTable, interventionTable, seconds } from "./tables.ts";
import { createTimeline, type Timeline } from "./timeline.ts";
import { leaveNothing, makeWorkspace, startDrover, textIn, type Workspace } from "./workspace.ts";

export interface StoryRequest {
  readonly name: string;
  readonly story: Story;
  /** Of the story, with `workflow.yaml`, `services.ts` and `agents/`. */
  readonly folder: URL;
  readonly parameters: StoryParameters;
  readonly naive: boolean;
  /** An empty database; null: an embedded one. */
  readonly databaseUrl: string | null;
  /** Runs, ledger and problems are written there. */
  readonly json: string | null;
}

interface Scene {
  readonly request: StoryRequest;
  readonly workspace: Workspace;
  readonly processes: Processes;
  readonly timeline: Timeline;
  readonly ending: Ending;
  readonly ledger: string;
}

export const exitCodes = { right: 0, wrong: 1, usage: 2 } as const;
/** From the first line to the conclusion. */
const limitMs = 60_000;
/** More for each run that was asked for. */
const limitPerRunMs = 1_000;

export async function runStory(request: StoryRequest): Promise<number> {
  const { name, story, naive, json, parameters } = request;
  const startedMs = Date.now();
  const ending = createEnding(limitMs + limitPerRunMs * (parameters.runs ?? 0));
  const workspace = makeWorkspace(name, null);
  const processes = createProcesses({
    logFolder: workspace.logs,
    onLost: (message) => ending.cutShort(message, exitCodes.wrong),
  });
  const timeline = createTimeline(startedMs, "story", (line) => console.log(line));
  const ledger = join(workspace.ledgers, `${name}.jsonl`);
  const scene = { request, workspace, processes, timeline, ending, ledger };
  try {
    console.log(`${story.intro}\n`);
    timeline.head();
    const playing = naive ? playNaively(scene) : playWithDrover(scene);
    const result = await Promise.race([playing, ending.never()]);
    timeline.flush();
    console.log(`\n${summary(scene, result)}\nIt took ${seconds(Date.now() - startedMs)}.`);
    if (json !== null) writeJson(json, scene, result);
    return result.problems.length === 0 ? exitCodes.right : exitCodes.wrong;
  } catch (error) {
    timeline.flush();
    console.error(`\n${name}: ${error instanceof Error ? error.message : String(error)}`);
    return error instanceof CutShort ? error.exitCode : exitCodes.wrong;
  } finally {
    await leaveNothing(workspace, processes);
  }
}

/** URL of the remote services. */
async function startServices({ request, processes }: Scene, ledger: string): Promise<string> {
  const { ready } = await processes.startReady({
    name: "services",
    program: new URL("services.ts", request.folder),
    args: ["--ledger", ledger, "--seed", String(request.parameters.seed)],
  });
  return textIn(ready, "url");
}

interface StoryResult {
  /** null: the naive caller has no runs. */
  readonly follow: Follow | null;
  readonly problems: readonly Problem[];
  /** Of the naive caller, where the two are compared. */
  readonly naive: readonly Problem[] | null;
}

async function playWithDrover(scene: Scene): Promise<StoryResult> {
  const follow = await play(scene);
  const problems = checkLedger(scene, follow);
  const { story } = scene.request;
  const naive = story.compares ? await callNaively(scene, `${scene.ledger}.naive`, () => {}) : null;
  return { follow, problems, naive };
}

async function playNaively(scene: Scene): Promise<StoryResult> {
  const problems = await callNaively(scene, scene.ledger, scene.timeline.act);
  return { follow: null, problems, naive: null };
}

async function play(scene: Scene): Promise<Follow> {
  const { request, workspace, processes, timeline, ending } = scene;
  const { parameters } = request;
  const [drover, services] = await Promise.all([
    startDrover(workspace, processes, request.databaseUrl, {
      requireTokens: request.story.requireTokens ?? false,
    }),
    startServices(scene, scene.ledger),
  ]);
  const { address, connectionString } = drover;
  timeline.act(`PostgreSQL, Drover and the remote services are up at ${address}`);
  const client = createClient({ address });
  const { signal } = ending;
  let following: Follow | null = null;

  function follow(keys: readonly string[], by: Client): Follow {
    const runs = followRuns({ client: by, runs: keys, onNews: timeline.news, signal });
    following = runs;
    ending.waitFor(() => describeOpen(runs, keys));
    return runs;
  }

  async function schedule(runs: readonly RunSpec[]): Promise<Follow> {
    const text = readFileSync(new URL("workflow.yaml", request.folder), "utf8");
    const { name: workflow } = await client.registerWorkflow(text, { signal });
    for (const { run: key, ...spec } of runs)
      await client.schedule({ workflow, key, ...spec }, { signal });
    timeline.act(`${runs.length} runs of ${workflow} scheduled`);
    return follow(
      runs.map(({ run }) => run),
      client,
    );
  }

  function start(name: string, program = `agents/${name}-agent.ts`, token?: string) {
    const args = ["--address", address, "--services", services, "--seed", String(parameters.seed)];
    return processes.start({ name, program: new URL(program, request.folder), args, token });
  }

  try {
    const facts = () => readBooks(scene.ledger);
    const { act } = timeline;
    await request.story.play({
      ...request.parameters,
      client,
      address,
      connectionString,
      signal,
      start,
      schedule,
      follow,
      act,
      facts,
    });
    if (following === null) throw new Error("the story scheduled no run");
    return following;
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
  const { parameters, story } = scene.request;
  const remote = createRemote({ url: await startServices(scene, ledger) });
  await story.naive({ ...parameters, remote, signal: scene.ending.signal, act });
  return story.check(readBooks(ledger), null, parameters);
}

function describeOpen(follow: Follow, keys: readonly string[]): string {
  const open = keys.filter((run) => follow.details().get(run)?.run.ended !== true);
  return `${open.length} runs have not ended: ${open.slice(0, 5).join(", ")}`;
}

function checkLedger({ request, ledger }: Scene, follow: Follow): readonly Problem[] {
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
  return request.story.check(readBooks(ledger), states, request.parameters);
}

function summary(scene: Scene, { follow, problems, naive }: StoryResult): string {
  const { story } = scene.request;
  const facts: readonly Fact[] = readBooks(scene.ledger);
  const conclusion = conclusionLines(problems, story.right).join("\n");
  if (follow === null) return [factTable(facts), conclusion].join("\n\n");
  const details = follow.details();
  const tables = [runTable(details), failureTable(details, story.meanings)];
  const rates = naive === null ? [] : [rateTable(details.size, { drover: problems, naive })];
  return [...tables, interventionTable(details), factTable(facts), ...rates, conclusion].join(
    "\n\n",
  );
}

function writeJson(
  path: string,
  { ledger }: Scene,
  { follow, problems, naive }: StoryResult,
): void {
  const runs = [...(follow?.details() ?? [])].map(([key, details]) => ({ key, ...details }));
  const report = { problems, naive, runs, facts: readBooks(ledger) };
  const bigints = (_: string, value: unknown) =>
    typeof value === "bigint" ? Number(value) : value;
  writeFileSync(path, JSON.stringify(report, bigints, 2));
}
