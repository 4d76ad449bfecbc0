/**
 * The demo, in order: 25 holidays are booked by three agents with three unreliable services,
 * one agent is killed while it works, and the ledgers of the services show what became of it all.
 *
 * Exit code 0: each holiday is booked once or undone, as it had to be. 1: it is not, or the demo
 * failed. 2: wrong arguments. 130: stopped by Ctrl-C. Nothing is left behind.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient, type RunDetails } from "@drover/sdk";
import { CutShort, createEnding, type Ending } from "../stage/ending.ts";
import { type Follow, followRuns } from "../stage/follow.ts";
import { createProcesses, type Processes } from "../stage/processes.ts";
import { conclusionLines } from "../stage/tables.ts";
import { createTimeline, type Timeline } from "../stage/timeline.ts";
import {
  type Drover,
  leaveNothing,
  makeWorkspace,
  startDrover,
  type Workspace,
} from "../stage/workspace.ts";
import { fullHotel, holidays, travellersWithoutHotel } from "./demo/holidays.ts";
import { isOver, type Killed, killWhileItWorks } from "./demo/kill.ts";
import { checkLedgers, readLedgers } from "./demo/ledgers.ts";
import { bookNaively } from "./demo/naive.ts";
import { type Options, readOptions, usage } from "./demo/options.ts";
import { insideSteps, nextSteps, type Outcome, right, summary, writeJson } from "./demo/report.ts";
import { ledgerFiles, type Services, startAgent, startServices } from "./demo/world.ts";
import type { ServiceKind } from "./services/booking-desk.ts";

/** From the first line to the conclusion. */
const limitMs = 75_000;
/** A slow service may act after its caller has left, so the ledgers are checked later. */
const lateEffectMs = 1_600;
const openNamedMax = 5;
const exitCodes = { right: 0, failed: 1, usage: 2 } as const;

const unlucky = new Intl.ListFormat("en-GB").format(travellersWithoutHotel);
const intro = `25 travellers want a flight, a hotel and a car: all three, or none.
The services that book them are slow, busy, break the line after they have booked, or never answer.
${fullHotel} has no room: there is a second hotel. For ${unlucky} there is none at all.
And one agent is going to be killed.
`;

interface Stage {
  readonly options: Options;
  readonly workspace: Workspace;
  readonly processes: Processes;
  readonly timeline: Timeline;
  readonly ending: Ending;
  readonly startedTime: Date;
}

interface Ended {
  readonly drover: Drover;
  readonly outcome: Outcome;
}

async function play(stage: Stage): Promise<Ended> {
  const { options, workspace, processes, timeline } = stage;
  console.log(intro);
  timeline.head();
  const [drover, services] = await Promise.all([
    startDrover(workspace, processes, null, { trace: options.trace }),
    startServices(workspace, processes, options.seed),
  ]);
  timeline.act(`PostgreSQL and Drover are up at http://${drover.address}/, and three services`);
  return { drover, outcome: await bookHolidays(stage, drover, services) };
}

/** Prints and writes the results; with --keep, returns only after Ctrl-C. */
async function conclude(stage: Stage, { drover, outcome }: Ended): Promise<number> {
  const { options, workspace, timeline, ending } = stage;
  ending.lift();
  timeline.flush();
  console.log(`\n${summary(outcome)}\n`);
  if (options.json !== null) writeJson(options.json, outcome);
  if (options.keep) {
    console.log(insideSteps(drover, outcome.killed?.held[0], workspace.folder));
    await ending.never().catch((reason: unknown) => console.log(`\n${textOf(reason)}`));
  } else {
    console.log(nextSteps);
  }
  return outcome.problems.length === 0 ? exitCodes.right : exitCodes.failed;
}

/** The same holidays by the naive caller; the ledgers decide the exit code here too. */
async function playNaively({ options, workspace, processes, timeline, ending }: Stage) {
  console.log(intro);
  timeline.head();
  const services = await startServices(workspace, processes, options.seed);
  await bookNaively(services, ending.signal, timeline.act);
  await sleep(lateEffectMs, undefined, { signal: ending.signal });
  timeline.flush();
  const wanted = new Map(holidays.map(({ run, end }) => [run, end]));
  const problems = checkLedgers(holidays, wanted, readLedgers(ledgerFiles(workspace)));
  console.log(`\n${conclusionLines(problems, right).join("\n")}`);
  return problems.length === 0 ? exitCodes.right : exitCodes.failed;
}

