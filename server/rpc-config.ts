// Settings of the API of a server: where it listens, whom it serves, and how much it takes at once.
import { problemsOf, type Setting } from "./config.ts";
import { type IdentityConfig, NO_IDENTITIES } from "./identity-config.ts";
import type { TlsConfig } from "./tls-config.ts";

const DEFAULT_PORT = 7420;

/** Settings of the API. */
export interface RpcConfig {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Names under which a browser may reach it, besides localhost and addresses. */
  readonly hostNames: readonly string[];
  /** Allows an address that is not loopback although callers are not authenticated. */
  readonly insecureNoAuth: boolean;
  /** Every call has to present an API token. */
  readonly requireTokens: boolean;
  /** A proxy in front of an address that is not loopback speaks TLS, and passes calls on. */
  readonly tlsInFront: boolean;
  /** null: plain text. */
  readonly tls: TlsConfig | null;
  readonly identities: IdentityConfig;
  /**
   * Most bytes of one payload: larger data belongs in object storage. The hard limit of the proto
   * is 2 MiB.
   */
  readonly payloadBytesMax: number;
  /** Most bytes of one request. */
  readonly messageBytesMax: number;
  /** A caller's deadline that is further away is a mistake. */
  readonly deadlineMsMax: number;
  /** Calls in progress, without those that wait. */
  readonly callsMax: number;
  /** Polls, WaitRun and watches in progress (each holds about 12 kB). */
  readonly waitingCallsMax: number;
  /** Of these, from one address: three quarters, so that one peer leaves room for others. */
  readonly waitingCallsPerPeerMax: number;
  /** Of these, for one namespace. */
  readonly waitingCallsPerNamespaceMax: number;
  readonly connectionsMax: number;
  /** Of these, from one address. A tenth as many may be opened each second. */
  readonly connectionsPerPeerMax: number;
  /** Calls in flight on one HTTP/2 connection. */
  readonly streamsPerConnectionMax: number;
  /** How long it serves on after it has reported that it is not ready, before the drain. */
  readonly lameDuckMs: number;
  /** How long a drain waits for calls in flight. */
  readonly drainMs: number;
}

export const RPC_DEFAULTS: RpcConfig = Object.freeze({
  host: "127.0.0.1",
  port: DEFAULT_PORT,
  hostNames: Object.freeze([]),
  insecureNoAuth: false,
  requireTokens: false,
  tlsInFront: false,
  tls: null,
  identities: NO_IDENTITIES,
  payloadBytesMax: 256 * 1024,
  messageBytesMax: 4 * 1024 * 1024,
  deadlineMsMax: 24 * 3_600_000,
  callsMax: 20_000,
  waitingCallsMax: 20_000,
  waitingCallsPerPeerMax: 15_000,
  waitingCallsPerNamespaceMax: 15_000,
  connectionsMax: 10_000,
  connectionsPerPeerMax: 2_000,
  streamsPerConnectionMax: 1_000,
  lameDuckMs: 0,
  drainMs: 10_000,
});

const COUNT = { unit: "count", least: 10, most: 1_000_000 } as const;

/** How many calls may be in progress. Those that wait are counted apart from those that work. */
export const API_LIMIT_SETTINGS = Object.freeze({
  connectionsMax: {
    flag: "connections",
    ...COUNT,
    byDefault: RPC_DEFAULTS.connectionsMax,
    why: "open connections: an agent has one. The process needs as many file descriptors (ulimit -n), and some 30 kB for each",
  },
  connectionsPerPeerMax: {
    flag: "connections-per-address",
    ...COUNT,
    byDefault: RPC_DEFAULTS.connectionsPerPeerMax,
    why: "open connections of one address, and ten times as many as it may open each second: fewer than all, so that one peer leaves room for others. A proxy, NAT or load balancer has all connections of what is behind it",
  },
  waitingCallsMax: {
    flag: "waiting-calls",
    ...COUNT,
    byDefault: RPC_DEFAULTS.waitingCallsMax,
    why: "open polls, waits and watches, about 20 kB each: one for each agent, and one for each client that waits. Half as many polls beyond that are held back and get an empty answer",
  },
  waitingCallsPerPeerMax: {
    flag: "waiting-calls-per-address",
    ...COUNT,
    byDefault: RPC_DEFAULTS.waitingCallsPerPeerMax,
    why: "open polls, waits and watches of one address: fewer than all, so that one peer leaves room for others. Behind a proxy or NAT many agents share an address",
  },
  waitingCallsPerNamespaceMax: {
    flag: "waiting-calls-per-namespace",
    ...COUNT,
    byDefault: RPC_DEFAULTS.waitingCallsPerNamespaceMax,
    why: "open polls, waits and watches of one namespace: as many as all where there is only one namespace",
  },
} as const satisfies Readonly<Partial<Record<keyof RpcConfig, Setting>>>);

type ApiLimitSetting = keyof typeof API_LIMIT_SETTINGS;
export type ApiLimitConfig = Pick<RpcConfig, ApiLimitSetting>;
export const API_LIMIT_SETTING_NAMES: readonly ApiLimitSetting[] = Object.freeze([
  ...(["connectionsMax", "connectionsPerPeerMax", "waitingCallsMax"] as const),
  ...(["waitingCallsPerPeerMax", "waitingCallsPerNamespaceMax"] as const),
]);

/** What is left out stays so. Throws an Error that names every setting that is wrong. */
export function apiLimitConfig(given: Partial<ApiLimitConfig>): Partial<ApiLimitConfig> {
  const problems = API_LIMIT_SETTING_NAMES.flatMap((name) =>
    given[name] === undefined ? [] : problemsOf(API_LIMIT_SETTINGS[name], given[name]),
  );
  if (problems.length > 0) throw new Error(problems.join("; "));
  return given;
}
