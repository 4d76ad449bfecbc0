/**
 * The settings of an http agent: the hosts that it may call, each with its secrets, and limits. A
 * host that is not listed is never called.
 */
import { isIP } from "node:net";
import type { Schema, ValueProblem } from "../schema-check.ts";
import { SECRET, type SecretSource } from "../secrets.ts";
import {
  AGENT_PROPERTIES,
  type AgentSettings,
  DURATION,
  mapOf,
  namedMap,
  settingsReader,
  TEXT,
} from "../settings-file.ts";

export interface HostSettings {
  /** Scheme, host and port, as https://api.example.com or http://10.0.0.7:8080. */
  readonly origin: string;
  /**
   * The only addresses that its name may have, as 10.0.0.0/8. Left out: any but those of this
   * machine, its link and its cloud.
   */
  readonly addresses?: readonly string[];
  /** By the names that steps use. They are sent to this host alone. */
  readonly secrets?: Readonly<Record<string, SecretSource>>;
  /** The header for the idempotency key. Default: that of the agent. */
  readonly idempotency_header?: string;
  /** File of the authorities to trust (PEM). Default: those of Node. */
  readonly ca?: string;
  /** File of the client certificate (PEM), for hosts that ask for one; with `key`. */
  readonly cert?: string;
  readonly key?: string;
}

export interface HttpSettings extends AgentSettings {
  readonly hosts: readonly HostSettings[];
  /** Default "Idempotency-Key". */
  readonly idempotency_header?: string;
  /** From the start of a request to the end of its answer, unless the step says. Default 30 s. */
  readonly timeout?: string;
  /** Until the connection is made. Default 5 s. */
  readonly connect_timeout?: string;
  /** Most bytes of an answer's body that are read. Default 1 MiB. */
  readonly answer_bytes?: number;
}

/** Characters that the name of a header may have. */
export const HEADER_NAME = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$";
const HEADER: Schema = { type: "string", pattern: HEADER_NAME };
const SECRET_NAME = "^[A-Za-z0-9._-]{1,64}$";

const ORIGIN: Schema = {
  type: "string",
  pattern: "^https?://[A-Za-z0-9._:\\[\\]-]+$",
  description: "scheme, host and port, as https://api.example.com",
};

const ADDRESS: Schema = {
  type: "string",
  pattern: "^[0-9A-Fa-f:.]+(/\\d{1,3})?$",
  description: "an IP address or a net of them, as 10.0.0.0/8",
};

const HOST: Schema = {
  ...mapOf(
    {
      origin: ORIGIN,
      addresses: { type: "array", items: ADDRESS, minItems: 1, maxItems: 100 },
      secrets: namedMap(SECRET, SECRET_NAME),
      idempotency_header: HEADER,
      ca: TEXT,
      cert: TEXT,
      key: TEXT,
    },
    ["origin"],
  ),
  dependentRequired: { cert: ["key"], key: ["cert"] },
};

const SETTINGS: Schema = mapOf(
  {
    ...AGENT_PROPERTIES,
    hosts: { type: "array", items: HOST, minItems: 1, maxItems: 1_000 },
    idempotency_header: HEADER,
    timeout: DURATION,
    connect_timeout: DURATION,
    answer_bytes: { type: "integer", minimum: 1, maximum: 64 * 1024 * 1024 },
  },
  ["agent", "hosts"],
);

export const readHttpSettings = settingsReader<HttpSettings>(SETTINGS, ({ hosts }) =>
  hosts.flatMap((host, at) => problemsOf(host, `hosts[${at}]`, hosts.slice(0, at))),
);

function problemsOf(
  { origin, addresses = [], ca, cert }: HostSettings,
  path: string,
  before: readonly HostSettings[],
): readonly ValueProblem[] {
  const problems: ValueProblem[] = [];
  const refuse = (key: string, message: string) =>
    problems.push({ path: `${path}.${key}`, message });
  if (!URL.canParse(origin)) refuse("origin", `"${origin}" is no origin: https://api.example.com`);
  if (before.some((one) => normalized(one.origin) === normalized(origin)))
    refuse("origin", `${origin} is listed twice`);
  if (origin.startsWith("http:") && (ca ?? cert) !== undefined)
    refuse("origin", "certificates are for https: write https, or remove them");
  for (const [at, text] of addresses.entries())
    if (!isNet(text)) refuse(`addresses[${at}]`, `"${text}" is no address or net: 10.0.0.0/8`);
  return problems;
}

/** Without a port that the scheme has anyway, and in lower case. */
function normalized(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).origin : origin;
}

function isNet(text: string): boolean {
  const [address = "", bits = "0"] = text.split("/");
  return isIP(address) !== 0 && Number(bits) <= (isIP(address) === 6 ? 128 : 32);
}
