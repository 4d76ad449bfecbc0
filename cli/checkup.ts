/**
 * The checks of `drover doctor`. Each check gives a finding: its result in words, and what to do
 * next. The checks are pure functions of facts, which verbs/doctor.ts reads.
 */
import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";
import type { AgentInfo } from "@drover/proto/drover/v1/agent_info_pb.ts";
import type { Hook } from "@drover/proto/drover/v1/hook_pb.ts";
import type {
  DatabaseDurability,
  GetClusterInfoResponse,
  GetOverviewResponse,
} from "@drover/proto/drover/v1/overview_pb.ts";
import type { Supervisor } from "@drover/proto/drover/v1/partition_pb.ts";
import type { Pause } from "@drover/proto/drover/v1/queue_pb.ts";
import { waitingForApproval } from "./activity-words.ts";
import { clockWords, cordonInstanceCommand, failingWords, whereWords } from "./agent-instances.ts";
import { cordonWords, uncordonCommand } from "./cordon-words.ts";
import { supervisorCommand, unwatchedWords } from "./region-words.ts";
import { clean, counted, durationWords, pauseWords } from "./words.ts";

export interface Finding {
  readonly check: string;
  readonly result: "ok" | "warn" | "fail";
  readonly saw: string;
  /** Empty: there is nothing to do. */
  readonly next: string;
}

export interface Facts {
  readonly address: string;
  /** Empty: none is used. */
  readonly contextName: string;
  readonly namespace: string;
  /** Flags for further commands, so that they use the same server and namespace. */
  readonly again: string;
  readonly clientVersion: string;
  /** Numbers of the migrations that came with this command. */
  readonly migrations: readonly number[];
  readonly overview: GetOverviewResponse;
  readonly cluster: GetClusterInfoResponse;
  /** How long a call took that queries the database. */
  readonly callMs: number;
  /** This machine's clock minus the server's; null: the server did not report its time. */
  readonly clientAheadMs: number | null;
  /** The server's answer at /healthz. */
  readonly health: Health;
  readonly supervisors: readonly Supervisor[];
  /** The first 1,000 agents of the namespace. */
  readonly agents: { readonly items: readonly AgentInfo[]; readonly nextPageToken: string };
  readonly hooks: readonly Hook[];
  /** Webhooks that were given up, and those that wait for a retry. */
  readonly undelivered: {
    readonly givenUp: number;
    readonly failing: number;
    readonly error: string;
  };
  readonly unknownVariables: readonly string[];
}

export interface Health {
  readonly status: string;
  readonly reasons: readonly string[];
}

/** A slower call waits for a database connection, or for the database itself. */
const slowCallMs = 500;
const databaseClockMs = 1_000;
/** The server reports its time in whole seconds. */
const clientClockMs = 5_000;

export function findingsOf(facts: Facts): readonly Finding[] {
  return [
    connection(facts),
    versions(facts),
    schema(facts),
    ...durability(facts),
    databaseClock(facts),
    clientClock(facts),
    health(facts),
    supervisors(facts),
    ...partitions(facts),
    ...agents(facts),
    ...failingAgents(facts),
    ...agentClocks(facts),
    ...pauses(facts),
    ...cordons(facts),
    ...circuits(facts),
    escalations(facts),
    notification(facts),
    approvals(facts),
    ...facts.unknownVariables.map((saw) => warn("environment", saw, "drover config show")),
  ];
}

function ok(check: string, saw: string): Finding {
  return { check, result: "ok", saw, next: "" };
}

function warn(check: string, saw: string, next: string): Finding {
  return { check, result: "warn", saw, next };
}

function fail(check: string, saw: string, next: string): Finding {
  return { check, result: "fail", saw, next };
}

