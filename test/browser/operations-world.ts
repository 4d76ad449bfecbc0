/**
 * A server with everything that an operator may meet: workflows in two versions, a run that asks a
 * person, tasks that no agent polls for, an agent at work and one that was lost, schedules.
 */
import { type Agent, createAgent, UnknownError } from "@drover/sdk";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { at, callJson, jsonAgent, listAt, textAt } from "../support/json-call.ts";
import { until } from "../support/until.ts";

const HOLIDAY = `workflow: book-holiday
timeout: 2h
steps:
  - id: flight
    task: book-flight
    queue: travel
    retry: { attempts: 8 }
    compensate: { task: cancel-flight, queue: travel }
  - id: hotel
    needs: [flight]
    task: book-hotel
    queue: travel
    effects: verifiable
    verify: { task: find-hotel, queue: travel }
    compensate: { task: cancel-hotel, queue: travel }
  - id: car
    needs: [flight]
    task: book-car
    queue: travel
  - id: letter
    needs: [hotel, car]
    task: send-letter
    queue: mail
`;
const CHARGE = `workflow: charge-card
steps:
  - id: charge
    task: charge
    queue: payments
    effects: once
    retry: { attempts: 1 }
`;
const REPORT = `workflow: nightly-report
steps:
  - id: crunch
    task: crunch
    queue: reports
    timeouts: { heartbeat: 2s, attempt: 1h }
`;

export interface OperationsWorld {
  readonly server: TestServer;
  call(method: string, body: object): Promise<unknown>;
  start(workflow: string, input?: unknown): Promise<string>;
  stop(): Promise<void>;
}

export async function openOperationsWorld(): Promise<OperationsWorld> {
  const server = await startDroverServer(undefined, { settings: { learnEveryMs: 200 } });
  const call = async (method: string, body: object): Promise<unknown> => {
    const answer = await callJson(server.address, method, body);
    if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const register = (text: string) => call("SchedulerService/RegisterWorkflow", { text });
  const start = async (workflow: string, input: unknown = {}): Promise<string> => {
    const asked = { workflow: { name: workflow }, input: { json: JSON.stringify(input) } };
    return textAt(await call("SchedulerService/Schedule", asked), "runId");
  };
  for (const text of [HOLIDAY, CHARGE, REPORT]) await register(text);
  await register(HOLIDAY.replace("timeout: 2h", "timeout: 3h"));
  const world = { server, call, start };
  const agents = [travelAgent(server), paymentAgent(server)];
  for (const agent of agents) agent.start();
  await loseAnAgent(world);
  const crunching = crunchAgent(server);
  crunching.start();
  for (const traveller of ["Ada", "Grace", "Linus"])
    await start("book-holiday", { traveller, nights: 3, to: { city: "Lisbon" } });
  for (const amount of [120, 80, 42]) await start("charge-card", { card: "4711", amount });
  await makeSchedules(world);
  await settled(world);
  return Object.freeze({
    ...world,
    async stop() {
      await Promise.all([...agents, crunching].map((agent) => agent.stop()));
      await server.stop();
    },
  });
}

type World = Pick<OperationsWorld, "server" | "call" | "start">;

function travelAgent({ address }: TestServer): Agent {
  const done = async () => ({ booked: true });
  return createAgent({
    address,
    id: "travel-1",
    version: "2.1",
    queues: ["travel"],
    slots: 4,
    labels: { host: "blue-3" },
    handlers: { "book-flight": done, "book-hotel": done, "book-car": done },
  });
}

/** Its remote service fails during the call: it is unknown whether the card was charged. */
function paymentAgent({ address }: TestServer): Agent {
  return createAgent({
    address,
    id: "payments-1",
    version: "1.0",
    queues: ["payments"],
    slots: 4,
    handlers: {
      charge: async () => {
        throw new UnknownError("connection-lost", "the bank hung up after the card was sent");
      },
    },
  });
}

function crunchAgent({ address }: TestServer): Agent {
  return createAgent({
    address,
    id: "reports-1",
    version: "3.0",
    queues: ["reports"],
    slots: 1,
    grace: 0,
    handlers: {
      crunch: (_task, context) =>
        new Promise((_resolve, reject) => {
          context.progress({ fraction: 0.47 });
          context.signal.addEventListener("abort", () => reject(context.signal.reason));
        }),
    },
  });
}

/** Takes the report and falls silent: the supervisor notices, and the next agent gets it. */
async function loseAnAgent({ call, start }: World): Promise<void> {
  await start("nightly-report");
  await call("AgentService/PollTask", {
    agent: jsonAgent("reports-0"),
    pollSeq: "1",
    queues: [{ name: "reports" }],
    maxTasks: 1,
    wait: "10s",
  });
}

async function makeSchedules({ call }: World): Promise<void> {
  const workflow = { workflow: "nightly-report" };
  await call("SchedulerService/CreateSchedule", {
    name: "every-night",
    spec: { ...workflow, cron: { expression: "30 2 * * *", timeZone: "Europe/Berlin" } },
  });
  // Its last time is now, so the next is a quarter of an hour away: no test meets it by chance.
  const offset = `${Math.floor(Date.now() / 1_000) % 900}s`;
  await call("SchedulerService/CreateSchedule", {
    name: "every-quarter",
    spec: {
      ...workflow,
      interval: { every: "900s", offset },
      input: { json: '{"depth":"quick"}' },
    },
  });
}

async function settled({ call }: World): Promise<void> {
  await until("three questions are open", async () => {
    const { length } = listAt(await call("OperatorService/ListEscalations", {}), "escalations");
    return length === 3 ? length : null;
  });
  await until("the letters wait for an agent that is not there", async () => {
    const queue = await call("OperatorService/GetQueue", { queue: "mail" });
    return at(queue, "queue", "depth") === 3 ? true : null;
  });
  await until("the lost agent was noticed, and another one is at work", async () => {
    const queue = await call("OperatorService/GetQueue", { queue: "reports" });
    const asked = { rules: ["lease"] };
    const seen = listAt(await call("OperatorService/ListInterventions", asked), "interventions");
    return seen.length === 1 && at(queue, "queue", "leased") === 1 ? true : null;
  });
}
