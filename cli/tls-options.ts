/** Options for TLS of a port: of `drover server`, and of the pages of `drover supervisor`. */
import type { TlsConfig } from "@drover/server/tls-config.ts";
import { type Command, Option } from "commander";
import { parseSwitch } from "./context.ts";
import { usageFailure } from "./failure.ts";

export interface TlsOptions {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsClientCa?: string;
  readonly tlsRequireClientCert: boolean;
}

export function addTlsOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--tls-cert <file>",
        "speak TLS with this certificate (PEM; the chain, the own one first); read again when it changes",
      ).env("DROVER_TLS_CERT_FILE"),
    )
    .addOption(
      new Option("--tls-key <file>", "the key of the certificate (PEM)").env("DROVER_TLS_KEY_FILE"),
    )
    .addOption(
      new Option(
        "--tls-client-ca <file>",
        "authorities of client certificates (PEM): a certificate that a client presents must be valid",
      ).env("DROVER_TLS_CLIENT_CA_FILE"),
    )
    .addOption(
      new Option("--tls-require-client-cert [yes|no]", "refuse clients without a certificate")
        .argParser(parseSwitch)
        .preset("yes")
        .default(false, "no")
        .env("DROVER_TLS_REQUIRE_CLIENT_CERT"),
    );
}

/** Empty: plain text. */
export function tlsOf(options: TlsOptions): { readonly tls?: TlsConfig } {
  const { tlsCert: certFile, tlsKey: keyFile } = options;
  const { tlsClientCa: clientCaFile = null, tlsRequireClientCert: requireClientCert } = options;
  if (requireClientCert && clientCaFile === null)
    throw usageFailure(
      "--tls-require-client-cert needs the authorities of the certificates",
      "--tls-client-ca FILE",
    );
  if (certFile !== undefined && keyFile !== undefined)
    return { tls: { certFile, keyFile, clientCaFile, requireClientCert } };
  if (certFile !== undefined) throw usageFailure("--tls-cert needs its key", "--tls-key FILE");
  if (keyFile !== undefined || clientCaFile !== null)
    throw usageFailure("TLS needs a certificate of the server", "--tls-cert FILE --tls-key FILE");
  return {};
}
