// The command line against a real server: a run is steered and a question answered by commands.
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { deferred } from "../../../sdk/typescript/answers.ts";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { PermanentError, UnknownError } from "../../../sdk/typescript/task-errors.ts";
import { silentLog } from "../../support/agent-script.ts";
import { callDrover } from "../../support/drover-call.ts";
import type { Ended } from "../../support/drover-process.ts";
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

async function drover(line: string): Promise<Ended> {
  const ended = await callDrover(line.split(" "), { env: { DROVER_ADDRESS: server.address } });
  if (ended.code !== 0) throw new Error(`drover ${line}: ${ended.stderr}`);
  return ended;
}

test("a run is held, released, signalled and resumed to its end", async () => {
  const { runId } = await client.schedule({
    workflow: {
      workflow: "order",
      steps: [
        { id: "release", approval: { approvers: ["finance"] } },
        { id: "paid", signal: "paid", needs: ["release"] },
      ],
    },
  });
  const described = await drover(`run show ${runId}`);
  expect(described.stdout).toMatch(/^release +approval +waiting +for approval until \S+ \S+Z$/m);
  const watched = ["run", "watch", runId, "--until-person"];
  expect(await callDrover(watched, { env: { DROVER_ADDRESS: server.address } })).toMatchObject({
    code: 5,
    stdout: expect.stringContaining("run waits for a person: a step waits for approval"),
  });
  expect(described.stderr).toContain(`drover run decide ${runId} release --approve --by NAME`);
  expect((await drover(`run pause ${runId}`)).stdout).toBe(`run ${runId} is paused\n`);
  await drover(`run decide ${runId} release --approve --by ada --role finance`);
  await drover(`run resume ${runId}`);
  await drover(`run signal ${runId} paid --id p1 --payload {"amount":7}`);
  expect((await drover(`run signal ${runId} paid --id p1`)).stdout).toContain("was already sent");
  const { stdout } = await drover(`run watch ${runId}`);
  expect(stdout).toContain("run: completed after ");
  const output = (await drover(`run show ${runId} --settings`)).stdout;
  expect(output).toMatch(/ada \(not verified\) +approved/);
  expect(output).toMatch(/paid +p1 +paid +\{"amount":7\}/);
  expect(output).toMatch(/^release +approval.need +1 +default$/m);
});

test("a child run is described with its parent, and its parent with it", async () => {
  await client.registerWorkflow({ workflow: "inner", steps: [{ id: "paid", signal: "paid" }] });
  const { runId } = await client.schedule({
    workflow: { workflow: "outer", steps: [{ id: "in", run: "inner" }] },
  });
  const described = await drover(`run show ${runId}`);
  const [, child = ""] = /^in +run +waiting +for run (\S+) until /m.exec(described.stdout) ?? [];
  expect(described.stderr).toContain(`drover run show ${child}`);
  expect((await drover(`run show ${child}`)).stdout).toMatch(
    new RegExp(`^parent +${runId}, step in$`, "m"),
  );
  expect((await drover(`run list --parent ${runId}`)).stdout).toContain(child);
  expect((await drover(`run why ${runId}`)).stdout).toContain(`drover run why ${child}`);
  await drover(`run signal ${child} paid --id p1`);
  expect((await drover(`run watch ${runId}`)).stdout).toContain("run: completed");
  expect((await drover(`run show ${runId}`)).stdout).toMatch(/\{"paid":null\}/);
});

