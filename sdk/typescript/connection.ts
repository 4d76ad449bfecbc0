/**
 * How a connection is secured, and how its caller identifies itself: checked before anything is
 * connected.
 */
import { readFileSync } from "node:fs";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";

/** TLS of a connection. Files are PEM. With none, the system's authorities are trusted. */
export interface Tls {
  /** File of the authorities to trust. */
  readonly ca?: string | undefined;
  /** File of the client's certificate, for servers that ask for one; with `key`. */
  readonly cert?: string | undefined;
  /** File of the key of `cert`. */
  readonly key?: string | undefined;
  /** Name in the server's certificate, if it differs from the address. */
  readonly serverName?: string | undefined;
}

export interface Connection {
  /** host:port. */
  readonly address: string;
  /** Left out: plain text. */
  readonly tls?: Tls | undefined;
  /** Left out: the variable DROVER_TOKEN, or none; "": none. */
  readonly token?: string | undefined;
  /** Sends the token in plain text to another machine, too. Default false. */
  readonly plaintextToken?: boolean | undefined;
}

/** Throws TypeError for an address that is none. */
export function addressOf({ address }: Connection): string {
  if (/^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\]]+):\d{1,5}$/.test(address)) return address;
  throw new TypeError(`The address "${address}" is not host:port; write it as 127.0.0.1:7420.`);
}

/**
 * The token of each call; empty: none. Throws TypeError for one that would be sent in plain text
 * over a network: any machine on the way could use it.
 */
export function tokenOf({ address, tls, token, plaintextToken = false }: Connection): string {
  const sent = token ?? process.env.DROVER_TOKEN ?? "";
  if (sent === "") return "";
  if (!/^[\x21-\x7e]+$/.test(sent))
    throw new TypeError("The token has characters that no token has; give it as it was printed.");
  const isLoopback = /^(localhost|127\.[\d.]+|\[::1\]):\d+$/.test(address);
  if (tls || isLoopback || plaintextToken) return sent;
  throw new TypeError(
    `The token would be sent to ${address} in plain text, for all to read: give \`tls\`, or ` +
      "`plaintextToken: true` if the network between is trusted.",
  );
}

/** Throws TypeError, or an error of the file system for a file that cannot be read. */
export function credentialsOf({ tls }: Connection): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  const { ca, cert, key } = tls;
  if ((cert === undefined) !== (key === undefined))
    throw new TypeError("A certificate and its key belong together: give `cert` and `key`.");
  const read = (file: string | undefined) => (file === undefined ? null : readFileSync(file));
  return credentials.createSsl(read(ca), read(key), read(cert));
}

export function channelNameOptions({ tls }: Connection): Readonly<Record<string, string>> {
  if (tls?.serverName === undefined) return {};
  const { serverName } = tls;
  return { "grpc.ssl_target_name_override": serverName, "grpc.default_authority": serverName };
}
