// The callers that client certificates prove: a file of YAML, which is read again when it is older
// than FRESH_MS. A file that has become wrong leaves the identities before in place, with an error
// in the log.
//
//   identities:
//     - uri: spiffe://example.org/flights     # or dns:, or cn: (the common name of the subject)
//       role: agent
//       name: flights                         # left out: the uri, dns or cn
//       namespaces: [blue]                    # or "*"; left out: [default]
//       queues: [travel]                      # of agents; left out: all
//
// A certificate may have several names: its URIs come first, then its DNS names, then its CN.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Clock } from "../../clock.ts";
import { errorMessage } from "../../errors.ts";
import { ROLE_NAMES, type Role } from "../../store/tokens.ts";
import type { Log } from "../calls/mount.ts";
import { DEFAULT_NAMESPACE } from "../calls/namespace-names.ts";
import type { ClientCertificate } from "../transport/client-certificate.ts";
import type { Caller } from "./caller.ts";

const FRESH_MS = 10_000;
const KINDS = ["uri", "dns", "cn"] as const;
const KEYS: readonly string[] = [...KINDS, "role", "name", "namespaces", "queues"];
const NAME = /^[^\p{Cc}]{1,256}$/u;
const EVERY_NAMESPACE = "*";

/** null: the certificate is not mapped. */
type FindClient = (certificate: ClientCertificate) => Caller | null;

/** Throws an error with a sentence for a person if the file cannot be used. */
export function createClientIdentities(
  file: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): FindClient {
  let found = identitiesIn(file);
  let readAt = clock.monotonicMs();
  return ({ uris, dnsNames, commonName }) => {
    if (clock.monotonicMs() - readAt > FRESH_MS) {
      readAt = clock.monotonicMs();
      try {
        found = identitiesIn(file);
      } catch (error) {
        log.error({ err: error }, "the client identities cannot be used; those before stay");
      }
    }
    const names = [
      ...uris.map((uri) => `uri:${uri}`),
      ...dnsNames.map((dns) => `dns:${dns}`),
      ...(commonName === null ? [] : [`cn:${commonName}`]),
    ];
    for (const name of names) {
      const caller = found.get(name);
      if (caller) return caller;
    }
    return null;
  };
}

function identitiesIn(file: string): ReadonlyMap<string, Caller> {
  try {
    const read: unknown = parse(readFileSync(file, "utf8"));
    if (!isObject(read) || !Array.isArray(read.identities) || Object.keys(read).length > 1)
      throw new Error("it must contain `identities:` with a list, and nothing else");
    const found = new Map<string, Caller>();
    read.identities.forEach((entry: unknown, index) => {
      const caller = callerFrom(entry, `identities[${index}]`);
      if (found.has(caller.id))
        throw new Error(`identities[${index}]: ${caller.id} is mapped twice`);
      found.set(caller.id, caller);
    });
    return found;
  } catch (error) {
    throw new Error(
      `The client identities of ${file} cannot be used: ${errorMessage(error)}. docs/SECURITY.md has an example.`,
    );
  }
}

function callerFrom(entry: unknown, at: string): Caller {
  if (!isObject(entry)) throw new Error(`${at} must have uri, dns or cn, and a role`);
  const unknown = Object.keys(entry).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    throw new Error(`${at} has the key "${unknown}", and may have ${KEYS.join(", ")}`);
  const [kind, ...more] = KINDS.filter((one) => entry[one] !== undefined);
  const value = kind && entry[kind];
  if (kind === undefined || more.length > 0 || typeof value !== "string" || value === "")
    throw new Error(`${at} must have one of uri, dns and cn, as a text`);
  const role = roleFrom(entry.role, at);
  const { name = value, namespaces = [DEFAULT_NAMESPACE], queues = [] } = entry;
  if (typeof name !== "string" || !NAME.test(name))
    throw new Error(`${at}.name must be a text of 1 to 256 characters`);
  const list = namespaces === EVERY_NAMESPACE ? null : textsFrom(namespaces, `${at}.namespaces`);
  const polls = textsFrom(queues, `${at}.queues`);
  if (polls.length > 0 && role !== "agent") throw new Error(`${at}.queues are for the role agent`);
  const id = `${kind}:${value}`;
  return { proof: "certificate", id, name, role, namespaces: list, queues: polls, groups: [] };
}

function roleFrom(given: unknown, at: string): Role {
  const role = ROLE_NAMES.find((one) => one === given);
  if (role) return role;
  throw new Error(`${at}.role must be one of ${ROLE_NAMES.join(", ")}`);
}

function textsFrom(given: unknown, at: string): readonly string[] {
  if (!Array.isArray(given)) throw new Error(`${at} must be a list of names`);
  const texts = given.filter((one) => typeof one === "string");
  if (texts.length === given.length) return texts;
  throw new Error(`${at} must be a list of names`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
