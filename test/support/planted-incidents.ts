/**
 * Incidents, each planted for real in a namespace of its own: real agents, workflows and failures.
 * What a person has to find out is in the comment of each function; nothing else is wrong in the
 * namespace.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import {
  type AgentOptions,
  createAgent,
  deferred,
  PermanentError,
  TransientError,
  UnknownError,
} from "@drover/sdk";
import { type Client, createClient } from "../../sdk/typescript/client.ts";
import type { StepSpec } from "../../sdk/typescript/workflow.ts";
import { silentLog } from "./agent-script.ts";
import { at, callJson } from "./json-call.ts";
import { until } from "./until.ts";

type Handlers = AgentOptions["handlers"];

export interface IncidentWorld {
  readonly address: string;
  /** What ends with the test. */
  readonly atEnd: (end: () => Promise<void> | void) => void;
}

export interface Planted {
  readonly namespace: string;
  readonly client: Client;
}

/** An incident that one run shows. */
export interface PlantedRun extends Planted {
  readonly runId: string;
}

export type Incidents = ReturnType<typeof plantIncidents>;

/** Plants all at the same time: some take half a minute until they can be seen. */
export function plantIncidents(world: IncidentWorld) {
  return Object.freeze({
    toleratedItems: toleratedItems(world),
    failedItem: failedItem(world),
    pausedWorkflow: pausedWorkflow(world),
    misnamedSignal: misnamedSignal(world),
    lostCallback: lostCallback(world),
    failingTwin: failingTwin(world),
    wrongOutput: wrongOutput(world),
    failingAgent: failingAgent(world),
    starvedTenant: starvedTenant(world),
    openApproval: openApproval(world),
    unservedQueue: unservedQueue(world),
    failedUndo: failedUndo(world),
    unknownPayment: unknownPayment(world),
    wrongClock: wrongClock(world),
  });
}

const ONCE = [{ attempts: 1 }];

/** Attempts that an agent must have ended before it may count as failing. */
const FAILING_FROM = 10;
/** Counts of attempts are stored every 20 s. */
const COUNTED_MS = 40_000;
/** The shortest interval of a schedule is 10 s. */
const TWO_OCCURRENCES_MS = 40_000;

/** A map tolerates failed items, and 3 of 200 failed: these have no customer. */
const toleratedItems = (world: IncidentWorld) =>
  loadOrders(world, { namespace: "tolerated", bad: [17, 101, 150], tolerate: 5 });

/** A map tolerates none, and 1 of 200 failed, which ended the run. */
const failedItem = (world: IncidentWorld) =>
  loadOrders(world, { namespace: "untolerated", bad: [101], tolerate: 0 });

interface Load {
  readonly namespace: string;
  readonly bad: readonly number[];
  readonly tolerate: number;
}

async function loadOrders(
  world: IncidentWorld,
  { namespace, bad, tolerate }: Load,
): Promise<PlantedRun> {
  const plot = await openPlot(world, namespace);
  await plot.startAgent("loader-1", {
    load: async ({ item }) => {
      if (bad.includes(item ?? -1))
        throw new PermanentError("bad-row", `row ${item} has no customer`);
      return { loaded: true };
    },
  });
  const map = { over: 200, task: "load", tolerate };
  const runId = await plot.start("nightly-load", [{ id: "load", map, retry: ONCE }]);
  await plot.client.waitRun(runId);
  return { ...plot, runId };
}

/** A schedule starts no runs: its workflow was paused, and the last run is held. */
async function pausedWorkflow(world: IncidentWorld): Promise<Planted> {
  const plot = await openPlot(world, "held");
  await plot.startAgent("reporter-1", { report: async () => ({}) });
  await plot.client.registerWorkflow({
    workflow: "hourly-report",
    steps: [{ id: "report", task: "report" }],
  });
  await plot.operate("PauseWorkflow", { workflow: "hourly-report", reason: "the disk is full" });
  const calendar = { every: "10s" } as const;
  await plot.client.schedules.create("reports", { workflow: "hourly-report", calendar });
  await until(
    "an occurrence is skipped, as the run before has not ended",
    async () => {
      const { last } = await plot.client.schedules.get("reports");
      return last.length >= 2 ? true : null;
    },
    TWO_OCCURRENCES_MS,
  );
  return plot;
}

