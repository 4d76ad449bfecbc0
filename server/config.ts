// Every setting of a server, with its unit, default and reason. Flags come before the environment,
// the environment before these defaults; the command line reads both and hands over a whole config.

export const DEFAULT_PORT = 7420;

/** What the edge of the server keeps to. */
export interface RpcConfig {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Allows an address that is not loopback although nobody has to say who he is. */
  readonly insecureNoAuth: boolean;
  /**
   * One payload, in bytes: what is larger belongs in object storage. The proto's hard limit is 2
   * MiB.
   */
  readonly payloadBytesMax: number;
  /** One request, in bytes. */
  readonly messageBytesMax: number;
  /** A caller's deadline that is further away is a mistake. */
  readonly deadlineMsMax: number;
  /** Calls in flight, parked polls included (each holds about 12 kB). */
  readonly callsMax: number;
  readonly connectionsMax: number;
  /** Calls in flight on one HTTP/2 connection. */
  readonly streamsPerConnectionMax: number;
  /** How long a drain waits for calls that are in flight. */
  readonly drainMs: number;
}

export const RPC_DEFAULTS: RpcConfig = Object.freeze({
  host: "127.0.0.1",
  port: DEFAULT_PORT,
  insecureNoAuth: false,
  payloadBytesMax: 256 * 1024,
  messageBytesMax: 4 * 1024 * 1024,
  deadlineMsMax: 24 * 3_600_000,
  callsMax: 20_000,
  connectionsMax: 10_000,
  streamsPerConnectionMax: 1_000,
  drainMs: 10_000,
});

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "silent";

export interface LogConfig {
  readonly level: LogLevel;
  /** Lines for people instead of JSON. */
  readonly pretty: boolean;
}

export const LOG_DEFAULTS: LogConfig = Object.freeze({ level: "warn", pretty: false });

/** PostgreSQL 15 to 18 by its URL, or one that this process starts, with its data in a folder. */
export type DatabaseConfig =
  | {
      readonly kind: "url";
      readonly url: string;
      /** Leads to PostgreSQL itself where `url` leads to a transaction pooler. */
      readonly directUrl?: string | undefined;
    }
  | { readonly kind: "embedded"; readonly dataDir: string };
