/**
 * The list of the audit: newest first, by filter, in pages; and who may read it.
 */
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTokenInDatabase } from "../../../server/first-token.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { at, listAt, textAt } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { ask } from "./audit-calls.ts";

const WORKFLOW = `workflow: audited
steps:
  - id: work
    task: work
    queue: audited
`;
const why = { reason: "because" };

let database: TestDatabase;
let server: TestServer;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startDroverServer(database.connectionString);
  await call("RegisterWorkflow", { text: WORKFLOW });
  for (let n = 0; n < 12; n++) {
    await call("PauseQueue", { queue: "slow", ...why });
    await call("ResumeQueue", { queue: "slow" });
  }
  await call("PutHook", { name: "ops", url: "https://example.org/h", secret: "s".repeat(32) });
  await call("CordonAgent", { agentId: "a1", by: "ada" });
  await call("CreateNamespace", { name: "blue" });
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

async function call(method: string, body: object): Promise<unknown> {
  const answer = await ask(server, method, body);
  if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const runOf = (runId: string) => ({ run: { runId } });

async function start(): Promise<string> {
  return textAt(await call("Schedule", { workflow: { name: "audited" } }), "runId");
}

describe("the list", () => {
  const list = async (asked: object = {}) =>
    listAt(await call("ListAudit", asked), "entries") as readonly {
      readonly action: string;
      readonly time: string;
      readonly id: string;
    }[];

  it("has the newest first, and goes on page by page", async () => {
    const all = await list({ pageSize: 1_000 });
    expect(all.length).toBeGreaterThan(25);
    const times = all.map(({ time }) => Date.parse(time));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const seen: string[] = [];
    for (let pageToken = ""; ; ) {
      const page = await call("ListAudit", { pageSize: 7, pageToken });
      seen.push(...listAt(page, "entries").map((one) => textAt(one, "id")));
      pageToken = String(at(page, "nextPageToken") ?? "");
      if (pageToken === "") break;
    }
    expect(seen).toEqual(all.map(({ id }) => id));
  });

  it("can be of one subject, action, person, token or time", async () => {
    const runId = await start();
    await call("CancelRun", { ...runOf(runId), ...why });
    const subject = { kind: "run", name: runId };
    const [cancelled] = await list({ subject });
    expect(cancelled).toMatchObject({ action: "run.cancel", subject, by: "Jürgen", peer: /./ });
    expect(await list({ subject, actions: ["run.pause"] })).toEqual([]);
    expect(new Set((await list({ actions: ["hook.put"] })).map(({ action }) => action))).toEqual(
      new Set(["hook.put"]),
    );
    for (const one of await list({ by: "ada" })) expect(one).toMatchObject({ by: "ada" });
    expect(await list({ token: "nobody" })).toEqual([]);
    expect(await list({ before: "2020-01-01T00:00:00Z" })).toEqual([]);
    expect(await list({ after: cancelled?.time, subject })).toHaveLength(1);
  });

  it("refuses an action that there is not, and names those that there are", async () => {
    const { status, body } = await ask(server, "ListAudit", { actions: ["run.eat"] });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain("run.cancel");
  });
});

describe("with tokens", () => {
  let guarded: TestServer;
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const make = async (name: string, role: Role, namespace: string | null) =>
    (
      await createTokenInDatabase(database.connectionString, {
        name,
        role,
        by: "setup",
        ...(namespace === null ? { allNamespaces: true } : { namespace }),
      })
    ).secret;

  beforeAll(async () => {
    guarded = await startDroverServer(database.connectionString, { requireTokens: true });
  });
  afterAll(async () => {
    await guarded?.stop();
  });

  it("an entry has the verified token, beside the name that the caller claims", async () => {
    const secret = await make("night-shift", Role.OPERATOR, "default");
    await ask(guarded, "PauseQueue", { queue: "guarded" }, bearer(secret));
    const { body } = await ask(guarded, "ListAudit", { token: "night-shift" }, bearer(secret));
    expect(listAt(body, "entries")).toMatchObject([
      { action: "queue.pause", by: "Jürgen", tokenName: "night-shift", tokenRole: "ROLE_OPERATOR" },
    ]);
  });

  it("operators and admins of the namespace read it, and no other", async () => {
    const status = async (role: Role, of: string | null, asked: object) =>
      (await ask(guarded, "ListAudit", asked, bearer(await make(`r${role}`, role, of)))).status;
    expect(await status(Role.OPERATOR, "default", {})).toBe(200);
    expect(await status(Role.ADMIN, "default", {})).toBe(200);
    expect(await status(Role.VIEWER, "default", {})).toBe(403);
    expect(await status(Role.CLIENT, "default", {})).toBe(403);
    expect(await status(Role.ADMIN, "default", { namespace: "blue" })).toBe(403);
    expect(await status(Role.ADMIN, "default", { allNamespaces: true })).toBe(403);
    expect(await status(Role.ADMIN, null, { allNamespaces: true })).toBe(200);
  });

  it("what concerns all namespaces is in a list of its own", async () => {
    const admin = bearer(await make("root", Role.ADMIN, null));
    const asked = { name: "everywhere", role: "ROLE_ADMIN", allNamespaces: true, by: "ada" };
    await ask(guarded, "CreateToken", asked, admin);
    const created = { actions: ["token.create"], by: "ada" };
    const all = await ask(guarded, "ListAudit", { ...created, allNamespaces: true }, admin);
    expect(listAt(all.body, "entries")).toMatchObject([{ details: { name: "everywhere" } }]);
    const own = await ask(guarded, "ListAudit", created, admin);
    expect(JSON.stringify(own.body)).not.toContain("everywhere");
  });
});
