/** Each tool of `drover mcp` does what it says, for an assistant with the role operator. */
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { at, listAt } from "../../support/json-call.ts";
import { type McpSession, openMcp } from "../../support/mcp-session.ts";
import { until } from "../../support/until.ts";
import { echoStep, type GuardedWorld, onceStep, openGuardedWorld } from "./guarded-world.ts";

let world: GuardedWorld;
let mcp: McpSession;
beforeAll(async () => {
  world = await openGuardedWorld();
  const DROVER_TOKEN = await world.tokenOf(Role.OPERATOR, "planner");
  const env = { DROVER_ADDRESS: world.address, DROVER_TOKEN };
  mcp = await openMcp({ env, args: ["--by", "planner", "--role", "planning"] });
});
afterAll(async () => {
  await mcp?.close();
  await world?.close();
});

/** The data of an answer that is no refusal. */
async function done(name: string, args: Readonly<Record<string, unknown>> = {}) {
  const { isError, text, json } = await mcp.call(name, args);
  if (isError) throw new Error(text);
  return at(json, "data");
}

const yaml = (...steps: readonly object[]) => JSON.stringify({ workflow: "w", steps });

async function started(key: string, steps: readonly object[], input?: unknown): Promise<string> {
  const spec = { definition: yaml(...steps), key, ...(input === undefined ? {} : { input }) };
  return String(at(await done("start_inline_run", spec), "run_id"));
}

test("list_workflows lists what is registered, page by page", async () => {
  for (const name of ["first", "second"])
    await world.client.registerWorkflow({ workflow: name, steps: [echoStep] });
  const page = await done("list_workflows", { limit: 1 });
  expect(page).toMatchObject({ workflows: [{ name: "first", default_version: 1 }] });
  const next = await done("list_workflows", { page_token: at(page, "next_page_token") });
  expect(next).toMatchObject({ workflows: [{ name: "second" }], next_page_token: "" });
});

test("check_workflow lists every mistake with its position, and stores nothing", async () => {
  const text =
    "workflow: trip\nsteps:\n  - id: a\n    tsk: t\n  - id: b\n    task: t\n    needs: [c]\n";
  const checked = await done("check_workflow", { definition: text });
  expect(checked).toMatchObject({ valid: false });
  const places = listAt(checked, "problems").map((one) => [
    at(one, "path"),
    at(one, "line"),
    at(one, "column"),
  ]);
  expect(places).toEqual([
    ["steps[0].tsk", 4, 5],
    ["steps[0]", 3, 5],
    ["steps[1].needs[0]", 7, 13],
  ]);
  const good = await done("check_workflow", {
    definition: text.replace("tsk", "task").replace("[c]", "[a]"),
  });
  expect(good).toMatchObject({ valid: true, workflow: "trip", steps: ["a", "b"], problems: [] });
  const { workflows } = await world.client.listWorkflows();
  expect(workflows.map(({ name }) => name)).not.toContain("trip");
});

test("start_run starts one run for a key, however often it is called", async () => {
  await world.client.registerWorkflow({ workflow: "echoes", steps: [echoStep] });
  const spec = { workflow: "echoes", key: "trip-1", input: { to: "Rome" }, labels: { team: "a" } };
  const first = await done("start_run", spec);
  expect(first).toMatchObject({ key: "trip-1", created: true });
  expect(await done("start_run", spec)).toEqual({ ...Object(first), created: false });
  const other = await mcp.call("start_run", { ...spec, input: { to: "Oslo" } });
  expect(other.isError).toBe(true);
  expect(at(other.json, "refused", "reason")).toBe("KEY_REUSED");
  const { run } = await world.client.getRun({ key: "trip-1" });
  expect(run.labels).toEqual({ team: "a", requester: "planner", via: "mcp" });
});

test("start_inline_run refuses a definition with mistakes, and starts none", async () => {
  const refused = await mcp.call("start_inline_run", {
    definition: "workflow: w\nsteps:\n  - id: a\n",
    key: "with-mistakes",
  });
  expect(refused.isError).toBe(true);
  expect(at(refused.json, "refused")).toMatchObject({
    reason: "INVALID_DEFINITION",
    fields: [{ path: "steps[0]", line: 3, column: 5 }],
  });
  await expect(world.client.getRun({ key: "with-mistakes" })).rejects.toMatchObject({
    reason: "RUN_NOT_FOUND",
  });
});