/** The run waits for the signal "payment"; its caller has sent "payments", which was refused. */
async function misnamedSignal(
  world: IncidentWorld,
): Promise<PlantedRun & { readonly refusal: string }> {
  const plot = await openPlot(world, "misnamed");
  const runId = await plot.start("order", [{ id: "paid", signal: "payment" }]);
  const sent = plot.client.signal(runId, "payments", { payload: { cents: 995 } });
  const refusal = await sent.then(
    () => "",
    (error: unknown) => String(error),
  );
  return { ...plot, runId, refusal };
}

/** The courier has deferred the outcome, and lost the token that reports it. */
async function lostCallback(world: IncidentWorld): Promise<PlantedRun> {
  const plot = await openPlot(world, "deferred");
  await plot.startAgent("courier-1", { deliver: async () => deferred() });
  const runId = await plot.start("delivery", [{ id: "deliver", task: "deliver" }]);
  await until("the outcome is deferred", async () => {
    const { steps } = await plot.client.getRun(runId);
    return steps.some(({ state }) => state === "WAITING") ? true : null;
  });
  return { ...plot, runId };
}

/** Two agents have one id and version, and one of them lacks its template. */
async function failingTwin(world: IncidentWorld): Promise<Planted> {
  const plot = await openPlot(world, "twins");
  await plot.startAgent("mail-1", { send: async () => ({ sent: true }) });
  let failures = 0;
  const send = async () => {
    failures++;
    throw new PermanentError("no-template", "the template welcome.html is missing");
  };
  await plot.startAgent("mail-1", { send }, 2);
  while (failures < FAILING_FROM) {
    const runId = await plot.start("welcome", [{ id: "send", task: "send", retry: ONCE }]);
    await plot.client.waitRun(runId);
  }
  await isFailing(plot);
  return plot;
}

/** The output of a step violates its schema: "cents" is a text. */
async function wrongOutput(world: IncidentWorld): Promise<PlantedRun> {
  const plot = await openPlot(world, "schema");
  await plot.startAgent("till-1", { quote: async () => ({ cents: "nine hundred" }) });
  const outputSchema = {
    type: "object",
    required: ["cents"],
    properties: { cents: { type: "integer" } },
  };
  const runId = await plot.start("price", [{ id: "quote", task: "quote", outputSchema }]);
  await plot.client.waitRun(runId);
  return { ...plot, runId };
}

/** The only mail agent fails at every attempt, and its runs wait for their next one. */
async function failingAgent(world: IncidentWorld): Promise<Planted> {
  const plot = await openPlot(world, "smtp");
  await plot.startAgent("mailer-1", {
    send: async () => {
      throw new TransientError("smtp-421", "too many connections");
    },
  });
  const retry = { attempts: 100, initial: "20m", max: "20m", jitter: 0 } as const;
  await Promise.all(
    Array.from({ length: 30 }, () =>
      plot.start("newsletter", [{ id: "send", task: "send", retry }]),
    ),
  );
  await isFailing(plot);
  return plot;
}

