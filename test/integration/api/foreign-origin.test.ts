/**
 * What the browser of a person is made to send by a page of another site, on every route, with and
 * without tokens: it is refused, and no answer invites a browser to show it to another page.
 */
import { type IncomingHttpHeaders, request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startSupervisor } from "../../../server/main.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

type Port = "open" | "tokens" | "supervisor";
interface Route {
  readonly port: Port;
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  /** Of a browser whose own page it is: the status. */
  readonly own: number;
  /** Under any name: a server that requires tokens has the names of its proxies. */
  readonly underAnyName?: true;
}

const LIST = "/drover.v1.SchedulerService/ListRuns";
const START = "/drover.v1.SchedulerService/Schedule";
const JSON_TYPE = "application/json";
const FORM = "application/x-www-form-urlencoded";

const ROUTES: readonly Route[] = [
  { port: "open", method: "POST", path: LIST, type: JSON_TYPE, own: 200 },
  { port: "open", method: "POST", path: LIST, type: "text/plain", own: 415 },
  { port: "open", method: "POST", path: START, type: FORM, own: 415 },
  { port: "open", method: "POST", path: START, type: "multipart/form-data; boundary=b", own: 415 },
  { port: "open", method: "POST", path: LIST, type: "application/grpc-web+proto", own: 200 },
  { port: "open", method: "OPTIONS", path: LIST, own: 405 },
  { port: "open", method: "GET", path: "/healthz", own: 200 },
  { port: "open", method: "GET", path: "/readyz", own: 200 },
  { port: "open", method: "GET", path: "/metrics", own: 200 },
  { port: "open", method: "GET", path: "/nowhere", own: 404 },
  {
    port: "open",
    method: "POST",
    path: "/hooks/default/t",
    type: JSON_TYPE,
    own: 401,
    underAnyName: true,
  },
  {
    port: "open",
    method: "POST",
    path: "/hooks/default/t",
    type: "text/plain",
    own: 415,
    underAnyName: true,
  },
  { port: "tokens", method: "POST", path: LIST, type: JSON_TYPE, own: 401, underAnyName: true },
  { port: "tokens", method: "POST", path: START, type: FORM, own: 415, underAnyName: true },
  { port: "tokens", method: "OPTIONS", path: LIST, own: 405, underAnyName: true },
  { port: "tokens", method: "GET", path: "/healthz", own: 200, underAnyName: true },
  { port: "tokens", method: "GET", path: "/readyz", own: 200, underAnyName: true },
  { port: "tokens", method: "GET", path: "/metrics", own: 401, underAnyName: true },
  {
    port: "tokens",
    method: "POST",
    path: "/hooks/default/t",
    type: JSON_TYPE,
    own: 401,
    underAnyName: true,
  },
  { port: "supervisor", method: "GET", path: "/healthz", own: 200 },
  { port: "supervisor", method: "GET", path: "/readyz", own: 200 },
  { port: "supervisor", method: "GET", path: "/metrics", own: 200 },
  { port: "supervisor", method: "GET", path: "/partitions", own: 200 },
];

let database: TestDatabase;
let servers: readonly TestServer[];
let supervisor: Awaited<ReturnType<typeof startSupervisor>>;
let addresses: Readonly<Record<Port, string>>;
beforeAll(async () => {
  database = await createTestDatabase();
  const url = database.connectionString;
  const open = await startDroverServer(url);
  const tokens = await startDroverServer(url, { requireTokens: true });
  servers = [open, tokens];
  supervisor = await startSupervisor({
    database: { kind: "url", url },
    listen: "127.0.0.1:0",
    log: { level: "silent" },
  });
  addresses = {
    open: open.address,
    tokens: tokens.address,
    supervisor: supervisor.address ?? "",
  };
});
afterAll(async () => {
  await supervisor?.stop();
  for (const server of servers ?? []) await server.stop();
  await database?.drop();
});

interface Seen {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

function send(
  { port, method, path, type }: Route,
  headers: Readonly<Record<string, string>>,
): Promise<Seen> {
  const { hostname, port: number } = new URL(`http://${addresses[port]}`);
  const body = method === "POST" ? "{}" : "";
  const more = type === undefined ? {} : { "content-type": type };
  const to = { host: hostname, port: number, path, method, headers: { ...more, ...headers } };
  return new Promise((resolve, reject) => {
    const sent = request(to, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      const { statusCode: status = 0, headers: received } = answer;
      answer.on("end", () => resolve({ status, headers: received, body: text }));
    });
    sent.on("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(new Error("the server has upgraded the connection"));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const nameOf = ({ port, method, path, type = "" }: Route) => `${port}: ${method} ${path} ${type}`;

describe("a route answers its own page alone", () => {
  it.for(ROUTES.map((route) => [nameOf(route), route] as const))("%s", async ([, route]) => {
    const host = addresses[route.port];
    const name = host.replace("127.0.0.1", "rebound.example");
    const { status } = await send(route, { host });
    expect(status).toBe(route.own);
    const seen = {
      own: await send(route, { host, origin: `http://${host}` }),
      foreign: await send(route, { host, origin: "https://elsewhere.example" }),
      otherPort: await send(route, { host, origin: "http://127.0.0.1:1" }),
      hidden: await send(route, { host, origin: "null" }),
      rebound: await send(route, { host: name, origin: `http://${name}` }),
      reboundRead: await send(route, { host: name }),
    };
    const anyName = route.underAnyName ? route.own : 403;
    expect(Object.values(seen).map((one) => one.status)).toEqual([
      ...[route.own, 403, 403, 403],
      ...[anyName, anyName],
    ]);
    for (const { headers } of Object.values(seen)) {
      expect(headers).not.toHaveProperty("access-control-allow-origin");
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
      expect(headers["cross-origin-resource-policy"]).toBe("same-origin");
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
  });

  it.for(ROUTES.map((route) => [nameOf(route), route] as const))(
    "and no WebSocket begins: %s",
    async ([, route]) => {
      const { status } = await send(
        { ...route, method: "GET" },
        {
          host: addresses[route.port],
          origin: "https://elsewhere.example",
          connection: "Upgrade",
          upgrade: "websocket",
          "sec-websocket-version": "13",
          "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
        },
      );
      expect(status).toBe(403);
    },
  );
});
