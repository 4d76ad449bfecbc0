// All settings of a server, with unit, default and reason. Flags come before the environment, and
// the environment before these defaults; the command line reads both and passes on a whole config.

import { CIRCUIT_DEFAULTS, type CircuitSettings } from "./core/model/circuit.ts";

/** When a server counts as degraded. */
export interface HealthConfig {
  /** What is due for longer is overdue, in milliseconds. */
  readonly overdueMs: number;
  /** Partitions that have had no owner for longer make it degraded. */
  readonly unownedMs: number;
  /** It is degraded if the last whole round of its consistency check began longer ago than this. */
  readonly consistencyLateMs: number;
  /** How often it checks. */
  readonly scanEveryMs: number;
}

/** 5 s: the promise for a frozen supervisor, the longest of the promises. */
export const HEALTH_DEFAULTS: HealthConfig = Object.freeze({
  overdueMs: 5_000,
  unownedMs: 2_000,
  consistencyLateMs: 3_600_000,
  scanEveryMs: 3_000,
});

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "silent";

export interface LogConfig {
  readonly level: LogLevel;
  /** Lines for people instead of JSON. */
  readonly pretty: boolean;
}

export const LOG_DEFAULTS: LogConfig = Object.freeze({ level: "warn", pretty: false });

/** Where the traces of runs are sent. */
export interface TraceConfig {
  /** Of an OTLP receiver: whole for HTTP, as http://127.0.0.1:4318/v1/traces; else its origin. */
  readonly url: string;
  readonly protocol: "http" | "grpc";
  /** The share of the runs that is sampled, 0 to 1. A caller that is traced decides by itself. */
  readonly ratio: number;
}

/**
 * A receiver as a person writes it: `http://HOST:4318` for OTLP over HTTP, whose path is added, or
 * `grpc://HOST:4317`; with TLS `https` and `grpcs`. null: it is neither.
 */
