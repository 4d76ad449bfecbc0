// What operators read, by the command line of a real server: agents, queues, partitions,
// supervisors, interventions, and what needs a person.
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { UnknownError } from "../../../sdk/typescript/task-errors.ts";
import { silentLog } from "../../support/agent-script.ts";
import { callDrover } from "../../support/drover-call.ts";
import { type Ended, drover as spawnDrover } from "../../support/drover-process.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { until } from "../../support/until.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
});
afterAll(async () => {
  client.close();
  await server.stop();
});

/** In a process of its own: it continues while others call. */
const askBeside = (line: string): Promise<Ended> =>
  spawnDrover(line.split(" "), { env: { DROVER_ADDRESS: server.address } });

const ask = (line: string): Promise<Ended> =>
  callDrover(line.split(" "), { env: { DROVER_ADDRESS: server.address } });

async function drover(line: string): Promise<Ended> {
  const ended = await ask(line);
  if (ended.code !== 0) throw new Error(`drover ${line}: ${ended.stderr}`);
  return ended;
}

async function json(line: string) {
  return JSON.parse((await drover(`${line} -o json`)).stdout);
}

/** Asks until what is answered passes. */
async function once(line: string, passes: (answer: Answer) => boolean): Promise<void> {
  await until(line, async () => (passes(await json(line)) ? true : null));
}

interface Answer {
  readonly agents?: readonly { readonly held?: number }[];
  readonly queue?: { readonly agents?: number; readonly pause?: object };
  readonly tasks?: readonly { readonly polledTime?: string }[];
  readonly supervisors?: readonly { readonly partitions?: number }[];
}

