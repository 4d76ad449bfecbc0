/** The connection of the command line as @drover/sdk takes it, for verbs that use its client. */
import type { Connection } from "@drover/sdk";
import { baseUrlsOf, type ConnectionOptions } from "./client.ts";

/** The SDK calls by gRPC: its addresses have no scheme, and always a port. */
export function sdkConnection({
  address,
  token,
  plaintextToken,
  tls,
}: ConnectionOptions): Connection {
  const urls = baseUrlsOf(address).map((url) => new URL(url));
  const isTls = urls.some(({ protocol }) => protocol === "https:");
  const files = { ca: tls?.caFile, cert: tls?.clientCertFile, key: tls?.clientKeyFile };
  return {
    address: urls.map(({ host, port }) => (port === "" ? `${host}:${isTls ? 443 : 80}` : host)),
    token,
    plaintextToken,
    tls: isTls ? files : undefined,
  };
}
