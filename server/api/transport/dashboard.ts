// The dashboard: files made by `vite build`, served from the same origin as the calls that they
// make.
//
//   /assets/…        named by their content: browsers cache them for ever
//   its routes       index.html, revalidated each time (304 while it is unchanged)
//   anything else    not found; for a browser the dashboard itself shows that, with 404
//
// Promise: a page runs no scripts and uses no styles but its own, whatever a payload contains. A
// server without a built dashboard says so at `/`, and takes calls like any other. Files are read
// once, at start: after a new build the server must be restarted.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, relative, sep } from "node:path";
import { gzipSync } from "node:zlib";

interface Dashboard {
  /** False: the dashboard has nothing at this address. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
}

interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
  /** The body compressed by gzip; null: it would not be smaller. */
  readonly packed: Buffer | null;
  readonly lasting: boolean;
}

/** The routes of the dashboard, as its build wrote them: `/runs/:run/*?`. */
const ROUTES = "routes.json";
const INDEX = "/index.html";
const PACKED_FROM_BYTES = 1_024;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

/**
 * Nothing inline, no frame around the page, no target for forms, and no other origin but those that
 * its scripts may call.
 */
const policyOf = (callable: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["connect-src 'self'", ...callable].join(" "),
    "img-src 'self' data:",
    "worker-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

const guardsOf = (callable: readonly string[]) => ({
  "content-security-policy": policyOf(callable),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
});

type Guards = ReturnType<typeof guardsOf>;

const NOT_BUILT =
  "Drover runs here and takes calls, but its dashboard has not been built: `npm run dashboard` in\n" +
  "its folder builds it; then start this server again. Meanwhile: `drover run list`, /healthz.\n";

/**
 * `folder` is the output of the build; it may be missing. `callable`: the origins that a page may
 * call, besides its own.
 */
export function createDashboard(folder: string, callable: readonly string[] = []): Dashboard {
  const guards = guardsOf(callable);
  if (!existsSync(join(folder, ROUTES)))
    return Object.freeze({
      handle: (request: IncomingMessage, response: ServerResponse) =>
        sayNotBuilt(request, response, guards),
    });
  const assets = assetsIn(folder);
  const isRoute = routesOf(readFileSync(join(folder, ROUTES), "utf8"));
  const index = assets.get(INDEX);

  return Object.freeze({
    handle(request: IncomingMessage, response: ServerResponse): boolean {
      if (request.method !== "GET" && request.method !== "HEAD") return false;
      const path = request.url?.split("?", 1)[0] ?? "";
      const asset = assets.get(path);
      const answer = (status: number, found: Asset): true =>
        send(request, response, { status, guards, asset: found });
      if (asset) return answer(200, asset);
      if (!index) return false;
      if (isRoute(path)) return answer(200, index);
      return wantsPage(request, path) && answer(404, index);
    },
  });
}

function sayNotBuilt(request: IncomingMessage, response: ServerResponse, guards: Guards): boolean {
  const asked = request.method === "GET" || request.method === "HEAD";
  if (!asked || request.url?.split("?", 1)[0] !== "/") return false;
  response.writeHead(503, { "content-type": "text/plain; charset=utf-8", ...guards });
  response.end(NOT_BUILT);
  return true;
}

function assetsIn(folder: string): ReadonlyMap<string, Asset> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const found = entries.flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    const address = `/${relative(folder, path).split(sep).join("/")}`;
    if (!entry.isFile() || address === `/${ROUTES}`) return [];
    return [[address, assetOf(address, readFileSync(path))] as const];
  });
  return new Map(found);
}

function assetOf(address: string, body: Buffer): Asset {
  const packed = body.length < PACKED_FROM_BYTES ? null : gzipSync(body);
  return {
    type: TYPES[extname(address)] ?? "application/octet-stream",
    etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`,
    body,
    packed: packed !== null && packed.length < body.length ? packed : null,
    lasting: address.startsWith("/assets/"),
  };
}

/**
 * A segment `:x` matches any one segment, `*?` at the end any number. Each route may be below a
 * namespace.
 */
function routesOf(text: string): (path: string) => boolean {
  const routes: unknown = JSON.parse(text);
  if (!Array.isArray(routes)) throw new Error(`${ROUTES} is no list: build the dashboard again`);
  const patterns = routes.map((route) => {
    const parts = String(route)
      .split("/")
      .filter((part) => part !== "");
    const below = parts.map((part) => {
      if (part === "*?") return "(?:/.*)?";
      return part.startsWith(":") ? "/[^/]+" : `/${part}`;
    });
    return new RegExp(`^(?:/ns/[^/]+)?${below.join("")}/?$`);
  });
  return (path) => patterns.some((pattern) => pattern.test(path));
}

/**
 * The request of a browser that navigates to a page; programs and scripts do not accept text/html.
 */
function wantsPage(request: IncomingMessage, path: string): boolean {
  return extname(path) === "" && (request.headers.accept ?? "").includes("text/html");
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, guards, asset }: { status: number; guards: Guards; asset: Asset },
): true {
  const { type, etag, body, packed, lasting } = asset;
  const headers = {
    ...guards,
    etag,
    vary: "accept-encoding",
    "cache-control": lasting ? "public, max-age=31536000, immutable" : "no-cache",
  };
  if (status === 200 && request.headers["if-none-match"] === etag) {
    response.writeHead(304, headers).end();
    return true;
  }
  const takesPacked = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const sent = takesPacked && packed !== null ? packed : body;
  response.writeHead(status, {
    ...headers,
    "content-type": type,
    "content-length": sent.length,
    ...(sent === packed ? { "content-encoding": "gzip" } : {}),
  });
  response.end(sent);
  return true;
}