async function bookHolidays(stage: Stage, drover: Drover, services: Services): Promise<Outcome> {
  const { options, workspace, processes, timeline, ending, startedTime } = stage;
  const { signal } = ending;
  const files = ledgerFiles(workspace);
  const { address } = drover;
  const start = (kind: ServiceKind) => {
    const of = { address, service: services[kind], trace: options.trace };
    const agent = startAgent(processes, kind, of);
    timeline.act(`${kind} agent started: ${kind}-${agent.pid}`);
    return agent;
  };
  start("flight");
  const hotelAgent = start("hotel");
  start("car");

  const client = createClient({ address });
  try {
    const workflow = await scheduleAll(client, signal);
    timeline.act(`${holidays.length} runs of ${workflow} scheduled`);
    const runs = holidays.map(({ run }) => run);
    const follow = followRuns({ client, runs, onNews: timeline.news, signal, isOver });
    ending.waitFor(() => describeOpen(openRuns(follow)));
    const strike = killWhileItWorks({
      kind: "hotel",
      agent: hotelAgent,
      startAnother: () => start("hotel"),
      onKilled: (killed) => showKill(timeline, killed),
      runs: holidays.length,
      follow,
      ledger: files.hotel,
      signal,
    });
    const [killed] = await Promise.all([strike, follow.ended]);
    await sleep(lateEffectMs, undefined, { signal });
    const details = follow.details();
    const ledgers = readLedgers(files);
    const problems = checkLedgers(holidays, statesOf(details), ledgers);
    const tookMs = Date.now() - startedTime.getTime();
    return {
      seed: options.seed,
      folder: workspace.folder,
      started: processes.started(),
      startedTime,
      tookMs,
      holidays,
      details,
      ledgers,
      killed,
      problems,
    };
  } finally {
    client.close();
  }
}

/** Registers the workflow by its text; answers its name. */
async function scheduleAll(client: Client, signal: AbortSignal): Promise<string> {
  const text = readFileSync(new URL("./holiday.yaml", import.meta.url), "utf8");
  const { name } = await client.registerWorkflow(text, { signal });
  await Promise.all(
    holidays.map(({ end: _, ...input }) =>
      client.schedule({ workflow: name, key: input.run, input }, { signal }),
    ),
  );
  return name;
}

function showKill(timeline: Timeline, { agent, held, bookedUnreported }: Killed): void {
  timeline.act(`SIGKILL for ${agent}, in the middle of ${held.join(", ")}`);
  if (bookedUnreported.length === 0) return;
  timeline.act(`booked but not reported: ${bookedUnreported.join(", ")}`);
}

function openRuns(follow: Follow): string[] {
  const details = follow.details();
  return holidays.flatMap(({ run }) => {
    const found = details.get(run);
    return found && isOver(found) ? [] : [run];
  });
}

function describeOpen(runs: readonly string[]): string {
  const named = runs.slice(0, openNamedMax).join(", ");
  return `${runs.length} runs have not ended: ${named}${runs.length > openNamedMax ? ", ..." : ""}`;
}

function statesOf(details: ReadonlyMap<string, RunDetails>): ReadonlyMap<string, string> {
  return new Map([...details].map(([run, found]) => [run, found.run.state]));
}

async function main(args: readonly string[]): Promise<number> {
  let options: Options | null;
  try {
    options = readOptions(args);
  } catch (error) {
    console.error(`demo: ${textOf(error)}\n${usage}`);
    return exitCodes.usage;
  }
  if (options === null) {
    console.log(usage);
    return exitCodes.right;
  }
  const startedTime = new Date();
  const ending = createEnding(limitMs);
  const workspace = makeWorkspace("holiday", options.dataDir);
  const processes = createProcesses({
    logFolder: workspace.logs,
    onLost: (message) => ending.cutShort(message, exitCodes.failed),
  });
  const timeline = createTimeline(startedTime.getTime(), "demo", (line) => console.log(line));
  try {
    const stage = { options, workspace, processes, timeline, ending, startedTime };
    if (options.naive) return await Promise.race([playNaively(stage), ending.never()]);
    return await conclude(stage, await Promise.race([play(stage), ending.never()]));
  } catch (error) {
    timeline.flush();
    console.error(`\ndemo: ${textOf(error)}`);
    return error instanceof CutShort ? error.exitCode : exitCodes.failed;
  } finally {
    await leaveNothing(workspace, processes);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(`demo: ${textOf(error)}`);
  return exitCodes.failed;
});
