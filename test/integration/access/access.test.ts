/**
 * Deny by default: every RPC and every HTTP route, called by every role, about its own namespace,
 * another one and none. What is not allowed is refused, and nothing of another namespace is seen:
 * its objects answer like objects that do not exist.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  formatCallbackToken,
  formatTaskToken,
  parseTaskToken,
} from "../../../server/dispatch/token.ts";
import { at } from "../../support/json-call.ts";
import { grpcClient } from "../api/rpc-clients.ts";
import {
  CALLERS,
  type Caller,
  isAllowed,
  NAMED,
  PUBLIC,
  ROUTES,
  RPCS,
  type Rpc,
  SUPERVISOR_ROUTES,
  TRIGGER_ROUTE,
} from "./rows.ts";
import {
  type Answer,
  absent,
  callRpc,
  namesOf,
  type Planted,
  plantWorld,
  type World,
} from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await plantWorld();
});
afterAll(() => world?.close());

const isStream = ({ method }: Rpc) => method.methodKind === "server_streaming";

/** About objects of `of`; in the namespace of `of`, if no other is named. */
function call(
  rpc: Rpc,
  caller: Caller | { readonly token: string | null },
  of: Planted,
  namespace = of.namespace,
): Promise<Answer> {
  const token = typeof caller === "string" ? world.tokens[caller] : caller.token;
  const body = { ...(rpc.isNamespaced ? { namespace } : {}), ...rpc.request(of) };
  return callRpc(world.server, rpc.path, body, token, isStream(rpc));
}

/** What an answer says, but for what differs with each call: names that were sent, ids, times. */
function formOf({ status, code, text }: Answer, sent: Planted): string {
  const details = text.replaceAll(/"value":\s*"([A-Za-z0-9+/]*={0,2})"/g, (_, value: string) =>
    Buffer.from(value, "base64").toString("latin1"),
  );
  const session = Buffer.from(sent.session, "base64").toString("hex");
  const names = [...Object.values({ ...sent, canary: "-", namespace: "-" }), session].map((name) =>
    typeof name === "string" ? name : name.runId,
  );
  const plain = [...names, sent.canary]
    .toSorted((a, b) => b.length - a.length)
    .reduce((shown, name) => (name === "-" ? shown : shown.replaceAll(name, "NAME")), details)
    .replaceAll(`absent${sent.namespace}`, "NAME")
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UUID")
    .replaceAll(/drover_[\w-]{43}/g, "SECRET")
    .replaceAll(/"id":"[0-9a-f]{16}"/g, "ID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/"(clockDifference|waited|lag)":"-?[\d.]+s"/g, "TOOK")
    .replaceAll(/"cursor":"[^"]+"/g, "CURSOR");
  // Lengths of names are in the details, as protobuf writes them.
  return `${status} ${code} ${plain.replaceAll(/[^\x20-\x7e]./g, "")}`;
}

const allowedCallers = ({ cells }: Rpc) =>
  CALLERS.filter((caller) => !caller.endsWith("*") && isAllowed(cells, caller, "own"));

describe("the table", () => {
  it("has 27 cells for each RPC and route, and none is empty", () => {
    for (const { cells } of [...RPCS, ...ROUTES]) expect(cells).toMatch(/^([+-]{3} ){8}[+-]{3}$/);
  });

  it("has a row for every path that the sources of the server name", () => {
    const root = join(import.meta.dirname, "../../../server");
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
      (file) => /^(main\.ts|api\/)/.test(file) && file.endsWith(".ts"),
    );
    const found = files.flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/["'`](\/[a-z][\w./-]*)["'`]/g)].map(
        ([, path = ""]) => path,
      ),
    );
    const known = [...ROUTES.map(({ path }) => path), TRIGGER_ROUTE, ...SUPERVISOR_ROUTES];
    expect([...new Set(found)].toSorted()).toEqual([...new Set(known)].toSorted());
  });
});

