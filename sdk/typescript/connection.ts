/**
 * How a connection is secured, and how its caller identifies itself: checked before anything is
 * connected.
 */
import { readFileSync, statSync } from "node:fs";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import { systemClock } from "./clock.ts";

/**
 * TLS of a connection. Files are PEM, and are read again when they have changed. With none, the
 * system's authorities are trusted.
 */
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
  /**
   * host:port, or several: a list, or a text with commas. A call goes to the next one that can be
   * reached. Of a DNS name with several records, all are used.
   */
  readonly address: string | readonly string[];
  /** Left out: plain text. */
  readonly tls?: Tls | undefined;
  /** Left out: the variable DROVER_TOKEN, or none; "": none. */
  readonly token?: string | undefined;
  /** Sends the token in plain text to another machine, too. Default false. */
  readonly plaintextToken?: boolean | undefined;
}

/** At least one, each once. Throws TypeError for an address that is none. */
export function addressesOf({ address }: Pick<Connection, "address">): readonly string[] {
  const all = typeof address === "string" ? address.split(",") : address;
  const addresses = [...new Set(all.map((one) => one.trim()))];
  for (const one of addresses)
    if (!/^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\],]+):\d{1,5}$/.test(one))
      throw new TypeError(`The address "${one}" is not host:port; write it as 127.0.0.1:7420.`);
  if (addresses.length === 0)
    throw new TypeError("The list of addresses is empty; write it as [127.0.0.1:7420].");
  return addresses;
}

/**
 * The token of each call; empty: none. Throws TypeError for one that would be sent in plain text
 * over a network: any machine on the way could use it.
 */
export function tokenOf(connection: Connection): string {
  const { tls, token, plaintextToken = false } = connection;
  const sent = token ?? process.env.DROVER_TOKEN ?? "";
  if (sent === "") return "";
  if (!/^[\x21-\x7e]+$/.test(sent))
    throw new TypeError("The token has characters that no token has; give it as it was printed.");
  const away = addressesOf(connection).find((address) => !isLoopback(address));
  if (tls || away === undefined || plaintextToken) return sent;
  throw new TypeError(
    `The token would be sent to ${away} in plain text, for all to read: give \`tls\`, or ` +
      "`plaintextToken: true` if the network between is trusted.",
  );
}

function isLoopback(address: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\]):\d+$/.test(address);
}

/** How often files are looked at, while calls are made. */
const lookMs = 1_000;

/**
 * Gives the credentials for the next connection: the same object until a file has changed. A pair
 * of which only one file is written yet does not replace the one before.
 *
 * Throws TypeError, or an error of the file system for a file that cannot be read.
 */
export function credentialsOf({ tls }: Connection): () => ChannelCredentials {
  if (!tls) {
    const insecure = credentials.createInsecure();
    return () => insecure;
  }
  if ((tls.cert === undefined) !== (tls.key === undefined))
    throw new TypeError("A certificate and its key belong together: give `cert` and `key`.");
  let last = readFiles(tls);
  let lookedMs = systemClock.monotonicMs();
  return () => {
    const nowMs = systemClock.monotonicMs();
    if (nowMs - lookedMs < lookMs) return last.credentials;
    lookedMs = nowMs;
    try {
      if (versionsOf(tls) !== last.versions) last = readFiles(tls);
    } catch {
      // They are being written: the next look reads them.
    }
    return last.credentials;
  };
}

interface ReadFiles {
  readonly credentials: ChannelCredentials;
  readonly versions: string;
}

function readFiles(tls: Tls): ReadFiles {
  // Before the content: a change between the two is found by the next look.
  const versions = versionsOf(tls);
  const read = (file: string | undefined) => (file === undefined ? null : readFileSync(file));
  const { ca, cert, key } = tls;
  return { credentials: credentials.createSsl(read(ca), read(key), read(cert)), versions };
}

/** Differs after each change of a file, also by a rename or another target of a link. */
function versionsOf({ ca, cert, key }: Tls): string {
  return [ca, cert, key]
    .map((file) => {
      if (file === undefined) return "";
      const { ino, size, mtimeNs } = statSync(file, { bigint: true });
      return `${ino} ${size} ${mtimeNs}`;
    })
    .join(", ");
}

export function channelNameOptions({ tls }: Connection): Readonly<Record<string, string>> {
  if (tls?.serverName === undefined) return {};
  const { serverName } = tls;
  return { "grpc.ssl_target_name_override": serverName, "grpc.default_authority": serverName };
}
