/** Files of PEM for calls over https: authorities to trust, and the certificate of the caller. */
import { readFileSync } from "node:fs";
import { errorMessage } from "@drover/server/errors.ts";
import { usageFailure } from "./failure.ts";
import { clean } from "./words.ts";

export interface TlsFiles {
  readonly caFile?: string | undefined;
  readonly clientCertFile?: string | undefined;
  readonly clientKeyFile?: string | undefined;
}

interface TlsContents {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Throws CliFailure for a file that cannot be read, and for a certificate without its key. */
export function tlsFilesOf({ caFile, clientCertFile, clientKeyFile }: TlsFiles): TlsContents {
  if ((clientCertFile === undefined) !== (clientKeyFile === undefined))
    throw usageFailure(
      "a client certificate and its key belong together",
      "--client-cert FILE --client-key FILE",
    );
  return {
    ...(caFile !== undefined && { ca: read("--ca", caFile) }),
    ...(clientCertFile !== undefined && { cert: read("--client-cert", clientCertFile) }),
    ...(clientKeyFile !== undefined && { key: read("--client-key", clientKeyFile) }),
  };
}

function read(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw usageFailure(
      `cannot read the file of ${flag}: ${clean(errorMessage(error))}`,
      `${flag} with a file of PEM`,
    );
  }
}
