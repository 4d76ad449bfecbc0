/**
 * A codec between client, agent and a real server: what a program gives and gets is clear to it,
 * and nothing of it to the server, its database, or a caller without the key.
 */
import { Client as Database } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { deferred } from "../../../sdk/typescript/answers.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import { aesGcmCodec, type Codec } from "../../../sdk/typescript/codec.ts";
import type { Handler } from "../../../sdk/typescript/handler.ts";
import { bytes } from "../../../sdk/typescript/payload.ts";
import { PermanentError } from "../../../sdk/typescript/task-errors.ts";
import type { StepSpec } from "../../../sdk/typescript/workflow.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";

const secret = "canary-7f3a";
const codec = aesGcmCodec(new Uint8Array(32).fill(7));

let server: TestServer;
let database: Database;
beforeAll(async () => {
  server = await startDroverServer();
  database = new Database({ connectionString: server.connectionString });
  await database.connect();
});
afterAll(async () => {
  await database.end();
  await server.stop();
});

function givenClient(sealedBy?: Codec) {
  const { address } = server;
  const client = createClient({ address, ...(sealedBy && { codec: sealedBy }) });
  onTestFinished(() => client.close());
  return client;
}

/** An agent with the key, with a queue of its own; the steps are on it. */
function givenSteps(queue: string, handlers: Readonly<Record<string, Handler>>, steps: StepSpec[]) {
  const { address } = server;
  const agent = createAgent({
    address,
    codec,
    handlers,
    id: queue,
    queues: [queue],
    log: silentLog,
  });
  agent.start();
  onTestFinished(() => agent.stop());
  return {
    workflow: queue,
    steps: steps.map((step) => ("task" in step ? { ...step, queue } : step)),
  };
}

