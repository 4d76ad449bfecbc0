// The host that a browser believes it is calling. A server on loopback that requires no token is
// open to every program of its machine, including a browser. A page of another site must not reach
// it, neither by a name of its own that resolves to loopback (DNS rebinding) nor from its own
// origin. Nor may it use the client certificate that a browser sends by itself.
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { RpcConfig } from "../../config.ts";
import { isLoopback } from "./port.ts";

type HostConfig = Pick<RpcConfig, "host" | "hostNames" | "requireTokens" | "identities">;

/** Why a call over HTTP/1.1 is refused; null: it is allowed. A browser always sends a `Host`. */
export function hostRefusal(
  { host: listening, hostNames, requireTokens, identities }: HostConfig,
  { host, origin }: IncomingHttpHeaders,
): string | null {
  const isForeign = origin !== undefined && originHost(origin) !== host;
  if (isForeign && identities.clientIdentitiesFile !== null) return foreignPage(origin);
  if (requireTokens || !isLoopback(listening)) return null;
  if (host !== undefined && !isOwnName(nameOf(host), [listening, ...hostNames]))
    return `This server is not "${host}": reach it by its address or as localhost, or start it with --host-name ${nameOf(host)}.`;
  return isForeign ? foreignPage(origin) : null;
}

function foreignPage(origin: string): string {
  return `A page of ${origin} may not call this server.`;
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