/** The remote service is slow for the tenant acme, whose runs have all 4 slots; globex waits. */
async function starvedTenant(world: IncidentWorld): Promise<PlantedRun> {
  const plot = await openPlot(world, "slow");
  await plot.startAgent("sync-1", {
    sync: (_task, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  });
  const start = async (tenant: string) => {
    const steps: StepSpec[] = [{ id: "sync", task: "sync" }];
    const workflow = { workflow: "sync-tenant", steps };
    return (await plot.client.schedule({ workflow, labels: { tenant } })).runId;
  };
  for (let n = 0; n < 4; n++) await start("acme");
  await until("acme has all slots", async () => {
    const { agents } = await plot.client.operations.agents({ agentId: "sync-1" });
    return agents[0]?.held === 4 ? true : null;
  });
  const [runId = ""] = await Promise.all(Array.from({ length: 5 }, () => start("globex")));
  await until("globex has waited for long", async () => {
    const queue = await plot.operate("GetQueue", { queue: "default" });
    return at(queue, "holders") === undefined ? null : true;
  });
  return { ...plot, runId };
}

/** Nobody has decided yet about an approval of treasury. */
async function openApproval(world: IncidentWorld): Promise<PlantedRun> {
  const plot = await openPlot(world, "approval");
  const approval = { approvers: ["treasury", "ada"] };
  const runId = await plot.start("release-funds", [{ id: "approve", approval }]);
  await until("the run waits for approval", async () => {
    const { run } = await plot.client.getRun(runId);
    return run.substates.some(({ substate }) => substate === "WAITING_FOR_APPROVAL") ? true : null;
  });
  return { ...plot, runId };
}

/** No agent polls the queue of the task. */
async function unservedQueue(world: IncidentWorld): Promise<PlantedRun> {
  const plot = await openPlot(world, "unserved");
  const runId = await plot.start("transcode", [{ id: "encode", task: "encode", queue: "gpu" }]);
  await isInOverview(plot, "the task counts as unserved", "unservedTasks");
  return { ...plot, runId };
}

/** A payment has an unknown outcome, and an undo has failed. */
async function failedUndo(world: IncidentWorld): Promise<PlantedRun> {
  const plot = await openPlot(world, "undo");
  await plot.startAgent("bank-1", {
    charge: async () => ({ receipt: "r-17" }),
    refund: async () => {
      throw new PermanentError("too-late", "the payment of r-17 is settled");
    },
    ship: async () => {
      throw new PermanentError("sold-out", "nothing is left of it");
    },
  });
  const runId = await plot.start("order", [
    { id: "charge", task: "charge", compensate: { task: "refund", retry: ONCE } },
    { id: "ship", needs: ["charge"], task: "ship", retry: ONCE },
  ]);
  await isAsked(plot);
  return { ...plot, runId };
}

/** It is unknown whether a payment, which may run once only, took effect. */
async function unknownPayment(world: IncidentWorld): Promise<PlantedRun> {
  const plot = await openPlot(world, "unknown");
  await plot.startAgent("bank-1", {
    charge: async () => {
      throw new UnknownError("connection-lost", "the bank hung up after the card was sent");
    },
  });
  const runId = await plot.start("payment", [{ id: "charge", task: "charge", effects: "once" }]);
  await isAsked(plot);
  return { ...plot, runId };
}

/** The clock of the machine of one agent is an hour behind. */
async function wrongClock(world: IncidentWorld): Promise<Planted> {
  const plot = await openPlot(world, "skewed");
  const program = fileURLToPath(new URL("./idle-agent.ts", import.meta.url));
  const behind = "data:text/javascript,const now=Date.now;Date.now=()=>now()-3600000";
  const args = ["--import", behind, program, world.address, plot.namespace];
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  world.atEnd(() => void child.kill());
  await until("the agent polls", async () => {
    const { agents } = await plot.client.operations.agents({ agentId: "idle" });
    return agents.length === 1 ? true : null;
  });
  return plot;
}

interface Plot extends Planted {
  /** Starts an agent of the queue "default" with 4 slots; `nth`: so many of this id then. */
  startAgent(id: string, handlers: Handlers, nth?: number): Promise<void>;
  start(workflow: string, steps: readonly StepSpec[]): Promise<string>;
  /** A call of OperatorService in the namespace. */
  operate(method: string, body: object): Promise<unknown>;
}

async function openPlot({ address, atEnd }: IncidentWorld, namespace: string): Promise<Plot> {
  const call = async (method: string, body: object): Promise<unknown> => {
    const answer = await callJson(address, method, body);
    if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await call("OperatorService/CreateNamespace", { name: namespace });
  const client = createClient({ address, namespace });
  atEnd(() => client.close());
  return Object.freeze({
    namespace,
    client,
    async startAgent(id, handlers, nth = 1) {
      const agent = createAgent({
        address,
        namespace,
        id,
        slots: 4,
        handlers,
        log: silentLog,
        grace: 0,
      });
      agent.start();
      atEnd(() => agent.stop());
      await until(`${id} polls`, async () => {
        const { agents } = await client.operations.agents({ agentId: id });
        return agents.length === nth ? true : null;
      });
    },
    start: async (workflow, steps) =>
      (await client.schedule({ workflow: { workflow, steps } })).runId,
    operate: (method, body) => call(`OperatorService/${method}`, { namespace, ...body }),
  } satisfies Plot);
}

async function isFailing(plot: Plot): Promise<void> {
  await isInOverview(plot, "an agent counts as failing", "failingAgents", COUNTED_MS);
}

async function isAsked(plot: Plot): Promise<void> {
  await isInOverview(plot, "a person is asked", "openEscalations");
}

async function isInOverview(plot: Plot, what: string, field: string, withinMs?: number) {
  const seen = async () => {
    const overview = await plot.operate("GetOverview", {});
    return at(overview, field) === undefined ? null : true;
  };
  await until(what, seen, withinMs);
}