/** Tables that contain a text, as itself or within bytes. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname !~ '^(pg_|information_)'",
  );
  const within = [`%${text}%`, `%${Buffer.from(text).toString("hex")}%`];
  const found: string[] = [];
  for (const { name } of tables.rows) {
    const rows = await database.query(`select from ${name} as t where t::text like any ($1)`, [
      within,
    ]);
    if (rows.rows.length > 0) found.push(name);
  }
  return found;
}

test("what goes into a run and comes out of it is clear to who has the key, and to no other caller", async () => {
  const client = givenClient(codec);
  const token = Promise.withResolvers<string>();
  const inputs: unknown[] = [];
  const workflow = givenSteps(
    "sealed",
    {
      echo: (task) => ({ echo: task.input() }),
      defer: (task) => {
        token.resolve(task.callbackToken);
        return deferred();
      },
      choose: (task) => {
        inputs.push(task.input());
        if (inputs.length === 1) throw new PermanentError("no-such-thing", "There is none.");
        return "chosen";
      },
    },
    [
      { id: "echo", task: "echo" },
      { id: "paid", signal: "paid", needs: ["echo"] },
      { id: "defer", task: "defer", needs: ["paid"] },
      { id: "choose", task: "choose", needs: ["defer"], onFailure: "escalate" },
      { id: "done", task: "echo", needs: ["choose"], onFailure: "escalate" },
    ],
  );
  const input = { card: secret };
  // One that is alone, and two that share a call.
  const runs = await Promise.all([1, 2, 3].map(() => client.schedule({ workflow, input })));
  for (const { runId } of runs) expect((await client.getRun(runId)).run.input).toEqual(input);
  const runId = runs[0]?.runId ?? "";
  await client.signal(runId, "paid", { payload: { by: secret } });
  await client.completeDeferred(await token.promise, { output: { parcel: secret } });
  for await (const { run } of client.watchRun(runId)) if (run.state === "ESCALATED") break;
  const { escalations } = await client.escalations.list();
  const asked = escalations.find((one) => one.runId === runId)?.id ?? "";
  const answer = { answer: "retry-changed", by: "ada", payload: { choice: secret } } as const;
  await client.escalations.resolve(runId, asked, answer);
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED", input });

  expect(inputs).toEqual([input, { choice: secret }]);
  const every = { attempts: true, signals: true };
  const clear = await client.getRun(runId, every);
  expect(clear.steps.map(({ output }) => output)).toEqual([
    { echo: input },
    { by: secret },
    { parcel: secret },
    "chosen",
    { echo: input },
  ]);
  expect(clear.attempts[0]?.output).toEqual({ echo: input });
  expect(clear.signals[0]?.payload).toEqual({ by: secret });

  const sealed = await givenClient().getRun(runId, every);
  for (const value of [
    sealed.run.input,
    ...sealed.steps.map(({ output }) => output),
    sealed.attempts[0]?.output,
    sealed.signals[0]?.payload,
  ]) {
    expect(value).toBeInstanceOf(Uint8Array);
  }
  expect(await tablesWith(secret)).toEqual([]);
});

test("a run that is done again from a step has its new input sealed, too", async () => {
  const client = givenClient(codec);
  const workflow = givenSteps("again", { echo: (task) => task.input() }, [
    { id: "echo", task: "echo" },
  ]);
  const { runId } = await client.schedule({ workflow, input: secret });
  await client.waitRun(runId);
  const rerun = await client.rerunFrom(runId, "", { input: { other: secret } });
  await client.waitRun(rerun.runId);
  const { run, steps } = await client.getRun(rerun.runId);
  expect([run.input, steps[0]?.output]).toEqual([{ other: secret }, { other: secret }]);
  expect(await tablesWith(secret)).toEqual([]);
});

test("the same input under the same key is the same run, from another caller too", async () => {
  const workflow = givenSteps("once", { echo: (task) => task.input() }, [
    { id: "echo", task: "echo" },
  ]);
  const spec = { workflow, key: "trip-1", input: { to: secret } };
  const first = await givenClient(codec).schedule(spec);
  const anew = givenClient(aesGcmCodec(new Uint8Array(32).fill(7)));
  expect(await anew.schedule(spec)).toMatchObject({ runId: first.runId, created: false });
  await expect(anew.schedule({ ...spec, input: { to: "Porto" } })).rejects.toMatchObject({
    reason: "KEY_REUSED",
  });
});

test("runs of a batch and of a calendar have their inputs sealed", async () => {
  const client = givenClient(codec);
  await client.registerWorkflow(
    givenSteps("regular", { echo: (task) => task.input() }, [{ id: "echo", task: "echo" }]),
  );
  const input = [secret];
  const [one] = await client.scheduleBatch([{ workflow: "regular", input }]);
  const calendar = { cron: "0 0 1 1 *" };
  await client.schedules.create("yearly", { calendar, workflow: "regular", input });
  const two = await client.schedules.trigger("yearly");
  for (const runId of [one && "runId" in one ? one.runId : "", two.runId]) {
    await client.waitRun(runId);
    const { run, steps } = await client.getRun(runId);
    expect([run.input, steps[0]?.output]).toEqual([input, input]);
  }
  expect(await tablesWith(secret)).toEqual([]);
});

test("the form of a decision is clear, since the server holds it against its schema", async () => {
  const client = givenClient(codec);
  const form = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] };
  const workflow = { workflow: "asks", steps: [{ id: "ask", approval: { form } }] };
  const { runId } = await client.schedule({ workflow });
  const decision = { decision: "approve", approver: "ada" } as const;
  const filled = { amount: 12, note: "clear-5d1c" };
  await expect(client.decide(runId, "ask", { ...decision, form: {} })).rejects.toThrow(/amount/);
  await client.decide(runId, "ask", { ...decision, form: filled });
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
  const { decisions } = await client.getRun(runId, { decisions: true });
  expect(decisions[0]?.form).toEqual(filled);
  expect(await tablesWith("clear-5d1c")).not.toEqual([]);
});

test("what the codec has not made is read as it is, and what it cannot open ends the call", async () => {
  const workflow = { workflow: "waits", steps: [{ id: "wait", wait: "1ms" as const }] };
  const plain = givenClient();
  const clear = await plain.schedule({ workflow, input: "in clear" });
  const data = await plain.schedule({ workflow, input: bytes(new Uint8Array([1, 2])) });
  const other = givenClient(aesGcmCodec(new Uint8Array(32).fill(8)));
  const foreign = await other.schedule({ workflow, input: secret });
  const client = givenClient(codec);
  expect((await client.getRun(clear.runId)).run.input).toBe("in clear");
  expect((await client.getRun(data.runId)).run.input).toEqual(Buffer.from([1, 2]));
  await expect(client.getRun(foreign.runId)).rejects.toThrow(
    "A payload cannot be opened with the key that is given.",
  );
});