test("a run is awaited, shown and found", async () => {
  const runId = await started("shown", [echoStep], { to: "Rome" });
  const waited = await done("wait_for_run", { run: runId });
  expect(waited).toMatchObject({
    ended: true,
    needs_person: false,
    run: { state: "COMPLETED", key: "shown" },
    outputs: [{ step: "echo", output: '{"to":"Rome"}' }],
  });
  expect(await done("show_run", { run: "key:shown" })).toMatchObject({
    run: { run_id: runId, state: "COMPLETED", workflow: "w", version: 0 },
    input: '{"to":"Rome"}',
    steps: [{ id: "echo", state: "SUCCEEDED", output: '{"to":"Rome"}' }],
    attempts: [{ step_id: "echo", outcome: "SUCCESS", agent_id: "worker" }],
  });
  const none = await done("show_run", { run: runId, step: "other" });
  expect(none).toMatchObject({ steps: [], attempts: [] });
  const found = await done("search_runs", { query: "state:completed label.via=mcp workflow:w" });
  expect(listAt(found, "runs").map((run) => at(run, "key"))).toContain("shown");
});

test("explain_run says what a run waits for, and who can act", async () => {
  const runId = await started("explained", [{ id: "paid", signal: "paid" }]);
  const explained = await done("explain_run", { run: runId });
  expect(explained).toMatchObject({
    wait: { waiting_for: "SIGNAL" },
    steps: [{ step_id: "paid", actions: [{ signal_name: "paid" }] }],
  });
  expect(String(at(explained, "wait", "sentence"))).toContain("paid");
});

test("wait_for_run gives up after its time, and says what to do", async () => {
  const runId = await started("slow", [{ id: "paid", signal: "paid" }]);
  const { json, drover } = await mcp.call("wait_for_run", { run: runId, seconds: 1 });
  expect(at(json, "data")).toMatchObject({ ended: false, needs_person: false });
  expect(drover).toMatch(/has not ended yet/);
});

test("send_signal sends one signal for an id", async () => {
  const runId = await started("signalled", [{ id: "paid", signal: "paid" }]);
  const spec = { run: runId, name: "paid", signal_id: "p-1", payload: { euros: 9 } };
  expect(await done("send_signal", spec)).toEqual({ signal_id: "p-1", repeated: false });
  expect(await done("send_signal", spec)).toEqual({ signal_id: "p-1", repeated: true });
  const waited = await done("wait_for_run", { run: runId });
  expect(waited).toMatchObject({ ended: true, outputs: [{ output: '{"euros":9}' }] });
});

test("pause_run, resume_run and cancel_run act once, and the audit names the assistant", async () => {
  const runId = await started("commanded", [{ id: "paid", signal: "paid" }]);
  const run = { run: runId };
  for (const _ of [1, 2])
    expect(await done("pause_run", { ...run, reason: "wrong rate" })).toMatchObject({
      run: { state: "PAUSED" },
    });
  expect(await done("resume_run", { ...run, reason: "right rate" })).toMatchObject({
    run: { state: "RUNNING" },
  });
  const cancel = { ...run, undo: "compensate", reason: "not needed" };
  for (const _ of [1, 2]) await done("cancel_run", cancel);
  await until("it is cancelled", async () =>
    (await world.client.getRun(runId)).run.state === "CANCELLED" ? true : null,
  );
  const common = { by: "planner", tokenName: "planner", tokenRole: "ROLE_OPERATOR" };
  expect(await world.auditOf(runId)).toMatchObject([
    { ...common, action: "run.cancel", reason: "not needed", details: { via: "mcp" } },
    { ...common, action: "run.resume", details: { via: "mcp" } },
    { ...common, action: "run.pause", reason: "wrong rate", details: { via: "mcp" } },
  ]);
});

test("an escalation is listed, shown and answered", async () => {
  const runId = await started("escalated", [onceStep], { fail: "the bank said no" });
  expect(await done("wait_for_run", { run: runId })).toMatchObject({ ended: true });
  const unclear = { id: "ask", task: "nobody", queue: "nobody", timeouts: { pickup: "1s" } };
  const asked = await started("asked", [{ ...unclear, on_pickup: "escalate" }]);
  expect(await done("wait_for_run", { run: asked })).toMatchObject({ needs_person: true });
  const listed = listAt(await done("list_needs_person"), "escalations");
  const one = listed.find((escalation) => at(escalation, "run_id") === asked);
  expect(one).toMatchObject({ step_id: "ask", escalation: "1" });
  const named = { run: asked, escalation: "1" };
  const shown = await done("show_escalation", named);
  expect(listAt(shown, "escalation", "answers")).toContain("skip");
  const answer = { ...named, answer: "skip", reason: "nothing is left to do" };
  expect(await done("answer_escalation", answer)).toMatchObject({ repeated: false });
  expect(await done("answer_escalation", answer)).toMatchObject({ repeated: true });
  expect(await done("wait_for_run", { run: asked })).toMatchObject({ ended: true });
  expect(await world.auditOf(asked)).toMatchObject([
    { action: "escalation.answer", by: "planner", details: { via: "mcp" } },
  ]);
});

