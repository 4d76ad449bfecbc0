/**
 * Kills an agent while it works; a new process takes its place. The agent is suspended first, so
 * that it finishes no task while the server is asked what it holds, and is killed if that is
 * enough. If reports that it had sent before have finished all of its tasks after all, the new
 * process is killed instead.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Attempt, RunDetails } from "@drover/sdk";
import type { Child } from "../../stage/processes.ts";
import type { ServiceKind } from "../services/booking-desk.ts";
import { readLedger } from "./ledgers.ts";

export interface Killed {
  /** Id of the agent, as attempts name it. */
  readonly agent: string;
  readonly at: Date;
  /** Runs of which it held a task. */
  readonly held: readonly string[];
  /** Those among them that its service had booked by then, with no process left to report it. */
  readonly bookedUnreported: readonly string[];
}

/** As much of a run as is read here. */
export interface SeenRun {
  readonly run: Pick<RunDetails["run"], "ended" | "state">;
  readonly steps: readonly Pick<RunDetails["steps"][number], "id" | "state">[];
  readonly attempts: readonly Pick<Attempt, "agentId" | "startedTime" | "endedTime">[];
}

type AgentProcess = Pick<Child, "pid" | "suspend" | "resume" | "kill">;

export interface KillOptions {
  readonly kind: ServiceKind;
  readonly agent: AgentProcess;
  /** As a process manager does: the same program, a new process. */
  readonly startAnother: () => AgentProcess;
  readonly onKilled: (killed: Killed) => void;
  /** How many there are: of some nothing may be known yet. */
  readonly runs: number;
  readonly follow: {
    /** The newest that is known of each run, by its key. */
    readonly details: () => ReadonlyMap<string, SeenRun>;
    /** Asks again for one run. */
    readonly look: (run: string) => Promise<SeenRun>;
  };
  readonly ledger: string;
  readonly signal: AbortSignal;
}

/** How many of its tasks are done first: the agent is killed in the middle of its work. */
const doneBefore = 4;
/** The tasks that the agent holds, at least, when it is killed. */
const heldMin = 2;
/** On a busy machine it may never hold as many: once this share of all is done, one is enough. */
const lateShare = 0.5;
/** What it has sent before it was suspended arrives meanwhile. */
const arriveMs = 20;
const pollEveryMs = 40;

/** What ended is final; what is escalated waits for a person, and this demo has none. */
export function isOver({ run }: Pick<SeenRun, "run">): boolean {
  return run.ended || run.state === "ESCALATED";
}

/** Null if all was done before the agent held enough tasks. */
export async function killWhileItWorks(options: KillOptions): Promise<Killed | null> {
  const { kind, startAnother, onKilled, ledger } = options;
  for (let { agent } = options; await suspendAtWork(options, agent); agent = startAnother()) {
    await agent.kill();
    const at = new Date();
    const held = await runsHeldBy(options, agent);
    if (held.length === 0) continue;
    const entries = readLedger(ledger);
    const booked = new Set(entries.map((entry) => entry.op === "booked" && entry.booking.run));
    const bookedUnreported = held.filter((run) => booked.has(run));
    const killed = { agent: `${kind}-${agent.pid}`, at, held, bookedUnreported };
    onKilled(killed);
    startAnother();
    return killed;
  }
  return null;
}

/** Suspends the agent once it holds enough tasks; false if no task is left that it could hold. */
async function suspendAtWork(options: KillOptions, agent: AgentProcess): Promise<boolean> {
  const { kind, runs, follow, signal } = options;
  for (;;) {
    const known = [...follow.details().values()];
    const done = known.filter((details) => stateOf(details, kind) === "SUCCEEDED").length;
    const atLeast = done < runs * lateShare ? heldMin : 1;
    if (done >= doneBefore && (await suspendIfBusy(options, agent, atLeast))) return true;
    if (known.filter(isOver).length === runs) return false;
    await sleep(pollEveryMs, undefined, { signal });
  }
}

/** false: it holds fewer tasks than `atLeast`, and works on. */
async function suspendIfBusy(
  options: KillOptions,
  agent: AgentProcess,
  atLeast: number,
): Promise<boolean> {
  let enough = false;
  agent.suspend();
  try {
    await sleep(arriveMs, undefined, { signal: options.signal });
    enough = (await runsHeldBy(options, agent)).length >= atLeast;
    return enough;
  } finally {
    if (!enough) agent.resume();
  }
}

/** Asks for every run that is not over: what was known before may be old by now. */
async function runsHeldBy({ kind, follow }: KillOptions, { pid }: AgentProcess) {
  const agent = `${kind}-${pid}`;
  const isHeld = ({ agentId, startedTime, endedTime }: SeenRun["attempts"][number]) =>
    agentId === agent && endedTime === null && startedTime !== null;
  const reads = [...follow.details()]
    .filter(([, details]) => !isOver(details) && stateOf(details, kind) !== "SUCCEEDED")
    .map(async ([run]) => ({ run, attempts: (await follow.look(run)).attempts }));
  const found = await Promise.all(reads);
  return found.filter(({ attempts }) => attempts.some(isHeld)).map(({ run }) => run);
}

function stateOf({ steps }: SeenRun, id: string) {
  return steps.find((step) => step.id === id)?.state;
}
