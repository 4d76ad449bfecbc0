// Certificates for tests, as files of PEM: authorities, and what they issue.
import type { webcrypto } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
// tsyringe, which the library uses, needs it.
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  type Extension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;

interface Issued {
  readonly certFile: string;
  readonly keyFile: string;
}

interface Wish {
  readonly name: string;
  readonly from?: Date;
  readonly until?: Date;
  /** Further alternative names. */
  readonly uris?: readonly string[];
  readonly dnsNames?: readonly string[];
}

export interface Authority {
  readonly certFile: string;
  /** A certificate for localhost and 127.0.0.1, valid for a day if nothing else is asked for. */
  issue(wish: Wish): Promise<Issued>;
}

/** A folder of certificates, which `remove` deletes. */
export function createCertificates() {
  const folder = mkdtempSync(join(tmpdir(), "drover-certificates-"));
  let files = 0;
  const write = (text: string) => {
    const file = join(folder, `${++files}.pem`);
    writeFileSync(file, text);
    return file;
  };

  async function authority(name: string): Promise<Authority> {
    const keys = await newKeys();
    const subject = `CN=${name}`;
    const own = await X509CertificateGenerator.createSelfSigned({
      name: subject,
      keys,
      signingAlgorithm: ALGORITHM,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + DAY_MS),
      extensions: [new BasicConstraintsExtension(true, undefined, true)],
    });
    return {
      certFile: write(own.toString("pem")),
      async issue({ name: issuedTo, from, until, uris = [], dnsNames = [] }) {
        const issued = await newKeys();
        const extensions: Extension[] = [
          new SubjectAlternativeNameExtension([
            { type: "dns", value: "localhost" },
            { type: "ip", value: "127.0.0.1" },
            ...dnsNames.map((value) => ({ type: "dns" as const, value })),
            ...uris.map((value) => ({ type: "url" as const, value })),
          ]),
        ];
        const certificate = await X509CertificateGenerator.create({
          subject: `CN=${issuedTo}`,
          issuer: subject,
          publicKey: issued.publicKey,
          signingKey: keys.privateKey,
          signingAlgorithm: ALGORITHM,
          notBefore: from ?? new Date(Date.now() - DAY_MS / 2),
          notAfter: until ?? new Date(Date.now() + DAY_MS),
          extensions,
        });
        const key = await crypto.subtle.exportKey("pkcs8", issued.privateKey);
        return {
          certFile: write(certificate.toString("pem")),
          keyFile: write(PemConverter.encode(key, "PRIVATE KEY")),
        };
      },
    };
  }

  return { authority, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}