function connection({ address, contextName, callMs, namespace }: Facts): Finding {
  const context = contextName === "" ? "" : `, in the context ${clean(contextName)}`;
  const saw = `${clean(address)} answers for ${clean(namespace)}${context}; a call with a database query took ${durationWords(callMs)}`;
  if (callMs <= slowCallMs) return ok("connection", saw);
  return warn(
    "connection",
    `${saw}, which is slow: the call waited for the database or for a connection to it`,
    "check the load of PostgreSQL, and the other programs that use it",
  );
}

function versions({ clientVersion, cluster }: Facts): Finding {
  const { serverVersion, databaseVersion } = cluster;
  const saw = `drover ${clientVersion}, server ${clean(serverVersion)}, PostgreSQL ${clean(databaseVersion)}`;
  if (clientVersion === serverVersion) return ok("versions", saw);
  return warn("versions", saw, "use the drover of the server's version");
}

function schema({ cluster, migrations }: Facts): Finding {
  const applied = cluster.migrations.map(({ number }) => number);
  const last = cluster.migrations.at(-1);
  const missing = migrations.filter((number) => !applied.includes(number));
  const newer = applied.filter((number) => !migrations.includes(number));
  if (missing.length > 0)
    return fail(
      "migrations",
      `${counted(missing.length, "migration")} of this drover not applied: ${missing.join(", ")}`,
      "drover migrate",
    );
  if (newer.length > 0)
    return warn(
      "migrations",
      `the database has ${counted(newer.length, "migration")} that this drover does not know`,
      "use the drover of the server's version",
    );
  return ok("migrations", `all ${applied.length} applied, the last is ${clean(last?.name ?? "")}`);
}

/** What the database would keep. A server of an older version does not say. */
function durability({ cluster: { durability: seen } }: Facts): readonly Finding[] {
  if (!seen) return [];
  const page = 'see "Backup and restore" in docs/OPERATING.md';
  return [
    seen.crashSafe
      ? ok("crash", "PostgreSQL keeps its data if the power fails")
      : warn(
          "crash",
          "fsync or full_page_writes is off: a power failure may destroy the database",
          "set both to on, unless all data may be lost",
        ),
    seen.synchronousCommit === "off"
      ? warn(
          "commits",
          "synchronous_commit is off: a crash may lose what was just acknowledged",
          "set synchronous_commit = on for Drover's role and database",
        )
      : ok("commits", `synchronous_commit is ${clean(seen.synchronousCommit)}`),
    ok(
      "failover",
      seen.synchronousStandbyNames === ""
        ? "no standby is synchronous: a failover may lose what was just acknowledged"
        : `synchronous standbys: ${clean(seen.synchronousStandbyNames)}`,
    ),
    archive(seen, page),
  ];
}

function archive(seen: DatabaseDurability, page: string): Finding {
  if (!seen.archivesLog)
    return {
      ...ok("backup", "PostgreSQL does not archive its log by itself (archive_mode is off)"),
      next: page,
    };
  const { archiveFailingTime: failing, lastArchivedTime: last } = seen;
  if (failing)
    return fail(
      "backup",
      `archiving the log has failed since ${timestampDate(failing).toISOString()}: backups end before it, and the log fills the disk`,
      "repair what archive_command uses; the log of PostgreSQL has its output",
    );
  return ok(
    "backup",
    last
      ? `the log is archived, last at ${timestampDate(last).toISOString()}`
      : "the log is archived; no file of it is full yet",
  );
}

function databaseClock({ cluster }: Facts): Finding {
  const ms = cluster.clockDifference ? durationMs(cluster.clockDifference) : 0;
  const saw = `the server's clock and the database's differ by ${durationWords(Math.abs(ms))}`;
  return Math.abs(ms) <= databaseClockMs
    ? ok("server clock", saw)
    : warn(
        "server clock",
        `${saw}; due times use the database's clock`,
        "run NTP on both machines",
      );
}

