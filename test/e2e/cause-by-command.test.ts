/**
 * Incidents, each understood by a person with at most two commands: what is printed names
 * the cause and what to do next. The first command is `drover status`, or the one about what the
 * person knows: a run that does not end, or a schedule that starts nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callDrover } from "../support/drover-call.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { type Incidents, type Planted, plantIncidents } from "../support/planted-incidents.ts";

const COMMANDS_MAX = 2;

let server: TestServer;
let incidents: Incidents;
const ends: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  server = await startDroverServer();
  incidents = plantIncidents({ address: server.address, atEnd: (end) => ends.push(end) });
  await Promise.all(Object.values(incidents));
});
afterAll(async () => {
  await Promise.all(ends.map((end) => end()));
  await server?.stop();
});

/** What a person types in the namespace of an incident, and what is on the screen then. */
function terminal({ namespace }: Planted) {
  let typed = 0;
  return async (line: string): Promise<string> => {
    typed++;
    if (typed > COMMANDS_MAX) throw new Error(`more than ${COMMANDS_MAX} commands: ${line}`);
    const args = line.replace(/ \(.*| --namespace \S+/g, "").split(" ");
    const env = {
      DROVER_ADDRESS: server.address,
      DROVER_NAMESPACE: namespace,
      DROVER_USER: "ada",
    };
    const { stdout, stderr } = await callDrover(args.slice(1), { env });
    return `${stdout}${stderr}`;
  };
}

/** The command on the screen that begins so. */
function commandOn(screen: string, start: string): string {
  const found = screen.split("\n").find((line) => line.includes(start));
  if (!found) throw new Error(`no command ${start} in ${screen}`);
  return found.slice(found.indexOf(start));
}

describe("a map with failed items", () => {
  test("that were tolerated: the run has completed, and its items name their errors", async () => {
    const incident = await incidents.toleratedItems;
    const type = terminal(incident);
    const shown = await type(`drover run show ${incident.runId}`);
    expect(shown).toContain("completed, 1 warning");
    expect(shown).toContain("drover.items: 3 of 200 items failed, and 5 may");
    const items = await type(commandOn(shown, "drover run items"));
    for (const bad of [17, 101, 150])
      expect(items).toMatch(
        new RegExp(`^load\\[${bad}\\] .*bad-row: row ${bad} has no customer$`, "m"),
      );
  });

  test("none of which may fail: the failed one and its error, from the status", async () => {
    const incident = await incidents.failedItem;
    const type = terminal(incident);
    const status = await type("drover status");
    expect(status).toMatch(/^nightly-load load +bad-row: row 101 has no customer +1 /m);
    expect(status).toMatch(/^nightly-load load +drover\.items: 1 of 200 items failed, and 0 may /m);
    expect(status).toContain(incident.runId);
    const shown = await type(`drover run show ${incident.runId}`);
    expect(shown).toContain('"load" failed: drover.items: 1 of 200 items failed, and 0 may.');
    expect(shown).toContain(`next: drover run items ${incident.runId} load --state failed`);
  });
});

test("a paused workflow of a schedule: the pause, its reason, and the command that ends it", async () => {
  const type = terminal(await incidents.pausedWorkflow);
  const schedule = await type("drover schedule show reports");
  expect(schedule).toMatch(
    /^its runs are held, as workflow "hourly-report" is paused since .*: the disk is full\n {2}next: drover workflow resume hourly-report/m,
  );
  const status = await type("drover status");
  expect(status).toMatch(
    /^workflow "hourly-report" is paused and holds 1 schedule: the disk is full .*drover workflow resume hourly-report /m,
  );
});

test("a signal with a wrong name: refused with the right one, which the run waits for", async () => {
  const incident = await incidents.misnamedSignal;
  expect(incident.refusal).toContain('it takes: payment. Did you mean "payment"?');
  const why = await terminal(incident)(`drover run why ${incident.runId}`);
  expect(why).toMatch(/"paid" waits for the signal "payment"/);
  expect(why).toMatch(/^ {2}drover run signal \S+ payment/m);
});

test("a lost callback token: who has deferred the outcome, until when, and the command to complete it", async () => {
  const incident = await incidents.lostCallback;
  const why = await terminal(incident)(`drover run why ${incident.runId}`);
  expect(why).toMatch(
    /"deliver" waits for the outcome that courier-1 has deferred.*; in 24 h its outcome counts as unknown/,
  );
  expect(why).toMatch(/^ {2}drover run complete \S+ deliver --succeed, or --payload JSON/m);
});

test("two agents of one id, one of which fails: its instance, its error, and its cordon", async () => {
  const type = terminal(await incidents.failingTwin);
  const status = await type("drover status");
  expect(status).toMatch(
    /^agent "mail-1" \(.*instance (\w+)\) failed (\d+) of \2 attempts at "send".*; other agents succeed with 100 % of theirs +drover agent cordon mail-1 --instance \1 /m,
  );
  expect(status).toMatch(/^welcome send +no-template: the template welcome\.html is missing /m);
  const agents = await type("drover agent list");
  expect(agents).toContain('agent "mail-1" has 2 live instances');
});

test("a wrong output: the workflow, the path, and the value that came", async () => {
  const incident = await incidents.wrongOutput;
  const why = await terminal(incident)(`drover run why ${incident.runId}`);
  expect(why).toContain(
    '"quote" failed after 1 attempt: drover.schema: its output does not match output_schema: cents must be an integer, but is "nine hundred".',
  );
  expect(why).toContain(`drover run rerun ${incident.runId}`);
});

test("an agent that fails at every attempt: the agent, the error, and the runs that retry", async () => {
  const type = terminal(await incidents.failingAgent);
  const status = await type("drover status");
  expect(status).toMatch(
    /^agent "mailer-1" .* failed 30 of 30 attempts at "send" .*; no other agent attempted it +drover agent cordon mailer-1 /m,
  );
  expect(status).toMatch(/^newsletter send +smtp-421: too many connections +0 +30 /m);
  expect(status).toMatch(/^of these +30 retrying$/m);
});

test("a tenant without a free agent: which label has all slots, and since when", async () => {
  const incident = await incidents.starvedTenant;
  const type = terminal(incident);
  const why = await type(`drover run why ${incident.runId}`);
  expect(why).toContain('agents poll queue "default" for task "sync" and are busy');
  const queue = await type(commandOn(why, "drover queue show default"));
  expect(queue).toMatch(
    /^5 tasks wait while agents hold 4, each for \S+ or longer; of these, 4 have the label tenant=acme, 4 are of workflow sync-tenant; to serve the others, start another agent$/m,
  );
});

test("an approval that nobody has given: who may give it, and the command that does", async () => {
  const incident = await incidents.openApproval;
  const type = terminal(incident);
  const status = await type("drover status");
  expect(status).toMatch(/^approve of release-funds waits for approval by treasury, ada /m);
  const approval = await type(commandOn(status, "drover approval show"));
  expect(approval).toContain(`drover approval decide ${incident.runId} approve`);
});

test("a queue without agents: which agent to start", async () => {
  const type = terminal(await incidents.unservedQueue);
  const status = await type("drover status");
  expect(status).toMatch(/^no agent polls queue "gpu" for "encode" /m);
  const queue = await type(commandOn(status, "drover queue show gpu"));
  expect(queue).toContain(
    'no agent polls for "encode": start an agent that polls queue gpu for it',
  );
});

test("an agent whose clock is wrong: the agent, its host, and by how much", async () => {
  const type = terminal(await incidents.wrongClock);
  const doctor = await type("drover doctor");
  expect(doctor).toMatch(
    /^warn +agent clocks +the clock of agent "idle" \(host (\S+), .*\) is (1h00m|59m\d\ds) behind, so the times that it writes are wrong +run NTP on \1$/m,
  );
  expect(await type("drover agent list")).toMatch(
    /^idle .* alive, clock (1h00m|59m\d\ds) behind$/m,
  );
});

describe("a payment", () => {
  test("whose undo failed: why, and the answers that a person can give", async () => {
    const type = terminal(await incidents.failedUndo);
    const status = await type("drover status");
    expect(status).toContain("too-late: the payment of r-17 is settled");
    const question = await type(commandOn(status, "drover escalation show"));
    expect(question).toContain('"charge" could not be undone after 1 try');
    expect(question).toContain("drover escalation resolve");
  });

  test("whose outcome is unknown: the key to ask the bank by, and the answers", async () => {
    const type = terminal(await incidents.unknownPayment);
    const status = await type("drover status");
    expect(status).toContain('whether "charge" took effect is unknown');
    const question = await type(commandOn(status, "drover escalation show"));
    expect(question).toMatch(/^key +\S+\/charge\/\S*$/m);
    expect(question).toMatch(/^succeed +it is done/m);
    expect(question).toContain("drover escalation resolve");
  });
});
