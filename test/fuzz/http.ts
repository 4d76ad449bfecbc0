// The HTTP side: addresses of pages, calls, files of the dashboard and triggers, with odd methods,
// headers, query strings and bodies; signatures that are right over bodies that are not; and
// requests that no HTTP library would send, as bytes.
import type { Chance } from "../../simulator/chance.ts";
import { WILD_TEXTS } from "./messages.ts";
import { type Planted, SECRET, signatureOf } from "./plant.ts";
import type { Draft } from "./rpc.ts";

const PATHS = [
  "/",
  "/healthz",
  "/readyz",
  "/metrics",
  "/assets/",
  "/assets/../../package.json",
  "/assets/..%2f..%2f..%2fetc%2fpasswd",
  "/%2e%2e/%2e%2e/etc/passwd",
  "/runs/x",
  "/ns/a/runs",
  "/ns/%00/runs",
  "/index.html",
  "/routes.json",
  "//evil.example/",
  "/hooks/",
  "/hooks/default/none",
  "/drover.v1.SchedulerService/GetRun",
  "/drover.v1.SchedulerService/Nope",
  "/grpc.health.v1.Health/Check",
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/__proto__",
  "/constructor",
];
const METHODS = ["GET", "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"];
const TYPES = [
  "application/json",
  "application/json; charset=utf-16",
  "application/proto",
  "application/connect+json",
  "application/grpc",
  "application/grpc-web+proto",
  "application/grpc-web-text",
  "text/html",
  "application/JSON;;;",
  "multipart/form-data",
];
const HEADERS: Readonly<Record<string, readonly string[]>> = {
  authorization: ["Bearer drover_x", "Bearer ", "Basic eDp5", `Bearer ${"x".repeat(4_000)}`],
  "accept-encoding": ["gzip", "br;q=1, *;q=0", "identity;q=0"],
  "if-none-match": ['"x"', "*", 'W/"x"'],
  origin: ["null", "http://evil.example", "http://127.0.0.1"],
  "content-encoding": ["gzip", "identity", "x"],
  "connect-timeout-ms": ["0", "1", "99999999999", "-1", "1e3", "x"],
  "grpc-timeout": ["1n", "99999999H", "0S", "x"],
  "connect-protocol-version": ["1", "9"],
  "drover-by": ["ada", "%00", "%", "%ff", "J%C3%BCrgen", "x".repeat(2_000)],
  traceparent: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0-0-0"],
  tracestate: ["a=b", ",".repeat(500)],
  range: ["bytes=0-1", "bytes=9-1"],
  accept: ["text/html", "*/*"],
  cookie: ["a=b; ".repeat(300)],
  "x-forwarded-for": ["1.2.3.4"],
};

export function httpDraft(_index: number, chance: Chance, planted: Planted): Draft {
  const kinds = [triggerDraft, triggerDraft, requestDraft, requestDraft, rawDraft];
  return chance.pick(kinds)(chance, planted);
}

function requestDraft(chance: Chance): Draft {
  const method = chance.pick(METHODS);
  const path = chance.pick(PATHS) + query(chance);
  const body = /^(?:GET|HEAD)$/.test(method) ? "" : bodyOf(chance);
  return drafted("http", `${method} ${path}`, body, headersOf(chance, chance.between(0, 4)));
}

function headersOf(chance: Chance, count: number): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { "content-type": chance.pick(TYPES) };
  for (let no = 0; no < count; no++) {
    const name = chance.pick(Object.keys(HEADERS));
    headers[name] = chance.pick(HEADERS[name] ?? [""]);
  }
  return headers;
}

function query(chance: Chance): string {
  return chance.pick([
    "",
    "",
    "?",
    "?a=b&a=c",
    "?%00=%ff",
    "?connect=v1&encoding=json&message=%7B%7D",
    "?connect=v1&encoding=proto&base64=1&message=____",
    "?connect=v1&encoding=json&compression=gzip&message=%",
    "?__proto__=x",
    `?${"a=b&".repeat(500)}`,
    "?id=%F0%9F%98%80",
    "?id=\\u0000",
  ]);
}

