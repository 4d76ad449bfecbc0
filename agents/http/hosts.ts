/**
 * The hosts that the agent may call, and the check of the addresses that their names have.
 *
 * The look-up of this file resolves a name once for each connection, and the socket gets exactly
 * the addresses that have passed. So a name that resolves to another address later has no effect.
 */
import { lookup as resolve } from "node:dns";
import { readFileSync } from "node:fs";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { isRefused } from "@drover/server/integrations/webhooks/refused-addresses.ts";
import type { SecretSource } from "../secrets.ts";
import type { HostSettings, HttpSettings } from "./settings.ts";

export interface Host {
  readonly origin: string;
  readonly secrets: ReadonlyMap<string, SecretSource>;
  readonly idempotencyHeader: string;
  /** Contents of files of PEM. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** Why a connection to this address is refused; null: it is allowed. */
  readonly refusalOf: (address: string) => string | null;
  readonly lookup: LookupFunction;
}

/** Resolves a name to all its addresses; another one in tests. */
export type Resolve = typeof resolve;

/** A connection that the settings do not allow: nothing was sent. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

/** By their origins. Throws an error for a file that cannot be read. */
export function hostsOf(
  { hosts, idempotency_header: header = "Idempotency-Key" }: HttpSettings,
  resolver: Resolve = resolve,
): ReadonlyMap<string, Host> {
  const found = new Map<string, Host>();
  for (const settings of hosts) {
    const host = hostOf(settings, header, resolver);
    found.set(host.origin, host);
  }
  return found;
}

function hostOf(settings: HostSettings, header: string, resolver: Resolve): Host {
  const { ca, cert, key, secrets = {}, addresses } = settings;
  const { origin } = new URL(settings.origin);
  const refusalOf = addresses ? outside(addresses, origin) : localRefusal;
  return Object.freeze({
    origin,
    secrets: new Map(Object.entries(secrets)),
    idempotencyHeader: settings.idempotency_header ?? header,
    tls: {
      ...(ca !== undefined && { ca: readFileSync(ca, "utf8") }),
      ...(cert !== undefined && { cert: readFileSync(cert, "utf8") }),
      ...(key !== undefined && { key: readFileSync(key, "utf8") }),
    },
    refusalOf,
    lookup: checkedLookup(refusalOf, resolver),
  });
}

function localRefusal(address: string): string | null {
  if (!isRefused(address)) return null;
  return `${address} is an address of this machine, its link or its cloud: list it in \`addresses\` of the host if it is meant`;
}

function outside(addresses: readonly string[], origin: string): Host["refusalOf"] {
  const allowed = new BlockList();
  for (const text of addresses) {
    const [net = "", bits] = text.split("/");
    const family = isIP(net) === 6 ? "ipv6" : "ipv4";
    allowed.addSubnet(net, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return (address) => {
    const [bare = ""] = address.split("%");
    const isAllowed = allowed.check(bare, isIP(bare) === 6 ? "ipv6" : "ipv4");
    return isAllowed ? null : `${address} is not among the \`addresses\` of ${origin}`;
  };
}

/** One refused address refuses the name: a DNS server that returns it cannot be trusted. */
function checkedLookup(refusalOf: Host["refusalOf"], resolver: Resolve): LookupFunction {
  return (name, options, callback) => {
    resolver(name, { ...options, all: true }, (error, addresses) => {
      const why = (error ? [] : addresses).map(({ address }) => refusalOf(address));
      const refused = why.find((one) => one !== null);
      const [first] = addresses ?? [];
      if (error) callback(error, "");
      else if (refused) callback(new AddressRefused(`"${name}" is refused: ${refused}`), "");
      else if (!first) callback(new Error(`"${name}" has no address`), "");
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
