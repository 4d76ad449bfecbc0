// What a client certificate says about its owner. The TLS port has verified it before a connection
// reaches any code here: it is valid, and of an authority of --tls-client-ca.
import type { Socket } from "node:net";
import { type PeerCertificate, TLSSocket } from "node:tls";
import type { EpochMs } from "../../core/model/attempt.ts";

export interface ClientCertificate {
  /** Of the subject; null: it has none, or several. */
  readonly commonName: string | null;
  /** Subject alternative names. */
  readonly uris: readonly string[];
  readonly dnsNames: readonly string[];
  readonly validUntil: EpochMs;
}

/** One alternative name, as Node writes them: a value with special characters is quoted. */
const ALTERNATIVE = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;

/** null: the connection has none. */
export function certificateOfSocket(socket: Socket): ClientCertificate | null {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return null;
  return certificateFrom(socket.getPeerCertificate());
}

/** null: there is none. */
export function certificateFrom(peer: Partial<PeerCertificate>): ClientCertificate | null {
  const { subject, subjectaltname: text = "", valid_to: until } = peer;
  if (subject === undefined || until === undefined) return null;
  // Node gives a list if there are several.
  const name: unknown = subject.CN;
  const names = alternativeNames(text);
  const valuesOf = (kind: string) =>
    names.flatMap(([found, value]) => (found === kind ? [value] : []));
  return {
    commonName: typeof name === "string" ? name : null,
    uris: valuesOf("URI"),
    dnsNames: valuesOf("DNS"),
    validUntil: Date.parse(until),
  };
}

/** Empty if a part cannot be read: a name must not hide another one. */
function alternativeNames(text: string): readonly (readonly [kind: string, value: string])[] {
  const found: [string, string][] = [];
  ALTERNATIVE.lastIndex = 0;
  while (ALTERNATIVE.lastIndex < text.length) {
    const [, kind, value] = ALTERNATIVE.exec(text) ?? [];
    if (kind === undefined || value === undefined) return [];
    found.push([kind, value.startsWith('"') ? String(JSON.parse(value)) : value]);
  }
  return found;
}