export function traceReceiver(given: string): Pick<TraceConfig, "url" | "protocol"> | null {
  const [, scheme = "", secure = "", host = "", path = ""] =
    /^(http|grpc)(s?):\/\/([^/?#\s]+)(\/[^?#\s]*)?$/.exec(given) ?? [];
  if (host === "") return null;
  const origin = `http${secure}://${host}`;
  if (scheme === "grpc") return { url: origin, protocol: "grpc" };
  return { url: path.length > 1 ? `${origin}${path}` : `${origin}/v1/traces`, protocol: "http" };
}

/** A database that was started for one server and ends with it. */
interface LaunchedDatabase {
  readonly connectionString: string;
  stop(): Promise<void>;
}

/** Starts a database, and says on the way what a person should know. */
export type LaunchDatabase = (say: (message: string) => void) => Promise<LaunchedDatabase>;

/** PostgreSQL 15 to 18 by its URL, or one that the caller can start, as `drover dev` does. */
export type DatabaseConfig =
  | {
      readonly kind: "url";
      readonly url: string;
      /** The URL of PostgreSQL itself, if `url` is that of a transaction pooler. */
      readonly directUrl?: string | undefined;
      /** Left out: `drover`. */
      readonly schema?: string | undefined;
    }
  | {
      readonly kind: "launched";
      readonly launch: LaunchDatabase;
      readonly schema?: string | undefined;
    };

/** A number that may be set for a server. */
export interface Setting {
  /** Its name on the command line; as DROVER_SLOW_FACTOR in the environment. */
  readonly flag: string;
  /** share: 0 to 1, given in percent. */
  readonly unit: "ms" | "count" | "factor" | "share";
  readonly byDefault: number;
  readonly least: number;
  readonly most: number;
  /** What it decides, and why the default is what it is. */
  readonly why: string;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * The thresholds of supervision that a server decides. Those of one step (heartbeat, attempt,
 * stall, pickup and the like) are in the definition, so that a run keeps what it started with.
 */
export const SUPERVISOR_SETTINGS = Object.freeze({
  scanEveryMs: {
    flag: "scan-every",
    unit: "ms",
    byDefault: SECOND,
    least: 100,
    most: 10 * SECOND,
    why: "the longest pause between two scans for due rows. A due time that the owner knows wakes it anyway; this bounds how late it finds one that another server has set",
  },
  gapMs: {
    flag: "watch-gap",
    unit: "ms",
    byDefault: 2 * SECOND,
    least: 500,
    most: MINUTE,
    why: "after a longer pause between two scans, the server starts to count silence again: it may have missed heartbeats in between. At least twice --scan-every",
  },
  jumpMs: {
    flag: "watch-jump",
    unit: "ms",
    byDefault: SECOND,
    least: 100,
    most: MINUTE,
    why: "after a larger jump of the database's clock against the owner's own, the owner starts to count silence again",
  },
  slowFactor: {
    flag: "slow-factor",
    unit: "factor",
    byDefault: 1.5,
    least: 1,
    most: 100,
    why: "an attempt is suspect when it runs longer than this many times the learned p99 of its step. Fewer than 1 of 100 good attempts take longer than the p99, so 1.5 times the p99 is suspect",
  },
  slowSamples: {
    flag: "slow-samples",
    unit: "count",
    byDefault: 30,
    least: 10,
    most: 10_000,
    why: "successful attempts that the p99 of a step needs: with fewer, the p99 is only the slowest of them",
  },
  slowMs: {
    flag: "slow-least",
    unit: "ms",
    byDefault: SECOND,
    least: 10,
    most: DAY,
    why: "no attempt that has run for less is suspect: a short delay of its machine is no reason",
  },
  learnEveryMs: {
    flag: "learn-every",
    unit: "ms",
    byDefault: MINUTE,
    least: 100,
    most: HOUR,
    why: "how often a server writes the durations that it has learned, a row for each step that changed, and reads those that it uses",
  },
  sessionRetentionMs: {
    flag: "session-retention",
    unit: "ms",
    byDefault: 10 * MINUTE,
    least: MINUTE,
    most: DAY,
    why: "an agent session without tasks is removed after this silence: longer than any pause after which its agent may come back",
  },
  pollerRetentionMs: {
    flag: "poller-retention",
    unit: "ms",
    byDefault: 5 * MINUTE,
    least: MINUTE,
    most: DAY,
    why: "the record of which agents polled a lane is removed after this time. At least twice --polled",
  },
  logRetentionMs: {
    flag: "log-retention",
    unit: "ms",
    byDefault: 7 * DAY,
    least: 0,
    most: 365 * DAY,
    why: "the lines that handlers log are removed after this time, and with their run. 0: none are stored, and those that are there are removed. Lines are for finding out what went wrong, which is done within days",
  },
  polledMs: {
    flag: "polled",
    unit: "ms",
    byDefault: MINUTE,
    least: 10 * SECOND,
    most: HOUR,
    why: "a lane counts as polled for this time after a poll: a task that was not claimed within its pickup time then counts as backlog, otherwise as a task without an agent. Longer than any pause between two polls of a healthy agent",
  },
  ownerPollMs: {
    flag: "owner-poll",
    unit: "ms",
    byDefault: 500,
    least: 100,
    most: 10 * SECOND,
    why: "how often a node renews its session and reads the owners of partitions. It also bounds how late the node notices a free partition",
  },
  ownerLostMs: {
    flag: "owner-lost",
    unit: "ms",
    byDefault: 3 * SECOND,
    least: SECOND,
    most: MINUTE,
    why: "a node that has not renewed its session for this time is lost: its session ends, and other nodes take its partitions. It stops by itself one --owner-poll earlier. At least three times --owner-poll, as one poll may be slow; less finds a frozen node sooner, and moves partitions for nothing when the database is slow",
  },
  ownerMoves: {
    flag: "owner-moves",
    unit: "count",
    byDefault: 4,
    least: 1,
    most: 256,
    why: "partitions that all nodes together hand over in a second after another node has joined: handing over all at once would leave all of them unwatched for a time",
  },
  overdueMs: {
    flag: "overdue",
    unit: "ms",
    byDefault: 5 * SECOND,
    least: SECOND,
    most: HOUR,
    why: "a row that is due for longer is overdue: its partition is late (`drover partition list --late`), and the servers are degraded. The longest guaranteed delay is 5 s, for a frozen supervisor",
  },
  unownedMs: {
    flag: "unowned",
    unit: "ms",
    byDefault: 2 * SECOND,
    least: SECOND,
    most: HOUR,
    why: "a server is degraded when partitions have had no owner for this time: together with the 3 s of --owner-lost, this is the 5 s that a take-over may last",
  },
  consistencyEveryMs: {
    flag: "consistency-every",
    unit: "ms",
    byDefault: SECOND,
    least: 100,
    most: HOUR,
    why: "how often the consistency check scans a thousand open runs: a million open runs of one owner take a quarter of an hour. A round starts at least 30 scans after the start of the last one. A slower check costs less, and finds a wrong derived row later",
  },
  consistencyLateMs: {
    flag: "consistency-late",
    unit: "ms",
    byDefault: HOUR,
    least: MINUTE,
    most: DAY,
    why: "a server whose last whole round of the consistency check started longer ago than this is degraded; or a hundred times --consistency-every, if that is longer. An hour is enough for three million open runs of one server: with more, give it more",
  },
} as const satisfies Readonly<Record<string, Setting>>);

type SupervisorSetting = keyof typeof SUPERVISOR_SETTINGS;
/** Durations in milliseconds. */
export type SupervisorConfig = Readonly<Record<SupervisorSetting, number>>;

export const SUPERVISOR_SETTING_NAMES = Object.freeze(
  Object.keys(SUPERVISOR_SETTINGS) as SupervisorSetting[],
);

export const SUPERVISOR_DEFAULTS: SupervisorConfig = configOf(
  (name) => SUPERVISOR_SETTINGS[name].byDefault,
);

/** Over the defaults. Throws an Error that names every setting that is wrong. */
export function supervisorConfig(given: Partial<SupervisorConfig>): SupervisorConfig {
  const config = configOf((name) => given[name] ?? SUPERVISOR_DEFAULTS[name]);
  const problems = SUPERVISOR_SETTING_NAMES.flatMap((name) =>
    problemsOf(SUPERVISOR_SETTINGS[name], config[name]),
  );
  if (config.gapMs < 2 * config.scanEveryMs)
    problems.push(
      `--watch-gap is ${config.gapMs} ms and --scan-every ${config.scanEveryMs} ms: with a gap of less than two scans silence would never count`,
    );
  if (config.pollerRetentionMs < 2 * config.polledMs)
    problems.push(
      `--poller-retention is ${config.pollerRetentionMs} ms and --polled ${config.polledMs} ms: the record of a poll would be removed while its lane counts as polled; set it at least twice as long`,
    );
  if (config.ownerLostMs < 3 * config.ownerPollMs)
    problems.push(
      `--owner-lost is ${config.ownerLostMs} ms and --owner-poll ${config.ownerPollMs} ms: one slow poll would cost a node its partitions; set at least three times --owner-poll`,
    );
  if (problems.length > 0) throw new Error(problems.join("; "));
  return config;
}

export function problemsOf({ flag, unit, least, most }: Setting, value: number): readonly string[] {
  const isShare = unit === "share";
  const isWhole = unit === "factor" || isShare || Number.isInteger(value);
  if (isWhole && value >= least && value <= most) return [];
  const inUnit = (one: number): number => (isShare ? one * 100 : one);
  const given = inUnit(value);
  const from = inUnit(least);
  const to = inUnit(most);
  return [`--${flag} is ${given}: give ${isWhole ? "" : "a whole number "}${from} to ${to}`];
}

/** When circuits open, and for how long (docs/CIRCUITS.md). */
export const CIRCUIT_SETTINGS = Object.freeze({
  minOutcomes: {
    flag: "circuit-ends",
    unit: "count",
    least: 1,
    most: 1_000_000,
    byDefault: CIRCUIT_DEFAULTS.minOutcomes,
    why: "tasks that have to end in the window before a circuit may open: with fewer a circuit opens by bad luck, with more a lane with few tasks never opens",
  },
  windowMs: {
    flag: "circuit-window",
    unit: "ms",
    least: 10 * SECOND,
    most: HOUR,
    byDefault: CIRCUIT_DEFAULTS.windowMs,
    why: "how far back ended tasks are counted: with a shorter one a slow lane never has enough of them; a longer one still counts what failed long ago",
  },
  share: {
    flag: "circuit-share",
    unit: "share",
    least: 0.01,
    most: 1,
    byDefault: CIRCUIT_DEFAULTS.share,
    why: "the percentage of them that must have failed: a lower one opens for a service that is merely bad, a higher one only for a service that is down",
  },
  cooldownMs: {
    flag: "circuit-cooldown",
    unit: "ms",
    least: 100,
    most: HOUR,
    byDefault: CIRCUIT_DEFAULTS.cooldownMs,
    why: "the time until one task probes the service, doubled after each failed probe: a shorter one notices earlier that the service is back, and calls it more often",
  },
  cooldownMsMax: {
    flag: "circuit-cooldown-max",
    unit: "ms",
    least: 100,
    most: DAY,
    byDefault: CIRCUIT_DEFAULTS.cooldownMsMax,
    why: "the longest cool-down after a long outage. At least --circuit-cooldown",
  },
} as const satisfies Readonly<Record<keyof CircuitSettings, Setting>>);

export type CircuitConfig = CircuitSettings;
export const CIRCUIT_SETTING_NAMES: readonly (keyof CircuitConfig)[] = Object.freeze([
  ...(["minOutcomes", "windowMs", "share", "cooldownMs", "cooldownMsMax"] as const),
]);

/** Over the defaults. Throws an Error that names every setting that is wrong. */
export function circuitConfig(given: Partial<CircuitConfig>): CircuitConfig {
  const config = Object.freeze({ ...CIRCUIT_DEFAULTS, ...given });
  const problems = CIRCUIT_SETTING_NAMES.flatMap((name) =>
    problemsOf(CIRCUIT_SETTINGS[name], config[name]),
  );
  if (config.cooldownMsMax < config.cooldownMs)
    problems.push(
      `--circuit-cooldown-max is ${config.cooldownMsMax} ms and --circuit-cooldown ${config.cooldownMs} ms: the longest cool-down must not be shorter than the first`,
    );
  if (problems.length > 0) throw new Error(problems.join("; "));
  return config;
}

function configOf(value: (name: SupervisorSetting) => number): SupervisorConfig {
  return Object.freeze({
    scanEveryMs: value("scanEveryMs"),
    gapMs: value("gapMs"),
    jumpMs: value("jumpMs"),
    slowFactor: value("slowFactor"),
    slowSamples: value("slowSamples"),
    slowMs: value("slowMs"),
    learnEveryMs: value("learnEveryMs"),
    sessionRetentionMs: value("sessionRetentionMs"),
    pollerRetentionMs: value("pollerRetentionMs"),
    logRetentionMs: value("logRetentionMs"),
    polledMs: value("polledMs"),
    ownerPollMs: value("ownerPollMs"),
    ownerLostMs: value("ownerLostMs"),
    ownerMoves: value("ownerMoves"),
    overdueMs: value("overdueMs"),
    unownedMs: value("unownedMs"),
    consistencyEveryMs: value("consistencyEveryMs"),
    consistencyLateMs: value("consistencyLateMs"),
  });
}
