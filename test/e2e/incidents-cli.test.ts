/**
 * Five incidents, each put right with at most three commands by a person who knows none of them
 * by heart: the first is `drover status`, and each other one is what the command before has named
 * as the next. Each is in a namespace of its own, which no environment names.
 */
import { type AgentOptions, createAgent, UnknownError } from "@drover/sdk";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Client, createClient } from "../../sdk/typescript/client.ts";
import type { StepSpec } from "../../sdk/typescript/workflow.ts";
import { silentLog } from "../support/agent-script.ts";
import { callDrover } from "../support/drover-call.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { at, callJson } from "../support/json-call.ts";
import { until } from "../support/until.ts";

type Handlers = AgentOptions["handlers"];

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer(undefined, {
    circuits: { minOutcomes: 4, cooldownMs: 300_000 },
  });
});
afterAll(() => server?.stop());

async function operate(method: string, body: object): Promise<unknown> {
  const answer = await callJson(server.address, `OperatorService/${method}`, body);
  if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A namespace of this test alone, with a client. */
async function openNamespace(namespace: string) {
  const { address } = server;
  await operate("CreateNamespace", { name: namespace });
  const client = createClient({ address, namespace });
  onTestFinished(() => client.close());
  const agent = async (id: string, queue: string, handlers: Handlers, version = "1.0") => {
    const one = createAgent({
      address,
      namespace,
      id,
      queues: [queue],
      handlers,
      version,
      log: silentLog,
    });
    one.start();
    onTestFinished(() => one.stop());
    await until(`${id} asks for work`, async () => {
      const { agents } = await client.operations.agents({ agentId: id });
      return agents.length === 1 ? true : null;
    });
  };
  const start = async (step: StepSpec): Promise<string> => {
    const { runId } = await client.schedule({ workflow: { workflow: "shop", steps: [step] } });
    return runId;
  };
  return { namespace, client, agent, start, commands: commandsFor(namespace) };
}

/**
 * What a person types, and what is on the screen then; no incident takes more than three commands.
 */
function commandsFor(namespace: string) {
  let typed = 0;
  const type = async (line: string): Promise<string> => {
    typed++;
    if (typed > 3) throw new Error(`a fourth command: ${line}`);
    const args = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);
    const [program, ...rest] = args.map((one) => one ?? "");
    if (program !== "drover") throw new Error(`"${line}" is no command of drover`);
    const env = { DROVER_ADDRESS: server.address, DROVER_USER: "ada" };
    const { code, stdout, stderr } = await callDrover(rest, { env });
    if (code !== 0) throw new Error(`${line}: ${stderr}`);
    return `${stdout}${stderr}`;
  };
  return {
    type,
    /** Until what is wrong is listed there. */
    status: (pattern: RegExp): Promise<string> =>
      until(`status says ${pattern}`, async () => {
        typed = 0;
        const screen = await type(`drover status --namespace ${namespace}`);
        return pattern.test(screen) ? screen : null;
      }),
    typed: () => typed,
  };
}

/** The one command that a screen names as the next, its words in capitals filled in. */
function nextOf(screen: string, blanks: Readonly<Record<string, string>> = {}): string {
  const found = [...screen.matchAll(/(?:^ {2}next: | {2})(drover .+)$/gm)].map(([, line]) => line);
  if (found.length !== 1) throw new Error(`${found.length} next commands in: ${screen}`);
  return Object.entries(blanks).reduce((line, [blank, text]) => {
    if (!line.includes(` ${blank}`)) throw new Error(`"${line}" asks for no ${blank}`);
    return line.replace(` ${blank}`, ` "${text}"`);
  }, found[0] ?? "");
}

async function ends(client: Client, runId: string): Promise<string> {
  const { state } = await client.waitRun(runId);
  return state;
}

const done: Handlers = { charge: async () => ({ charged: true }) };

describe("no agent for a queue", () => {
  test("as a pin keeps its tasks for a version that is gone: the pin is taken back", async () => {
    const { client, agent, start, commands, namespace } = await openNamespace("pinned");
    await agent("till-1", "tills", done, "2.0");
    const charge: StepSpec = { id: "charge", task: "charge", queue: "tills" };
    await client.registerWorkflow({ workflow: "shop", steps: [charge] });
    const body = { queue: "tills", workflow: "shop", agentVersion: "1.0" };
    await operate("PinQueue", { namespace, ...body });
    const runId = await start(charge);

    const status = await commands.status(/^no agent of version "1.0" polls queue/m);
    const queue = await commands.type(nextOf(status));
    expect(queue).toContain(
      'no agent polls for "charge": start an agent of version 1.0 that polls queue tills for it',
    );
    await commands.type(nextOf(queue));
    expect(await ends(client, runId)).toBe("COMPLETED");
    expect(commands.typed()).toBe(3);
  });

  test("as all of its agents are cordoned: they are uncordoned", async () => {
    const { client, agent, start, commands, namespace } = await openNamespace("cordoned");
    await agent("till-1", "tills", done, "2.0");
    const cordon = { version: "2.0", by: "ada", why: "2.0 leaks" };
    await operate("CordonAgent", { namespace, ...cordon });
    const runId = await start({ id: "charge", task: "charge", queue: "tills" });

    const status = await commands.status(/^agents of version "2.0" are cordoned by ada: 2/m);
    await commands.type(nextOf(status));
    expect(await ends(client, runId)).toBe("COMPLETED");
    expect(commands.typed()).toBe(2);
  });

  test("as none was started: it is printed which one to start, and then there is nothing", async () => {
    const { client, agent, start, commands } = await openNamespace("unserved");
    const runId = await start({ id: "charge", task: "charge", queue: "tills" });

    const status = await commands.status(/^no agent polls queue "tills" for "charge"/m);
    const queue = await commands.type(nextOf(status));
    const pattern = /^no agent polls for "(\w+)": start an agent that polls queue (\w+) for it$/m;
    const [, task = "", polled = ""] = pattern.exec(queue) ?? [];
    await agent("till-1", polled, { [task]: async () => ({ charged: true }) });
    expect(await ends(client, runId)).toBe("COMPLETED");
    expect(commands.typed()).toBe(2);
    await commands.status(/^nothing needs attention in unserved$/m);
  });
});

