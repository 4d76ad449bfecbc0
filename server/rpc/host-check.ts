// Who a browser believes to talk to. A server on loopback that asks for no token is open to every
// program of its machine, a browser among them: a page from elsewhere must not reach it, neither by
// a name of its own that leads to loopback (DNS rebinding) nor from its own origin.
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { RpcConfig } from "../config.ts";
import { isLoopback } from "./port.ts";

type HostConfig = Pick<RpcConfig, "host" | "hostNames" | "requireTokens">;

/** Why a call over HTTP/1.1 is refused; null: it is not. A browser always names a `Host`. */
export function hostRefusal(
  { host: listening, hostNames, requireTokens }: HostConfig,
  { host, origin }: IncomingHttpHeaders,
): string | null {
  if (requireTokens || !isLoopback(listening)) return null;
  if (host !== undefined && !isOwnName(nameOf(host), [listening, ...hostNames]))
    return `This server is not "${host}": reach it by its address or as localhost, or start it with --host-name ${nameOf(host)}.`;
  if (origin !== undefined && originHost(origin) !== host)
    return `A page of ${origin} may not call this server.`;
  return null;
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

/** As `Host` has it; null of an origin that a browser does not tell. */
function originHost(origin: string): string | null {
  return URL.parse(origin)?.host ?? null;
}