test("an approval is decided under the name and the role of the server alone", async () => {
  const approval = { approvers: ["planning"] };
  const runId = await started(
    "approved",
    [
      { id: "go", approval },
      { ...echoStep, needs: ["go"] },
    ],
    {},
  );
  expect(await done("wait_for_run", { run: runId })).toMatchObject({ needs_person: true });
  const waiting = listAt(await done("list_needs_person"), "approvals");
  expect(waiting).toContainEqual(
    expect.objectContaining({ run_id: runId, step_id: "go", approvers: ["planning"] }),
  );
  const decide = { run: runId, step: "go", decision: "approve", reason: "it is cheap" };
  expect(await done("decide_approval", decide)).toMatchObject({ repeated: false });
  expect(await done("decide_approval", decide)).toMatchObject({ repeated: true });
  expect(await done("wait_for_run", { run: runId })).toMatchObject({ ended: true });
  const { decisions } = await world.client.getRun(runId, { decisions: true });
  expect(decisions).toMatchObject([
    { approver: "planner", approved: true, comment: "it is cheap" },
  ]);
  const claimed = await mcp.call("decide_approval", { ...decide, approver: "ada" });
  expect(claimed).toMatchObject({ isError: true, text: expect.stringContaining("approver") });
});

test("a run and the definition of a workflow are resources", async () => {
  await world.client.registerWorkflow({ workflow: "kept", steps: [echoStep] });
  const runId = await started("resource", [echoStep], {});
  const { resourceTemplates } = await mcp.client.listResourceTemplates();
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate).sort()).toEqual([
    "drover://runs/{run}",
    "drover://workflows/{name}",
  ]);
  const { resources } = await mcp.client.listResources();
  expect(resources.map(({ uri }) => uri)).toContain("drover://workflows/kept");
  const read = async (uri: string): Promise<unknown> => {
    const [content] = (await mcp.client.readResource({ uri })).contents;
    return JSON.parse(content !== undefined && "text" in content ? content.text : "");
  };
  expect(await read("drover://workflows/kept")).toMatchObject({
    data: { name: "kept", version: 1, definition: expect.stringContaining("task: echo") },
  });
  expect(await read(`drover://runs/${runId}`)).toMatchObject({ data: { run: { run_id: runId } } });
});

test("each tool says whether it changes something, and every answer has a schema", async () => {
  const { tools } = await mcp.client.listTools();
  const names = (of: typeof tools) => of.map(({ name }) => name).sort();
  expect(names(tools.filter(({ annotations }) => !annotations?.readOnlyHint))).toEqual([
    "answer_escalation",
    "cancel_run",
    "decide_approval",
    "pause_run",
    "resume_run",
    "send_signal",
    "start_inline_run",
    "start_run",
  ]);
  expect(names(tools.filter(({ annotations }) => annotations?.destructiveHint))).toEqual([
    "answer_escalation",
    "cancel_run",
    "decide_approval",
  ]);
  for (const { name, annotations, inputSchema, outputSchema } of tools) {
    expect(annotations?.idempotentHint, name).toBe(true);
    expect(inputSchema, name).toHaveProperty("additionalProperties", false);
    expect(outputSchema, name).toHaveProperty("properties.data.properties");
  }
});

test("a client of the newest protocol version gets the same tools", async () => {
  const env = { DROVER_ADDRESS: world.address };
  const client = { versionNegotiation: { mode: "auto" } } as const;
  const newest = await openMcp({ env, args: ["--read-only"], client });
  onTestFinished(newest.close);
  expect(newest.client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  expect(await newest.toolNames()).toContain("explain_run");
  const checked = await newest.call("check_workflow", { definition: yaml(echoStep) });
  expect(at(checked.json, "data", "valid")).toBe(true);
});