function clientClock({ clientAheadMs: ms }: Facts): Finding {
  if (ms === null)
    return warn(
      "this clock",
      "the server did not report its time",
      "call the server directly, without a proxy",
    );
  if (Math.abs(ms) <= clientClockMs) return ok("this clock", "within seconds of the server's");
  const way = ms > 0 ? "ahead of" : "behind";
  return warn(
    "this clock",
    `${durationWords(Math.abs(ms))} ${way} the server's, so --in means another time`,
    "run NTP on this machine, or use --start-at",
  );
}

function health({ health: { status, reasons } }: Facts): Finding {
  if (status === "ok") return ok("health", "the server reports that it is healthy");
  const saw = reasons.length > 0 ? reasons.map(clean).join("; ") : clean(status);
  return fail("health", `the server reports ${clean(status)}: ${saw}`, "see docs/RUNBOOKS.md");
}

function supervisors({ supervisors: all }: Facts): Finding {
  const alive = all.filter((one) => one.alive);
  const saw = `${counted(alive.length, "process", "processes")} of ${all.length} supervise`;
  if (alive.length === 0)
    return fail(
      "supervisors",
      "no supervisor is running",
      "drover supervisor, or drover server, starts one",
    );
  if (alive.length < all.length)
    return warn("supervisors", `${saw}; the others are silent`, "drover supervisor list");
  return ok("supervisors", saw);
}

function partitions({ overview: { lateRegions: late } }: Facts): readonly Finding[] {
  if (late.length === 0)
    return [
      ok("partitions", "each partition of a region in use has a supervisor, and none is overdue"),
    ];
  return late.flatMap((one) => {
    const where = `${counted(one.overdue, "partition")} of region "${clean(one.region)}"`;
    return [
      ...(one.unwatched > 0
        ? [fail("partitions", unwatchedWords(one), supervisorCommand(one))]
        : []),
      ...(one.overdue > 0
        ? [fail("partitions", `work is overdue in ${where}`, "drover partition list --late")]
        : []),
    ];
  });
}

function agents({ overview: { unservedTasks }, again }: Facts): readonly Finding[] {
  if (unservedTasks.length === 0) return [ok("agents", "an agent polls for every waiting task")];
  return unservedTasks.map(({ queue, task, agentVersion }) => {
    const agent = agentVersion === "" ? "agent" : `agent of version "${clean(agentVersion)}"`;
    return warn(
      "agents",
      `no ${agent} polls queue "${clean(queue)}" for task "${clean(task)}"`,
      `start one that polls queue ${clean(queue)} for ${clean(task)}; then drover queue show ${clean(queue)}${again}`,
    );
  });
}

function failingAgents({ overview, again }: Facts): readonly Finding[] {
  return overview.failingAgents.map((agent) =>
    warn("failing agents", failingWords(agent), `${cordonInstanceCommand(agent)}${again}`),
  );
}

/** Most agents whose clocks are named one by one. */
const clocksNamed = 5;

function agentClocks({ agents: { items, nextPageToken }, again }: Facts): readonly Finding[] {
  const wrong = items.filter((agent) => !agent.silentSinceTime && clockWords(agent) !== "");
  const more = wrong.length - clocksNamed;
  const all = nextPageToken === "" ? "" : ` of the first ${items.length} agents`;
  if (wrong.length === 0) return [ok("agent clocks", `no clock${all} is known to be wrong`)];
  return [
    ...wrong
      .slice(0, clocksNamed)
      .map((agent) =>
        warn(
          "agent clocks",
          `the clock of agent "${clean(agent.id)}" (${whereWords(agent)}) is ${clockWords(agent)}, so the times that it writes are wrong`,
          agent.host === "" ? "run NTP on its machine" : `run NTP on ${clean(agent.host)}`,
        ),
      ),
    ...(more > 0
      ? [warn("agent clocks", `${more} more${all} are wrong`, `drover agent list${again}`)]
      : []),
  ];
}

