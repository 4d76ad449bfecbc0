// TLS of a port. The certificate, its key and the authorities of client certificates are files of
// PEM. They are read again while the process runs: new ones serve the next connection, and files
// that cannot be used leave the ones before in place.
import { constants, createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from "node:tls";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { createLoop, type Loop } from "../../loop.ts";
import type { TlsConfig } from "../../tls-config.ts";
import type { Log } from "../calls/mount.ts";
import type { ConnectionGuard } from "./connection-guard.ts";

/** As in Mozilla's intermediate profile: forward secrecy, and authenticated encryption alone. */
const MIN_VERSION = "TLSv1.2";
const CIPHERS = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");
const RELOAD_EVERY_MS = 10_000;

interface TlsListener {
  readonly server: Server;
  /** Reads the files again. */
  readonly reload: Loop;
}

interface TlsDeps {
  readonly onSocket: (socket: TLSSocket) => void;
  readonly guard: Pick<ConnectionGuard, "limits" | "refused">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Throws an error with a sentence for a person if the files cannot be used. */
export function createTlsListener(
  config: TlsConfig,
  { onSocket, guard, clock, log }: TlsDeps,
): TlsListener {
  let files = usableFiles(config, clock.wallMs());
  const refused = ({ remoteAddress }: TLSSocket, why: string) =>
    guard.refused("handshake", remoteAddress, why);
  const server = createServer({
    ...contextOf(files),
    minVersion: MIN_VERSION,
    ciphers: CIPHERS,
    honorCipherOrder: true,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    // In this order: a browser offers both, and only native gRPC is spoken over HTTP/2.
    ALPNProtocols: ["http/1.1", "h2"],
    handshakeTimeout: guard.limits.tlsHandshakeMs,
    requestCert: config.clientCaFile !== null,
    rejectUnauthorized: config.requireClientCert,
    noDelay: true,
    // As on a port without TLS: a caller that has closed its sending half still gets its answer.
    allowHalfOpen: true,
  });
  server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
    // A peer that has disconnected was not refused.
    if (error.code !== "ECONNRESET") refused(socket, error.message);
    // After a handshake that takes too long, Node leaves the connection open.
    socket.destroy();
  });
  server.on("secureConnection", (socket) => {
    // A client without a certificate may send a token. One with a certificate that is not valid is
    // refused.
    if (socket.authorized || socket.getPeerX509Certificate() === undefined) onSocket(socket);
    else {
      refused(socket, `its certificate is not valid (${socket.authorizationError})`);
      socket.destroy();
    }
  });
  const reload = createLoop({
    clock,
    everyMs: RELOAD_EVERY_MS,
    runOnce: async () => {
      const found = usableFiles(config, clock.wallMs());
      if (areSame(found, files)) return;
      server.setSecureContext(contextOf(found));
      files = found;
      log.info({ validUntil: validUntil(found) }, "the TLS certificate was read again");
    },
    onError: (error) =>
      log.error({ err: error }, "the TLS files cannot be used; the ones before stay in place"),
  });
  return Object.freeze({ server, reload });
}

interface Files {
  readonly cert: string;
  readonly key: string;
  /** null: clients are not asked for certificates. */
  readonly clientCa: string | null;
}

function usableFiles(config: TlsConfig, now: number): Files {
  const { certFile, keyFile, clientCaFile } = config;
  const cert = read("certificate", certFile);
  const key = read("key", keyFile);
  const clientCa = clientCaFile === null ? null : read("client authorities", clientCaFile);
  const own = certificateOf(certFile, cert);
  const from = Date.parse(own.validFrom);
  const until = Date.parse(own.validTo);
  if (until <= now)
    throw new Error(`The TLS certificate of ${certFile} expired on ${iso(until)}: renew it.`);
  if (from > now)
    throw new Error(
      `The TLS certificate of ${certFile} is valid from ${iso(from)} on: check the clock of this machine, or use another one.`,
    );
  const privateKey = orSentence(`${keyFile} has no private key that can be read`, () =>
    createPrivateKey(key),
  );
  if (!own.checkPrivateKey(privateKey))
    throw new Error(`The key of ${keyFile} does not belong to the certificate of ${certFile}.`);
  if (clientCaFile !== null && clientCa !== null) certificateOf(clientCaFile, clientCa);
  return { cert, key, clientCa };
}

function read(what: string, file: string): string {
  return orSentence(`The TLS ${what} cannot be read from ${file}`, () =>
    readFileSync(file, "utf8"),
  );
}

/** The first one of a file: in a chain, the server's own. */
function certificateOf(file: string, pem: string): X509Certificate {
  return orSentence(`${file} has no certificate of PEM`, () => new X509Certificate(pem));
}

function orSentence<T>(sentence: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new Error(`${sentence}: ${errorMessage(error)}`);
  }
}

function contextOf({ cert, key, clientCa }: Files): SecureContextOptions {
  return { cert, key, ...(clientCa === null ? {} : { ca: clientCa }) };
}

function areSame(one: Files, other: Files): boolean {
  return one.cert === other.cert && one.key === other.key && one.clientCa === other.clientCa;
}

function validUntil({ cert }: Files): string {
  return iso(Date.parse(new X509Certificate(cert).validTo));
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
