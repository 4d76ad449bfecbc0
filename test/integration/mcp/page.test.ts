/** What docs/MCP.md shows works: its commands, its settings of clients, and its list of tools. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { PERMISSIONS } from "../../../server/api/auth/roles.ts";
import { drover } from "../../support/drover-process.ts";
import { at } from "../../support/json-call.ts";
import { type McpSession, openMcp } from "../../support/mcp-session.ts";
import { treeRoot } from "../../support/tree.ts";
import { type GuardedWorld, openGuardedWorld } from "./guarded-world.ts";

const page = readFileSync(join(treeRoot, "docs/MCP.md"), "utf8");

function blocks(language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(
    ([, text = ""]) => text,
  );
}

let world: GuardedWorld;
let home: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  world = await openGuardedWorld();
  home = mkdtempSync(join(tmpdir(), "drover-mcp-page-"));
  const DROVER_TOKEN = await world.tokenOf(Role.ADMIN, "person");
  env = { XDG_CONFIG_HOME: home, DROVER_USER: "ada", DROVER_ADDRESS: world.address, DROVER_TOKEN };
});
afterAll(async () => {
  await world?.close();
  rmSync(home, { recursive: true });
});

/** Runs a line of a shell: a command, perhaps with its output to a file. */
async function runLine(line: string): Promise<string> {
  const [command = "", file] = line.split(" > ");
  const [, ...args] = command.replace("127.0.0.1:7420", world.address).split(" ");
  const { code, stdout, stderr } = await drover(args, { env, cwd: home });
  expect(code, `${line}\n${stderr}`).toBe(0);
  if (file !== undefined) writeFileSync(join(home, file), stdout);
  return stdout;
}

async function openEntry(entry: unknown): Promise<McpSession> {
  expect(at(entry, "command")).toBe("drover");
  const [verb, ...args] = [at(entry, "args")].flat().map(String);
  expect(verb).toBe("mcp");
  const session = await openMcp({ args, env: { XDG_CONFIG_HOME: home }, cwd: home });
  onTestFinished(session.close);
  return session;
}

test("the commands make an identity, the settings start servers, and the audit shows it", async () => {
  const [setUp = "", audit = ""] = blocks("sh");
  for (const line of setUp.trim().split("\n")) await runLine(line);
  writeFileSync(join(home, "viewer.token"), await world.tokenOf(Role.VIEWER, "viewer"));
  const add = `drover context add production --address ${world.address} --token-file viewer.token`;
  await runLine(add);

  const [one, two] = blocks("json").map((text): unknown => JSON.parse(text));
  const planner = await openEntry(at(one, "mcpServers", "drover"));
  const definition = '{"workflow": "w", "steps": [{"id": "s", "signal": "s"}]}';
  expect(await planner.call("start_inline_run", { definition, key: "k" })).toMatchObject({
    isError: false,
  });
  const paused = await planner.call("pause_run", { run: "key:k", reason: "r" });
  expect(paused.isError, paused.text).toBe(false);
  expect(await runLine(audit.trim())).toMatch(/run\.pause .*planner.* via=mcp/);
  expect(await runLine("drover run list label.via=mcp")).toContain("w");

  const sandbox = await openEntry(at(two, "mcpServers", "drover-sandbox"));
  expect(await sandbox.toolNames()).toContain("cancel_run");
  const production = await openEntry(at(two, "mcpServers", "drover-production"));
  expect(await production.toolNames()).not.toContain("cancel_run");
  expect((await production.call("show_run", { run: "key:k" })).isError).toBe(false);
});

test("the answers that it shows have the keys that answers have", async () => {
  const [, , answer, refusal] = blocks("json").map((text): unknown => JSON.parse(text));
  const DROVER_TOKEN = await world.tokenOf(Role.VIEWER, "reader");
  const mcp = await openMcp({
    env: { DROVER_ADDRESS: world.address, DROVER_TOKEN },
    args: ["--by", "reader"],
  });
  onTestFinished(mcp.close);
  const listed = await mcp.call("list_needs_person");
  expect(Object.keys(Object(answer))).toEqual(Object.keys(Object(listed.json)));
  expect(at(answer, "drover")).toBe(listed.drover);
  const refused = await mcp.call("pause_run", { run: "x", reason: "r" });
  expect(refused.json).toMatchObject(Object(refusal));
});

test("the table has each tool, with the weakest role that may call it", async () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| .* \| (.*) \|$/gm)].map(([, name = "", role]) => {
    return [name, role] as const;
  });
  const mcp = await openMcp({ env: { DROVER_ADDRESS: world.address }, args: ["--by", "x"] });
  onTestFinished(mcp.close);
  expect(rows.map(([name]) => name)).toEqual(await mcp.toolNames());
  const weakest = (call: string) => PERMISSIONS.get(`drover.v1.${call}`)?.roles[0];
  const written: Readonly<Record<string, string | undefined>> = {
    viewer: weakest("OperatorService/ListEscalations"),
    client: weakest("SchedulerService/Schedule"),
    operator: weakest("SchedulerService/PauseRun"),
  };
  expect(written).toEqual({ viewer: "viewer", client: "client", operator: "operator" });
  const callOf: Readonly<Record<string, string>> = {
    list_needs_person: "OperatorService/ListApprovals",
    show_escalation: "OperatorService/GetEscalation",
    answer_escalation: "OperatorService/ResolveEscalation",
    decide_approval: "SchedulerService/Decide",
    start_run: "SchedulerService/Schedule",
    start_inline_run: "SchedulerService/Schedule",
    send_signal: "SchedulerService/Signal",
    pause_run: "SchedulerService/PauseRun",
    resume_run: "SchedulerService/ResumeRun",
    cancel_run: "SchedulerService/CancelRun",
  };
  for (const [name, role = ""] of rows) {
    const call = callOf[name];
    if (call !== undefined) expect(role.split(",")[0], name).toBe(weakest(call));
  }
});