function pauses({ namespace, overview, again }: Facts): readonly Finding[] {
  const { namespacePause, pausedQueues, pausedWorkflows } = overview;
  const paused = (what: string, pause: Pause | undefined, next: string) =>
    warn("pauses", `${what} is paused ${pauseWords(pause)}`.trimEnd(), next);
  const all = [
    ...(namespacePause
      ? [
          paused(
            `namespace "${clean(namespace)}"`,
            namespacePause,
            `drover namespace resume${again}`,
          ),
        ]
      : []),
    ...pausedQueues.map(({ name, pause }) =>
      paused(`queue "${clean(name)}"`, pause, `drover queue resume ${clean(name)}${again}`),
    ),
    ...pausedWorkflows.map(({ name, pause }) =>
      paused(`workflow "${clean(name)}"`, pause, `drover workflow resume ${clean(name)}${again}`),
    ),
  ];
  return all.length > 0 ? all : [ok("pauses", "nothing is paused")];
}

function cordons({ overview, again }: Facts): readonly Finding[] {
  if (overview.cordons.length === 0) return [ok("cordons", "no agent is cordoned")];
  return overview.cordons.map((cordon) =>
    warn("cordons", cordonWords(cordon), `${uncordonCommand(cordon)}${again}`),
  );
}

function circuits({ overview: { openCircuits }, again }: Facts): readonly Finding[] {
  if (openCircuits.length === 0) return [ok("circuits", "all are closed")];
  return openCircuits.map(({ queue, task, agentId, saw, setBy }) => {
    const of = agentId === "" ? "" : ` for agent ${clean(agentId)}`;
    const why = setBy === "" ? clean(saw) : `opened by ${clean(setBy)}`;
    const next = [
      "drover queue circuit",
      setBy === "" ? "close" : "release",
      clean(queue),
      clean(task),
      ...(agentId === "" ? [] : ["--agent", clean(agentId)]),
    ];
    return warn(
      "circuits",
      `the circuit of task "${clean(task)}" of queue "${clean(queue)}"${of} is open: ${why}`,
      setBy === ""
        ? `fix the cause: the circuit closes after a successful probe; or close it now: ${next.join(" ")}${again}`
        : `${next.join(" ")}${again}`,
    );
  });
}

function escalations({ overview: { openEscalations: open }, again }: Facts): Finding {
  if (open === 0) return ok("escalations", "none is open");
  return warn(
    "escalations",
    `${open} ${open === 1 ? "is" : "are"} open`,
    `drover escalation list${again}`,
  );
}

/** Whether approvals that wait are sent to people. */
function approvals({ overview, hooks }: Facts): Finding {
  const waiting = waitingForApproval(overview.activity);
  if (waiting === 0) return ok("approvals", "no run waits for approval");
  const saw = `${counted(waiting, "run")} ${waiting === 1 ? "waits" : "wait"} for approval`;
  const hooked = hooks.filter(({ events }) => events.includes("approval-requested"));
  if (hooked.length > 0)
    return ok("approvals", `${saw}; notified: ${hooked.map(({ name }) => clean(name)).join(", ")}`);
  return warn(
    "approvals",
    `${saw}, and no hook has the event approval-requested, so approvals are not sent to anyone`,
    "drover hook put NAME URL --event approval-requested --new-secret",
  );
}

/** Whether escalations are sent to people. */
function notification({ hooks, undelivered }: Facts): Finding {
  const { givenUp, failing, error } = undelivered;
  const hooked = hooks.filter(({ events }) => events.includes("escalation-opened"));
  if (hooked.length === 0)
    return warn(
      "notification",
      "no hook has the event escalation-opened, so escalations are not sent to anyone",
      "drover hook put NAME URL --event escalation-opened --new-secret",
    );
  const saw = `${hooked.map(({ name }) => clean(name)).join(", ")} ${hooked.length === 1 ? "is" : "are"} notified of escalations`;
  if (givenUp + failing === 0) return ok("notification", saw);
  return warn(
    "notification",
    `${saw}; ${givenUp} webhooks were given up, ${failing} are being retried${error === "" ? "" : `: ${clean(error)}`}`,
    "drover hook deliveries",
  );
}
