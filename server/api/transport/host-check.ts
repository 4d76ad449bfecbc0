// The host and the page that a browser names. A page of another site must not reach a server,
// neither from its own origin nor, where no token is required, by a name of its own that resolves
// to loopback (DNS rebinding): such a server is open to every program of its machine, browsers
// included.
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { isIP } from "node:net";
import type { RpcConfig } from "../../rpc-config.ts";
import { isLoopback } from "./port.ts";

type HostConfig = Pick<RpcConfig, "host" | "hostNames" | "requireTokens">;

/**
 * Why a request over HTTP/1.1 is refused; null: it is allowed. A browser always sends a `Host`, and
 * an `Origin` with all that may be read by another page or change something.
 */
export function hostRefusal(
  config: HostConfig,
  headers: Pick<IncomingHttpHeaders, "host" | "origin">,
): string | null {
  const { host: listening, hostNames, requireTokens } = config;
  const { host } = headers;
  const isOpen = !requireTokens && isLoopback(listening);
  if (isOpen && host !== undefined && !isOwnName(nameOf(host), [listening, ...hostNames]))
    return `This server is not "${host}": reach it by its address or as localhost, or start it with --host-name ${nameOf(host)}.`;
  return originRefusal(config, headers);
}

export function originRefusal(
  { host: listening, hostNames, requireTokens }: HostConfig,
  { host, origin }: Pick<IncomingHttpHeaders, "host" | "origin">,
): string | null {
  if (origin === undefined || originHost(origin) === host) return null;
  // A proxy in front of the server may have replaced the `Host`.
  const isBehind = requireTokens || !isLoopback(listening);
  if (isBehind && hostNames.includes(nameOf(originHost(origin) ?? ""))) return null;
  return `A page of ${origin} may not call this server. If a proxy shows this server under that name, start it with --host-name.`;
}

/** No other page may embed an answer, or take it for a script. */
const GUARDS = Object.entries({
  "content-security-policy": "frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
});

export function guardAnswer(response: ServerResponse): void {
  for (const [name, value] of GUARDS) response.setHeader(name, value);
}

export function refuseHost(response: ServerResponse, message: string): void {
  response.writeHead(403, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ code: "permission_denied", message }));
}

function isOwnName(name: string, names: readonly string[]): boolean {
  return (
    isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost") || names.includes(name)
  );
}

/** Without the port, and without the brackets of IPv6. */
function nameOf(host: string): string {
  const url = URL.parse(`http://${host}`);
  return url?.hostname.replace(/^\[|\]$/g, "") ?? host;
}

/** In the form of `Host`; null for an origin that a browser hides (`null`). */
function originHost(origin: string): string | null {
  return URL.parse(origin)?.host ?? null;
}