describe("nothing of another namespace is in an answer", () => {
  const reads = RPCS.filter(({ method }) => /^(Get|List|Watch|Wait|Explain)/.test(method.name));
  const shows = (answer: Answer, { canary, run }: Planted) =>
    answer.text.includes(canary) || answer.text.includes(run.runId);

  it.for(reads.map((rpc) => [rpc.path, rpc] as const))("%s", async ([, rpc]) => {
    const { own, other } = world;
    for (const caller of allowedCallers(rpc)) {
      for (const answer of [
        await call(rpc, caller, own),
        await call({ ...rpc, request: pageOnly(rpc) }, caller, own),
      ])
        expect([caller, shows(answer, other) ? answer.text : ""]).toEqual([caller, ""]);
    }
  });

  it("although its own callers see their canary in each of these", async () => {
    const { other, ofOther } = world;
    const blind = await Promise.all(
      reads.map(async (rpc) => {
        const token = rpc.cells.endsWith("--- --- +++ +++ +++") ? world.admin : ofOther;
        const answers = [
          await call(rpc, { token }, other),
          await call({ ...rpc, request: pageOnly(rpc) }, { token }, other),
        ];
        return answers.some((answer) => shows(answer, other)) ? [] : [rpc.method.name];
      }),
    );
    expect(blind.flat().toSorted()).toEqual(WITHOUT_CANARY);
  });

  it("nor in an error about it", async () => {
    for (const rpc of RPCS)
      for (const caller of CALLERS.filter((one) => !one.endsWith("*"))) {
        const answer = await call(rpc, caller, absent(world.own), world.other.namespace);
        expect([rpc.path, caller, shows(answer, world.other)]).toEqual([rpc.path, caller, false]);
      }
  });

  it("nor by a page token of its lists, which is refused like any other text", async () => {
    const lists = reads.filter(({ method }) =>
      method.input.fields.some(({ localName }) => localName === "pageToken"),
    );
    const tried: string[] = [];
    for (const rpc of lists.filter(({ isNamespaced }) => isNamespaced)) {
      const page = (pageToken: string, of: Planted, token: string | null) =>
        callRpc(
          world.server,
          rpc.path,
          { namespace: of.namespace, ...listOf(rpc, of), pageSize: 1, pageToken },
          token,
        );
      const first = await page("", world.other, world.ofOther);
      const next = at(JSON.parse(first.text), "nextPageToken");
      if (typeof next !== "string" || next === "") continue;
      tried.push(rpc.method.name);
      const foreign = await page(next, world.own, world.tokens.admin);
      const garbage = await page("AAAA", world.own, world.tokens.admin);
      expect([rpc.path, foreign]).toEqual([rpc.path, garbage]);
      expect(foreign.code).toBe("invalid_argument");
    }
    expect(tried.length).toBeGreaterThan(5);
  });
});

// After the reads: some of these calls make objects of the same names in the caller's namespace.
describe("an object of another namespace answers like one that does not exist", () => {
  let before: string;
  beforeAll(async () => {
    before = await rowsOfOther();
  });

  const named = RPCS.filter(({ request }) => saysName(request));
  it.for(named.map((rpc) => [rpc.path, rpc] as const))("%s", async ([, rpc]) => {
    for (const caller of allowedCallers(rpc)) {
      const { other, own } = world;
      const missing = absent(other);
      // A token that says another namespace is refused before anything is looked up.
      const foreign = await call(rpc, caller, other, own.namespace);
      const none = await call(rpc, caller, missing, own.namespace);
      // A session is 128 random bits, so that it is used says nothing to a caller who guesses.
      if (rpc.method.name === "Heartbeat") expect(foreign.text).toContain("agent.session belongs");
      else expect([caller, formOf(foreign, other)]).toEqual([caller, formOf(none, missing)]);
    }
  });

  it("even if its task token is changed to name the caller's namespace", async () => {
    const { own, other, neighbour, tokens } = world;
    const parsed = parseTaskToken(other.taskToken);
    if (!parsed) throw new Error("no task token");
    const different: string[] = [];
    for (const { namespace, token } of [neighbour, { ...own, token: tokens.admin }]) {
      const forged = { ...parsed, namespace };
      const missing = absent({ ...other, namespace });
      const stolen = {
        ...missing,
        run: { runId: parsed.runId },
        taskToken: formatTaskToken(forged),
        callbackToken: formatCallbackToken(forged),
      };
      for (const rpc of RPCS.filter(({ method }) => takesToken(method.name))) {
        const answer = formOf(await call(rpc, { token }, stolen), stolen);
        const none = formOf(await call(rpc, { token }, missing), missing);
        if (answer !== none)
          different.push(`${rpc.method.name}, ${namespace}: ${answer}; not ${none}`);
      }
    }
    expect(different).toEqual([]);
  });

  it("and all of that has changed no row of it", async () => {
    expect(await rowsOfOther()).toBe(before);
  });
});

