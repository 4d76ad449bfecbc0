// drover approval list, show and decide, and what status and doctor say of approvals, against a
// real server.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, createClient } from "../../../sdk/typescript/client.ts";
import { callDrover } from "../../support/drover-call.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { until } from "../../support/until.ts";

let server: TestServer;
let client: Client;
let runId = "";
beforeAll(async () => {
  server = await startDroverServer();
  client = createClient({ address: server.address });
  const form = {
    type: "object",
    required: ["reason"],
    properties: { reason: { type: "string" }, cents: { type: "integer" } },
  };
  const approval = { approvers: ["treasury", "ada"], form, onExpiry: "reject" } as const;
  const workflow = { workflow: "release-funds", steps: [{ id: "approve", approval }] };
  ({ runId } = await client.schedule({ workflow, key: "order-17", input: { cents: 1_200 } }));
});
afterAll(async () => {
  client?.close();
  await server?.stop();
});

const drover = (...args: readonly string[]) =>
  callDrover([...args], { env: { DROVER_ADDRESS: server.address } });

test("list names the approvals of a person, and the command that shows the first", async () => {
  const all = await drover("approval", "list");
  expect(all.stdout).toMatch(
    /^RUN +STEP +WORKFLOW +APPROVERS +APPROVED +SINCE +DEADLINE\n\S+ +approve +release-funds +treasury, ada +0 of 1 +\S+ \S+Z +\S+ \S+Z, then reject\n$/,
  );
  expect(all.stderr).toBe(`  next: drover approval show ${runId} approve\n`);
  expect((await drover("approval", "list", "--for", "zorro")).stderr).toBe("no approval waits\n");
  const roles = ["--for", "zorro", "--role", "treasury", "-o", "jsonl"];
  expect((await drover("approval", "list", ...roles)).stdout).toContain('"stepId":"approve"');
});

test("show has the form and the input, and the complete command that decides", async () => {
  const { stdout, stderr, code } = await drover("approval", "show", "key:order-17", "approve");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^approvers +treasury, ada$/m);
  expect(stdout).toMatch(/^run input +\{"cents":1200\}$/m);
  expect(stderr).toBe(
    `  next: drover approval decide ${runId} approve --approve --by NAME --form '{"reason":"TEXT","cents":0}'\n` +
      `  next: drover approval decide ${runId} approve --reject --by NAME --reason TEXT\n`,
  );
  const none = await drover("approval", "show", "key:order-17", "pay");
  expect(none.code).toBe(4);
  expect(none.stderr).toContain(
    'the step "pay" of this run does not wait for approval: it waits for approval of "approve"',
  );
});

test("show has the outputs of the steps that the approval needs", async () => {
  const approval = { approvers: ["ada"], within: 3_600_000, onExpiry: "reject" } as const;
  const steps = [
    { id: "count", run: "counts" },
    { id: "other", wait: "1ms" },
    { id: "agree", needs: ["count"], approval },
  ];
  await client.registerWorkflow({
    workflow: "counts",
    steps: [{ id: "go", signal: { name: "go" } }],
  });
  const { runId: asks } = await client.schedule({ workflow: { workflow: "agrees", steps } });
  const child = await until("the child run has started", async () => {
    const { steps: now } = await client.getRun(asks);
    return now.find(({ id }) => id === "count")?.childRunId || null;
  });
  await client.signal(child, "go", { payload: { cents: 3 } });
  const show = () => drover("approval", "show", asks, "agree");
  await expect.poll(async () => (await show()).code).toBe(0);
  const { stdout } = await show();
  expect(stdout).toMatch(/^output of count +\{.*"cents":3.*\}$/m);
  expect(stdout).not.toContain("output of other");
  await client.cancelRun(asks, { reason: "shown" });
});

test("status and doctor say that an approval waits", async () => {
  const status = await drover("status");
  expect(status.stdout).toContain("approve of release-funds waits for approval by treasury, ada");
  expect(status.stdout).toContain(`drover approval show ${runId} approve`);
  const doctor = await drover("doctor");
  expect(doctor.stdout).toContain("1 run waits for approval, and no hook has the event");
  await client.hooks.put("inbox", {
    url: "https://hooks.example.com/",
    events: ["approval-requested"],
    secret: "a secret of sixteen",
  });
  expect((await drover("doctor")).stdout).toContain("1 run waits for approval; notified: inbox");
});

test("a refused decision names the command with the form, and a good one is recorded", async () => {
  const decide = ["approval", "decide", "key:order-17", "approve", "--approve", "--by"];
  const without = await drover(...decide, "ada");
  expect(without.code).toBe(1);
  expect(without.stderr).toContain("This approval needs a form: reason (text) is required.");
  expect(without.stderr).toContain("drover approval show RUN STEP prints the approvers");
  const form = ["--form", '{"reason":"checked"}', "--reason", "by phone"];
  const done = await drover(...decide, "ada", ...form);
  expect(done.stdout).toContain("ada approved approve");
  const { stderr } = await drover("approval", "list");
  expect(stderr).toBe("no approval waits\n");
});