/** An agent that holds what it gets until it is let go. */
function holdingAgent(id: string, queue: string) {
  const letGo = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const agent = createAgent({
    address: server.address,
    id,
    version: "1.2",
    labels: { zone: "b" },
    queues: [queue],
    log: silentLog,
    handlers: {
      async charge(_task, { progress }) {
        progress({ counter: 7 });
        started.resolve();
        await letGo.promise;
        return { charged: 7 };
      },
    },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  return { letGo: letGo.resolve, started: started.promise };
}

function charge(queue: string) {
  const steps = [{ id: "charge", task: "charge", queue }];
  return client.schedule({ workflow: { workflow: "payment", steps } });
}

test("an agent is listed and described with what it holds, and later with its success", async () => {
  const { letGo, started } = holdingAgent("till", "shop");
  const { runId } = await charge("shop");
  await started;
  await once("agent list --id till", (answer) => answer.agents?.[0]?.held === 1);
  const listed = (await drover("agent list")).stdout;
  expect(listed).toMatch(
    /^till +[0-9a-f]{8} +1\.2 +\S+ +\d+ +\d{4}-\S+ \S+Z +shop +charge +1 of 10 +(.+ +)?alive$/m,
  );
  const { agents } = await client.operations.agents({ agentId: "till" });
  expect(agents).toMatchObject([{ id: "till", held: 1, lastSuccessTime: null }]);
  const output = (await drover("agent show till")).stdout;
  expect(output).toMatch(/^labels +zone=b$/m);
  expect(output).toMatch(/^server +127\.0\.0\.1:/m);
  expect(output).toMatch(new RegExp(`${runId} +charge +perform +charge of shop +1 `));
  expect(output).toMatch(new RegExp(`^pid +${process.pid}$`, "m"));
  expect(output).toMatch(/^capacity +10 tasks$/m);
  const [, session] = /([0-9a-f]{32})/.exec(output) ?? [];
  expect((await drover(`agent show ${session}`)).stdout).toContain("in progress     1 task");
  letGo();
  await client.waitRun(runId);
  expect((await drover("agent show till")).stdout).toContain("in progress     0 tasks");
  await drover("agent cordon till --by ada --reason slow");
  await drover("queue circuit open shop charge --agent till --by ada");
  expect((await drover("agent list --id till")).stdout).toMatch(/ cordoned; circuit of charge$/m);
  const cordoned = (await drover("agent show till")).stdout;
  expect(cordoned).toMatch(/^cordoned +by ada at \S+ \S+Z: slow$/m);
  expect(cordoned).toMatch(/^circuit +of charge in shop is open, set by ada at /m);
  const [found] = (await json("agent list --id till")).agents;
  expect(found).toMatchObject({ cordons: [{ agentId: "till" }], circuits: [{ task: "charge" }] });
});

test("an agent that is not there, or is not alone of its name, is not described", async () => {
  expect(await ask("agent show unserved")).toMatchObject({ code: 4 });
  const { code, stderr } = await ask(`agent show ${"ab".repeat(16)}`);
  expect(code).toBe(4);
  expect(stderr).toContain("drover agent list");
  holdingAgent("twin", "twins");
  holdingAgent("twin", "twins");
  await once("agent list --id twin", (answer) => answer.agents?.length === 2);
  const several = await ask("agent show twin");
  expect(several.code).toBe(2);
  expect(several.stderr).toContain("drover agent list --id twin");
  const both = await ask("agent list --id twin");
  expect(both.stderr).toContain('agent "twin" has 2 live instances');
  const [instance = ""] = /(?<=^twin +)[0-9a-f]{8}/m.exec(both.stdout) ?? [];
  const shown = (await drover(`agent show twin --instance ${instance}`)).stdout;
  expect(shown).toMatch(new RegExp(`^session +${instance}`, "m"));
  expect(await ask("agent show twin --instance 0x")).toMatchObject({ code: 4 });
  const cordoned = await ask(`agent cordon twin --instance ${instance} --by ada`);
  expect(cordoned.stdout).toContain(`instance ${instance} of agent twin cordoned by ada`);
  expect(cordoned.stderr).toContain(`drover agent uncordon twin --instance ${instance}`);
  expect((await drover("status")).stdout).toContain(
    `instance ${instance} of agent "twin" is cordoned by ada`,
  );
  expect((await drover("agent list --id twin")).stdout.match(/ cordoned$/gm)).toHaveLength(1);
  await drover(`agent uncordon twin --instance ${instance}`);
  expect((await drover("agent list --id twin")).stdout).not.toContain("cordoned");
});

test("a queue is described with its tasks, and drained when its agents have finished", async () => {
  const { letGo, started } = holdingAgent("bank", "bank");
  const { runId } = await charge("bank");
  await started;
  const { runId: waiting } = await charge("bank-2");
  // Which tasks are polled is stored up to a second after the poll.
  await once(
    "queue show bank",
    ({ queue, tasks }) => queue?.agents === 1 && tasks?.[0]?.polledTime !== undefined,
  );
  const output = (await drover("queue show bank")).stdout;
  expect(output).toMatch(/^in progress +1$/m);
  expect(output).toMatch(/^charge +0 +1 +1 +\d{4}-/m);
  expect((await drover("queue list")).stdout).toMatch(/^bank-2 +1 +\d{4}-\S+ \S+Z +0 +0$/m);

  const late = await ask("queue drain bank --reason upgrade --timeout 1s");
  expect(late.code).toBe(1);
  expect(late.stderr).toContain("with 1 task still in progress after");
  const draining = askBeside("queue drain bank");
  await once("queue show bank", (answer) => answer.queue?.pause !== undefined);
  letGo();
  const drained = await draining;
  expect(drained.stdout).toBe("queue bank drained: 0 in progress, 0 waiting\n");
  expect(drained.stderr).toContain("drover queue resume bank");
  await client.waitRun(runId);
  expect((await json("queue show bank")).queue.pause.reason).toBe("upgrade");
  await drover("queue resume bank");
  await client.cancelRun(waiting);
});

test("a drain ends when an operator resumes the queue", async () => {
  const { letGo, started } = holdingAgent("desk", "desk");
  await charge("desk");
  await started;
  const draining = askBeside("queue drain desk");
  await once("queue show desk", (answer) => answer.queue?.pause !== undefined);
  await drover("queue resume desk");
  const { code, stderr } = await draining;
  expect(code).toBe(1);
  expect(stderr).toContain("queue desk was resumed meanwhile");
  letGo();
});

test("every partition is watched by the server, which is listed as their supervisor", async () => {
  await once("supervisor list", (answer) => answer.supervisors?.[0]?.partitions === 256);
  const { stdout } = await drover("supervisor list");
  expect(stdout).toMatch(/^[0-9a-f-]{36} +127\.0\.0\.1:\d+ .* 256$/m);
  const { partitions } = await json("partition list");
  expect(partitions).toHaveLength(256);
  const [{ supervisor }] = (await json("supervisor list")).supervisors.map(
    ({ id }: { id: string }) => ({ supervisor: id }),
  );
  const page = await client.operations.partitions({ pageSize: 1 });
  expect(page).toMatchObject({ partitions: [{ partition: 0, supervisor, watched: true }] });
  for (const one of partitions) expect(one).toMatchObject({ watched: true, supervisor });
  const { handOvers } = await json("partition history 0");
  expect(handOvers).toMatchObject([{ epoch: "1", supervisor, reason: "HAND_OVER_REASON_FIRST" }]);
  const history = (await drover("partition history --limit 256")).stdout;
  expect(history).toMatch(new RegExp(`^\\S+ \\S+Z +0 +1 +${supervisor} .* first owner$`, "m"));
  expect((await ask("partition history x")).code).toBe(2);
  expect((await drover("partition list --late")).stderr).toContain(
    "every partition has a supervisor",
  );
});

test("what the supervisor did is listed, of a rule, a run and a time", async () => {
  const steps = [{ id: "pause", wait: "1s" }];
  const { runId } = await client.schedule({ workflow: { workflow: "nap", steps } });
  await client.waitRun(runId);
  const { stdout } = await drover(`intervention list --run ${runId}`);
  expect(stdout).toMatch(new RegExp(` timer +\\S+ +${runId} +nap +pause `));
  const found = await client.operations.interventions({ rules: ["timer"], runId });
  expect(found.interventions).toMatchObject([{ runId, workflow: "nap", stepId: "pause" }]);
  expect((await json("intervention list --rule timer")).interventions).toMatchObject([{ runId }]);
  expect(await json("intervention list --rule timer --before 2026-01-01")).toEqual({});
  expect((await drover("intervention list --rule stall")).stderr).toBe("no intervention\n");
  const wrong = await ask("intervention list --rule nonsense");
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain("its rules are start, lease");
});

test("the status lists what needs a person, and the command that helps", async () => {
  const agent = createAgent({
    address: server.address,
    id: "wire",
    queues: ["wire"],
    log: silentLog,
    handlers: {
      transfer: () => {
        throw new UnknownError("no-answer", "the bank did not answer");
      },
    },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const steps = [{ id: "send", task: "transfer", queue: "wire", effects: "once" as const }];
  const { runId } = await client.schedule({ workflow: { workflow: "transfer", steps } });
  for await (const { run } of client.watchRun(runId)) if (run.state === "ESCALATED") break;
  await client.registerWorkflow({ workflow: "refund", steps });
  const { runId: orphan } = await charge("unserved");
  await drover("queue pause mail --reason mending");
  await drover("workflow pause refund");
  await drover("namespace pause --reason moving");
  await drover("queue circuit open mail send --by ada --reason leaks");
  const held = (await drover("status")).stdout;
  expect(held).toMatch(
    new RegExp(`^send of transfer: .*no-answer.* drover escalation show ${runId}/1$`, "m"),
  );
  expect(held).toMatch(/^the namespace is paused: moving +\S+ \S+Z +drover namespace resume$/m);
  expect(held).toMatch(/^queue "mail" is paused: mending .*drover queue resume mail$/m);
  expect(held).toMatch(/^workflow "refund" is paused .*drover workflow resume refund$/m);
  expect(held).toMatch(/^circuit of "send" of queue "mail" is open, set by ada .*: leaks /m);
  expect(held).toMatch(/drover queue circuit release mail send$/m);
  expect(held).toMatch(
    new RegExp(
      `^transfer send +no-answer: the bank did not answer +0 +1 +\\S+ \\S+Z +${runId}$`,
      "m",
    ),
  );
  expect(held).toMatch(/^FAILING +ERROR +FAILED +FAILED ATTEMPTS +LAST +RUN$/m);
  expect(held).not.toContain("no agent polls");
  await drover("namespace resume");
  const unserved =
    /^no agent polls queue "unserved" for "charge" +\S+ \S+Z +drover queue show unserved$/m;
  const stdout = await until("a task is called unserved", async () => {
    const output = (await drover("status")).stdout;
    return unserved.test(output) ? output : null;
  });
  expect(stdout).toMatch(/^agent "till" is cordoned by ada: slow .*agent uncordon till$/m);
  expect(stdout).toMatch(/^database +PostgreSQL \d+/m);
  expect(stdout).toMatch(/^open runs +.*1 escalated/m);
  expect(stdout).toMatch(/^last 30 minutes +\d+ started; /m);
  const { openEscalations, unservedTasks, pausedQueues } = await client.operations.overview();
  expect({ openEscalations, pausedQueues }).toEqual({ openEscalations: 1, pausedQueues: ["mail"] });
  expect(unservedTasks).toMatchObject([{ queue: "unserved", task: "charge" }]);
  const both = await json("status");
  expect(both).toMatchObject({
    overview: { openEscalations: 1, pausedQueues: [{ name: "mail" }] },
    cluster: { serverVersion: expect.any(String), clockDifference: expect.stringMatching(/s$/) },
  });
  await client.cancelRun(orphan);
});