function bodyOf(chance: Chance): string {
  return chance.pick([
    "{}",
    "",
    "[]",
    "null",
    "{",
    `${"[".repeat(99)}${"]".repeat(99)}`,
    "[".repeat(5_000),
    '{"id":"x","go":true,"key":"key-3"}',
    '{"id":1e400}',
    '{"id":"\\u0000"}',
    '{"id":"\\ud800","go":true}',
    '{"id":{"a":[1]}}',
    '{"__proto__":{"id":"x"},"id":"y"}',
    JSON.stringify({ id: "x".repeat(300) }),
    JSON.stringify({ id: "x", big: "x".repeat(270_000) }),
    ...WILD_TEXTS.map((text) => JSON.stringify({ id: text, key: text, go: true })),
  ]);
}

/** Most are authenticated, so that they reach the mapping. */
function triggerDraft(chance: Chance, { namespace }: Planted): Draft {
  const body = bodyOf(chance);
  const name = chance.pick(["signed", "signed", "bearer", "bearer", "after", "none"]);
  const right = signatureOf(body);
  const signature = chance.happens(0.8)
    ? right
    : chance.pick([
        "",
        "sha256=",
        right.slice(0, -1),
        right.toUpperCase(),
        `sha256=${"g".repeat(64)}`,
        "a,".repeat(500),
        signatureOf(body, "wrong"),
      ]);
  const bearer = chance.happens(0.8) ? `Bearer ${SECRET}` : chance.pick(["", "Bearer", "Bearer x"]);
  const type = chance.happens(0.9) ? "application/json" : chance.pick(TYPES);
  return drafted("http", `POST /hooks/${namespace}/${name}${query(chance)}`, body, {
    ...(chance.happens(0.2) ? headersOf(chance, 2) : {}),
    "content-type": type,
    "x-signature": signature,
    authorization: bearer,
    x: chance.pick(["", "a", "%00", "x".repeat(300)]),
  });
}

/** Requests that are none, or that two programs could read differently. */
function rawDraft(chance: Chance, planted: Planted): Draft {
  const host = "Host: 127.0.0.1\r\n";
  const path = `/hooks/${planted.namespace}/signed`;
  const post = `POST ${path} HTTP/1.1\r\n${host}Content-Type: application/json\r\n`;
  const raw = chance.pick([
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/9.9\r\n\r\n",
    "GET  /  HTTP/1.1\r\n\r\n",
    `GET /${"a".repeat(20_000)} HTTP/1.1\r\n${host}\r\n`,
    `GET / HTTP/1.1\r\n${host}X: ${"a".repeat(20_000)}\r\n\r\n`,
    `GET / HTTP/1.1\r\n${host}${Array.from({ length: 3_000 }, (_, no) => `h${no}: 1\r\n`).join("")}\r\n`,
    `GET http://evil.example/ HTTP/1.1\r\n${host}\r\n`,
    "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "GET /\u0000 HTTP/1.1\r\n\r\n",
    `GET /assets/../../../../etc/passwd HTTP/1.1\r\n${host}\r\n`,
    "CONNECT evil.example:443 HTTP/1.1\r\n\r\n",
    `OPTIONS * HTTP/1.1\r\n${host}\r\n`,
    `GET / HTTP/1.1\r\n${host}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    `GET / HTTP/1.1\r\n${host}Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
    `GET / HTTP/1.1\r\n${host}Expect: 100-continue\r\n\r\n`,
    `${post}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
    `${post}Expect: x\r\nContent-Length: 2\r\n\r\n{}`,
    `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${post}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n`,
    `${post}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `${post}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n`,
    `${post}Content-Length: 99999999999999999999\r\n\r\n`,
    `${post}Content-Length: -1\r\n\r\n`,
    `${post}Content-Length: 10\r\n\r\n{}`,
    `${post}Content-Length: 2\r\n\r\n{}GET /metrics HTTP/1.1\r\n${host}\r\n`,
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\u0000".repeat(9)}`,
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0004\u0008\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000`,
    "PRI * HTTP/1.1\r\n\r\n",
    "PR",
    "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
    "\r\n\r\n",
    "x",
  ]);
  const bytes = chance.happens(0.15)
    ? Buffer.from(chance.bytes(chance.between(1, 400)))
    : Buffer.from(raw, "latin1");
  return {
    how: "tcp",
    what: "TCP",
    base64: bytes.toString("base64"),
    text: bytes.toString("latin1").slice(0, 300),
  };
}

function drafted(
  how: "http",
  what: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Draft {
  return {
    how,
    what,
    headers,
    base64: Buffer.from(body).toString("base64"),
    text: body.slice(0, 2_000),
  };
}

/** What an answer may never contain: files of the machine. */
export function leaks(body: string): boolean {
  return body.includes("root:x:") || body.includes('"drover-workspace"');
}
