// Every setting of a server, with its unit, default and reason. Flags come before environment, the
// environment before defaults; the command line reads both and hands over a whole `ServerConfig`.

export interface ServerConfig {
  /** PostgreSQL 15 to 18. */
  readonly databaseUrl: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Serve on an address other than loopback although nobody has to say who he is. */
  readonly insecureNoAuth: boolean;
  /** Bytes of one payload; what is larger belongs in object storage. At most 2 MiB. */
  readonly payloadBytesMax: number;
  /** The longest deadline that a caller may set, in milliseconds: longer ones are mistakes. */
  readonly deadlineMsMax: number;
  /** How long a drain waits for calls under way. */
  readonly drainMsMax: number;
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  /** Lines for people instead of JSON. */
  readonly logPretty: boolean;
}

export const DEFAULT_PORT = 7420;

export const CONFIG_DEFAULT: Omit<ServerConfig, "databaseUrl"> = Object.freeze({
  host: "127.0.0.1",
  port: DEFAULT_PORT,
  insecureNoAuth: false,
  payloadBytesMax: 256 * 1024,
  deadlineMsMax: 24 * 60 * 60 * 1_000,
  drainMsMax: 5_000,
  logLevel: "info",
  logPretty: false,
});
