// The runs that `list` reads and the filters that it uses: runs of several kinds, each of which the
// server has brought to where it is, how often each is in the history, and every filter of
// ListRuns, by which many, few or none of them are found.
import {
  type Client,
  createAgent,
  createClient,
  type ListRunsSpec,
  PermanentError,
} from "../sdk/typescript/index.ts";
import type { Original } from "./bulk-history.ts";

const DAY_MS = 86_400_000;
/** Longer than the history: the oldest of those that wait began so long ago. */
const WAIT = "2000h";
const TIMEOUT = "3000h";
const USUAL = { region: "eu", tier: "silver" };
const RARE = { region: "eu", customer: "c-4711" };
const COUNTS = {
  failed: 1_000,
  rare: 100,
  cancelled: 20,
  children: 1_000,
  open: 5_000,
  paused: 20,
};

export interface Listed {
  readonly originals: readonly Original[];
  /** Of the children. */
  readonly parent: string;
}

/** What is in a history of so many runs. */
export async function makeListed(address: string, runs: number): Promise<Listed> {
  const client = createClient({ address });
  const agent = createAgent({
    address,
    id: "list",
    slots: 5,
    handlers: {
      act: async () => null,
      fail: () => {
        throw new PermanentError("NO_ROOM", "there is no room");
      },
    },
  });
  agent.start();
  try {
    const steps = [{ id: "act", task: "act" }];
    await client.registerWorkflow({ workflow: "order", steps });
    await client.registerWorkflow({ workflow: "rare", steps });
    await client.registerWorkflow({ workflow: "family", steps: [{ id: "child", run: "order" }] });
    await client.registerWorkflow({ workflow: "broken", steps: [{ id: "act", task: "fail" }] });
    const wait = [{ id: "wait", wait: WAIT }];
    await client.registerWorkflow({ workflow: "parked", timeout: TIMEOUT, steps: wait });
    const ended = async (workflow: string, labels = USUAL) => {
      const { runId } = await client.schedule({ workflow, labels, input: { order: 4711 } });
      await client.waitRun(runId);
      return runId;
    };
    const open = async () => {
      const { runId } = await client.schedule({ workflow: "parked", labels: USUAL });
      return runId;
    };
    const parent = await ended("family");
    const cancelled = await open();
    const paused = await open();
    await client.cancelRun(cancelled);
    await client.waitRun(cancelled);
    await client.pauseRun(paused);
    const few: readonly Original[] = [
      { runId: await ended("broken"), copies: COUNTS.failed },
      { runId: await rareRun(client), copies: COUNTS.rare },
      { runId: cancelled, copies: COUNTS.cancelled },
      { runId: await childOf(client, parent), copies: COUNTS.children },
      { runId: await open(), copies: COUNTS.open },
      { runId: paused, copies: COUNTS.paused },
    ];
    const rest = few.reduce((left, { copies }) => left - copies, runs);
    return { originals: [{ runId: await ended("order"), copies: rest }, ...few], parent };
  } finally {
    await agent.stop();
    await client.close();
  }
}

async function rareRun(client: Client): Promise<string> {
  const { runId } = await client.schedule({ workflow: "rare", labels: RARE });
  await client.waitRun(runId);
  return runId;
}

async function childOf(client: Client, parentRunId: string): Promise<string> {
  const { runs } = await client.listRuns({ parentRunId });
  const [child] = runs;
  if (!child) throw new Error(`run ${parentRunId} has begun no child`);
  return child.runId;
}

/** By name; the times are seen from now. */
export function filtersOf(
  parent: string,
  now = Date.now(),
): Readonly<Record<string, ListRunsSpec>> {
  const ago = (days: number) => new Date(now - days * DAY_MS);
  const anHour = { createdAfter: ago(14), createdBefore: ago(14 - 1 / 24) };
  return {
    all: {},
    "state COMPLETED": { states: ["COMPLETED"] },
    "state RUNNING": { states: ["RUNNING"] },
    "state PAUSED": { states: ["PAUSED"] },
    "state FAILED": { states: ["FAILED"] },
    "state CANCELLED": { states: ["CANCELLED"] },
    "state COMPENSATED (none)": { states: ["COMPENSATED"] },
    "states RUNNING, FAILED": { states: ["RUNNING", "FAILED"] },
    "workflow, usual": { workflow: "order" },
    "workflow, rare": { workflow: "rare" },
    "workflow (none)": { workflow: "unheard-of" },
    "label, usual": { labels: { region: "eu" } },
    "label, rare": { labels: { customer: "c-4711" } },
    "labels, usual and rare": { labels: RARE },
    "label (none)": { labels: { customer: "c-0815" } },
    "created after the last hour began": { createdAfter: ago(1 / 24) },
    "created within an hour two weeks ago": anHour,
    "created before three weeks ago": { createdBefore: ago(21) },
    parent: { parentRunId: parent },
    "workflow and state": { workflow: "broken", states: ["FAILED"] },
    "workflow and another's state": { workflow: "order", states: ["FAILED"] },
    "state and time": { states: ["FAILED"], ...anHour },
    "label and time": { labels: { customer: "c-4711" }, ...anHour },
    "label and state": { labels: { region: "eu" }, states: ["RUNNING"] },
    // Keys of copies are random UUIDs: each further digit finds a sixteenth.
    "key^:a": { query: "key^:a" },
    "key^:abcd": { query: "key^:abcd" },
    "key^:a state:failed": { query: "key^:a state:failed" },
    "step:act": { query: "step:act" },
    "step:act error:NO_ROOM": { query: "step:act error:NO_ROOM" },
    "error (none)": { query: "error:UNKNOWN" },
    "waits:timer": { query: "waits:timer" },
    "waits:approval (none)": { query: "waits:approval" },
    "ended<now-21d": { query: "ended<now-504h" },
    "ended>now-1h": { query: "ended>now-1h" },
    "ended>now-1h state:failed": { query: "ended>now-1h state:failed" },
  };
}