test("an open circuit: an operator closes it once the service is back", async () => {
  const { client, agent, start, commands } = await openNamespace("down");
  const remote = { isUp: false };
  const handlers: Handlers = {
    charge: async () => {
      if (!remote.isUp) throw new UnknownError("bank-down", "the bank is down");
      return { charged: true };
    },
  };
  for (const id of ["till-1", "till-2"]) await agent(id, "tills", handlers);
  const retry = { attempts: 100, initial: "50ms", factor: 1, jitter: 0 };
  const runs = await Promise.all(
    Array.from({ length: 6 }, () => start({ id: "charge", task: "charge", queue: "tills", retry })),
  );

  const status = await commands.status(/^circuit of "charge" of queue "tills" is open, one task/m);
  expect(status).toMatch(/: (\d+) of \1 tasks failed within 60 s, with 2 agents /);
  remote.isUp = true;
  await commands.type(nextOf(status));
  for (const runId of runs) expect(await ends(client, runId)).toBe("COMPLETED");
  expect(commands.typed()).toBe(2);
});

test("an ambiguous payment: the bank is asked by its key, and has it", async () => {
  const { client, agent, start, commands } = await openNamespace("ambiguous");
  const bank = new Map<string, string>();
  await agent("till-1", "tills", {
    charge: async ({ idempotencyKey }) => {
      bank.set(idempotencyKey, "r-17");
      throw new UnknownError("connection-lost", "the bank hung up after the card was sent");
    },
  });
  const runId = await start({ id: "charge", task: "charge", queue: "tills", effects: "once" });

  const status = await commands.status(/^charge of shop: .*the bank hung up/m);
  const question = await commands.type(nextOf(status));
  const key = /^key +(\S+)$/m.exec(question)?.[1] ?? "";
  expect(bank.get(key)).toBe("r-17");
  expect(question).toMatch(/^succeed +it is done/m);
  const values = { ANSWER: "succeed", TEXT: "the bank has it: r-17" };
  await commands.type(nextOf(question, values));
  expect(await ends(client, runId)).toBe("COMPLETED");
  expect(bank.size).toBe(1);
  expect(commands.typed()).toBe(3);
});

test("a stalled step: it makes no progress after 47 %, and is tried anew", async () => {
  const { client, agent, start, commands } = await openNamespace("stalled");
  const disk = { isFull: true };
  await agent("mill-1", "mills", {
    crunch: (_task, { progress, signal }) => {
      progress({ fraction: 0.47 });
      if (!disk.isFull) return Promise.resolve({ crunched: true });
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  const runId = await start({
    id: "crunch",
    task: "crunch",
    queue: "mills",
    onFailure: "escalate",
    retry: { attempts: 1 },
    timeouts: { stall: "1s", heartbeat: "3s" },
  });

  const status = await commands.status(/^crunch of shop: .*stall/m);
  const question = await commands.type(nextOf(status));
  disk.isFull = false;
  const values = { ANSWER: "retry", TEXT: "the disk was full" };
  await commands.type(nextOf(question, values));
  expect(await ends(client, runId)).toBe("COMPLETED");
  expect(commands.typed()).toBe(3);
});

test("a paused namespace: an operator forgot to resume it", async () => {
  const { client, agent, start, commands, namespace } = await openNamespace("paused");
  await agent("till-1", "tills", done);
  const pause = { namespace, reason: "moving house" };
  await operate("PauseNamespace", pause);
  const runId = await start({ id: "charge", task: "charge", queue: "tills" });

  const status = await commands.status(/^the namespace is paused: moving house/m);
  await commands.type(nextOf(status));
  expect(await ends(client, runId)).toBe("COMPLETED");
  expect(commands.typed()).toBe(2);
  const overview = await operate("GetOverview", { namespace });
  expect(at(overview, "namespacePause")).toBeUndefined();
});

test("drover doctor finds the same things, and names the same commands", async () => {
  const { namespace } = await openNamespace("checked");
  await operate("PauseNamespace", { namespace, reason: "moving house" });
  await operate("CordonAgent", { namespace, agentId: "till-1", by: "ada", why: "it leaks" });
  const env = { DROVER_ADDRESS: server.address, DROVER_USER: "ada" };
  const { stdout } = await callDrover(["doctor", "--namespace", namespace], { env });
  expect(stdout).toMatch(
    /is paused .*moving house.* drover namespace resume --namespace checked$/m,
  );
  expect(stdout).toMatch(
    /agent "till-1" is cordoned by ada: it leaks +drover agent uncordon till-1 --namespace checked$/m,
  );
});