describe("an RPC is answered to those alone who may call it", () => {
  it.for(RPCS.map((rpc) => [rpc.path, rpc] as const))("%s", async ([, rpc]) => {
    const wrong: string[] = [];
    for (const caller of CALLERS)
      for (const named of NAMED) {
        const allowed = isAllowed(rpc.cells, caller, named);
        // What is allowed would change the objects that the other cells are about.
        const of = allowed ? absent(world[named]) : world[named];
        const { code, text } = await call(rpc, caller, {
          ...of,
          namespace: world[named].namespace,
        });
        const denied = caller === "none" ? "unauthenticated" : "permission_denied";
        const right = allowed
          ? !/^(unauthenticated|permission_denied)$/.test(code)
          : code === denied;
        if (!right || code === "internal") wrong.push(`${caller}, ${named}: ${code} ${text}`);
      }
    expect(wrong).toEqual([]);
  });

  it("over gRPC, too", async () => {
    const client = grpcClient(Number(world.server.address.split(":").at(-1)));
    for (const { method, cells, path } of RPCS.filter((rpc) => !isStream(rpc))) {
      const { reason } = await client.raw(method, toBinary(method.input, create(method.input)));
      expect([path, reason]).toEqual([path, cells === PUBLIC ? "" : "TOKEN_REQUIRED"]);
    }
    client.close();
  });
});

describe("a route is answered to those alone who may read it", () => {
  it.for(ROUTES.map((route) => [route.path, route] as const))("%s", async ([, route]) => {
    for (const caller of CALLERS)
      for (const named of NAMED) {
        const { method, url } = route.request(world[named]);
        const { status } = await fetchAs(caller, method, url);
        const denied = caller === "none" ? 401 : 403;
        const seen = status === 401 || status === 403 ? status : "answered";
        const expected = isAllowed(route.cells, caller, named) ? "answered" : denied;
        expect([caller, named, seen]).toEqual([caller, named, expected]);
      }
  });

  it("a trigger answers whoever has no secret of it alike, whether it exists or not", async () => {
    const answers = new Set<string>();
    for (const caller of CALLERS)
      for (const of of [world.own, world.other, absent(world.other), world.none]) {
        const path = `/hooks/${of.namespace || "default"}/${of.trigger}`;
        const { status, text } = await fetchAs(caller, "POST", path, "{}");
        answers.add(`${status} ${text}`);
      }
    expect([...answers]).toEqual([expect.stringMatching(/^401 /)]);
  });

  it("an address that leads nowhere reveals nothing", async () => {
    for (const caller of CALLERS)
      expect((await fetchAs(caller, "GET", "/partitions")).status).toBe(404);
  });
});

/** Reads whose answers contain nothing that a namespace has chosen. */
const WITHOUT_CANARY: readonly string[] = [
  "GetClusterInfo",
  "GetLimits",
  "List",
  "ListHandOvers",
  "ListItems",
  "ListPartitions",
  "ListSupervisors",
  "Watch",
];

async function fetchAs(caller: Caller, method: string, path: string, body?: string) {
  const token = world.tokens[caller];
  const response = await fetch(`${world.server.url}${path}`, {
    method,
    headers: {
      "content-type": "application/json",
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body }),
  });
  return { status: response.status, text: await response.text() };
}

const takesToken = (name: string) =>
  ["Heartbeat", "Complete", "AppendLogs", "CompleteDeferred"].includes(name);

/** Whether a request is about an object, and not about a namespace alone. */
const saysName = (request: Rpc["request"]) =>
  JSON.stringify(request(namesOf("a"))) !== JSON.stringify(request(namesOf("b")));

/** A list without its filter. */
const pageOnly = (rpc: Rpc) => (of: Planted) => listOf(rpc, of);

function listOf({ method, request }: Rpc, of: Planted): object {
  const isPlain =
    /^List(Runs|Schedules|Deliveries|Triggers|Refusals|Agents|Interventions|Audit|Approvals)$/;
  return isPlain.test(method.name) ? {} : request(of);
}

/** Every row that a caller could have changed, of the other namespace. */
async function rowsOfOther(): Promise<string> {
  const db = new pg.Client({ connectionString: world.connectionString });
  await db.connect();
  try {
    const { rows: tables } = await db.query<{ name: string; by: string }>(
      `select c.relname as name, a.attname as by
       from pg_class as c
       join pg_namespace as n on n.oid = c.relnamespace and n.nspname = 'drover'
       join pg_attribute as a on a.attrelid = c.oid and a.attname in ('namespace_id', 'run_id')
       where c.relkind in ('r', 'p') and not c.relispartition
       order by c.relname, a.attname`,
    );
    const { rows: found } = await db.query<{ id: number }>(
      "select id from drover.namespace where name = $1",
      [world.other.namespace],
    );
    const parts: string[] = [];
    for (const { name, by } of tables) {
      const of =
        by === "namespace_id"
          ? "t.namespace_id = $1"
          : "t.run_id in (select r.id from drover.run as r where r.namespace_id = $1)";
      const { rows } = await db.query<{ line: string }>(
        `select t::text as line from drover.${name} as t where ${of} order by 1`,
        [found[0]?.id],
      );
      parts.push(`${name} ${by}`, ...rows.map(({ line }) => line));
    }
    return parts.join("\n");
  } finally {
    await db.end();
  }
}