test("a step whose callback does not come is explained, and completed", async () => {
  const agent = createAgent({
    address: server.address,
    id: "courier",
    log: silentLog,
    handlers: { ship: () => deferred() },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const steps = [{ id: "ship", task: "ship" }];
  const { runId } = await client.schedule({ workflow: { workflow: "parcel", steps } });
  const command = `drover run complete ${runId} ship --succeed`;
  const why = await until("it waits for its callback", async () => {
    const { stdout } = await drover(`run why ${runId}`);
    return stdout.includes(command) ? stdout : null;
  });
  expect(why).toContain("waits for the outcome that courier has deferred");
  const { stdout } = await drover(
    `run complete ${runId} ship --payload {"parcel":7} --by ada --reason called`,
  );
  expect(stdout).toBe(`ship is reported as succeeded\nrun ${runId} is completed\n`);
  expect((await drover(`run show ${runId}`)).stdout).toContain('{"parcel":7}');
  expect((await drover(`audit list --subject run/${runId}`)).stdout).toMatch(/ada.*called/);
});

test("an output that is too large fails its step at the first try, and says by how much", async () => {
  const agent = createAgent({
    address: server.address,
    id: "bulk",
    log: silentLog,
    handlers: { give: () => "x".repeat(300 * 1_024) },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const steps = [{ id: "give", task: "give" }];
  const { runId } = await client.schedule({ workflow: { workflow: "large", steps } });
  for await (const { run } of client.watchRun(runId)) if (run.state === "FAILED") break;
  const cause =
    "drover.output: The output was refused: it has 307202 bytes and may have 262144: keep it in object storage and send its address";
  const outcome = `"give" failed after 1 attempt: ${cause}.`;
  for (const verb of ["show", "why"])
    expect((await drover(`run ${verb} ${runId}`)).stdout).toContain(outcome);
});

test("a question is found, read and answered", async () => {
  const agent = createAgent({
    address: server.address,
    id: "bank",
    log: silentLog,
    handlers: {
      transfer: () => {
        throw new UnknownError("no-answer", "the bank did not answer");
      },
    },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const steps = [{ id: "send", task: "transfer", effects: "once" as const }];
  const { runId } = await client.schedule({ workflow: { workflow: "transfer", steps } });
  for await (const { run } of client.watchRun(runId)) if (run.state === "ESCALATED") break;
  const listed = (await drover("escalation list")).stdout;
  const name = /^\S+\/\d+/m.exec(listed)?.[0] ?? "";
  expect(name.startsWith(`${runId}/`)).toBe(true);
  const described = await drover(`escalation show ${name}`);
  expect(described.stdout).toMatch(/^succeed +it is done; continue with --payload as its output$/m);
  expect(described.stdout).toContain("no-answer: the bank did not answer");
  const options = "--answer succeed --by ada --reason seen --payload 7";
  const { stdout } = await drover(`escalation resolve ${name} ${options}`);
  expect(stdout).toContain(`escalation ${name} answered: succeed\n`);
  expect((await drover(`escalation resolve ${name} ${options}`)).stdout).toContain(
    "was answered before",
  );
  expect((await drover("escalation list")).stderr).toBe("no escalation\n");
  expect((await drover("escalation list --all")).stdout).toContain(name);
  expect((await drover(`run watch ${runId}`)).stdout).toContain("run: completed");
  const output = (await drover(`run show ${runId}`)).stdout;
  expect(output).toMatch(/closed \S+ \S+Z: succeed, by ada \(not verified\): seen/);
});

test("queues, a workflow and the namespace are paused, explained, limited and resumed", async () => {
  const steps = [{ id: "charge", task: "charge", queue: "bank" }];
  const { runId } = await client.schedule({ workflow: { workflow: "payment", steps } });
  await drover("queue pause bank --reason mending");
  await drover("workflow pause payment --reason prices");
  await drover("namespace pause --reason moving");
  const agent = createAgent({
    address: server.address,
    id: "till",
    queues: ["bank"],
    log: silentLog,
    handlers: { charge: () => ({ charged: 7 }) },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const why = async () => (await drover(`run why ${runId}`)).stdout;
  expect(await why()).toContain('"charge" is held, as the workflow is paused (prices)');
  expect(await why()).toContain("drover workflow resume payment");
  await drover("workflow resume payment");
  expect(await why()).toContain('"charge" is held, as queue "bank" is paused (mending)');
  expect(await why()).toContain("drover queue resume bank");
  const listed = await drover("queue list");
  expect(listed.stdout).toMatch(/^bank +1 +\S+ \S+Z +0 +\d +since \S+ \S+Z: mending$/m);
  expect(listed.stderr).toContain("the namespace is paused since");
  await drover("queue limit bank --leased 3 --per-second 50");
  await drover("queue resume bank");
  expect(await why()).toContain('"charge" is held, as the namespace is paused (moving)');
  await drover("namespace resume");
  expect((await drover(`run watch ${runId}`)).stdout).toContain("run: completed");
  expect((await drover("queue limit bank --none")).stdout).toBe("queue bank limits: none\n");
});

test("the items of a map are listed, and those alone that are in a state", async () => {
  const agent = createAgent({
    address: server.address,
    id: "courier",
    queues: ["parcels"],
    log: silentLog,
    handlers: {
      ship: (task) => {
        if (task.item === 1) throw new PermanentError("no-such-street", "not on the map");
        return { parcel: task.item };
      },
    },
  });
  agent.start();
  onTestFinished(() => agent.stop());
  const map = { over: "3", task: "ship", queue: "parcels", tolerate: 1 };
  const steps = [{ id: "ship", map }];
  const { runId } = await client.schedule({ workflow: { workflow: "parcels", steps } });
  await client.waitRun(runId);
  const all = (await drover(`run items ${runId} ship`)).stdout;
  expect(all).toMatch(/^ship\[0\] .*succeeded/m);
  expect(all).toMatch(/^ship\[1\] .*failed/m);
  const failed = (await drover(`run items ${runId} ship --state failed -o jsonl`)).stdout;
  expect(
    failed
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ id: "ship[1]", error: { code: "no-such-street" } }]);
  expect((await drover(`run items ${runId} ship --limit 1`)).stderr).toContain("--limit 10");
  const none = await drover(`run items ${runId} ship --state leased`);
  expect(none).toMatchObject({ stdout: "", stderr: "no item is in such a state\n" });
});

test("a registered definition is printed, and what it prints can be applied again", async () => {
  const text = (timeout: string) =>
    `workflow: shown\ntimeout: ${timeout}\nsteps:\n  - id: a\n    wait: 1h\n`;
  await client.registerWorkflow(text("2h"));
  await client.registerWorkflow(text("3h"));
  const { stdout, stderr } = await drover("workflow show shown");
  expect({ stdout, stderr }).toEqual({ stdout: text("3h"), stderr: "" });
  const applied = await callDrover(["workflow", "apply", "-"], {
    env: { DROVER_ADDRESS: server.address },
    stdin: stdout,
  });
  expect(applied.stdout).toBe("shown v2 was already registered\n");
  expect((await drover("workflow show shown --version 2 --diff 1")).stdout.split("\n")).toEqual(
    expect.arrayContaining(["--- shown v1", "+++ shown v2", "-timeout: 2h", "+timeout: 3h"]),
  );
  expect((await drover("workflow show shown --stats")).stderr).toContain(
    "of all versions that ended",
  );
  const data = JSON.parse((await drover("workflow show shown -o json")).stdout);
  expect(data).toMatchObject({ definitionText: stdout, workflow: { name: "shown", version: 2 } });
});
