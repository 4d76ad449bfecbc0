/**
 * The first words of the command line, with their description in `--help` before they are loaded.
 */
import type { Command } from "commander";
import type { Ended } from "./failure.ts";

/** Adds verbs to a noun; if the noun is a verb itself, it adds the noun to the program. */
type Add = (to: Command, ended: Ended, version: string) => void;

interface Noun {
  readonly name: string;
  readonly description: string;
  /** For a noun that is itself a verb: its options and arguments, as help shows them. */
  readonly more?: string;
  load(): Promise<Add>;
}

/** Nouns are accepted in the plural, too: `drover runs list`. A noun that is a verb has none. */
export function pluralOf({ name, more }: Noun): string | undefined {
  return more === undefined ? `${name}s` : undefined;
}

/** Commands that need the options of all verbs. */
export const needsAll = (word: string): boolean =>
  ["doctor", "completion", "complete", "config"].includes(word);

/** In the order of `--help`. */
export const NOUNS: readonly Noun[] = [
  {
    name: "init",
    more: "[options] <folder>",
    description: "create a small project: a workflow and an agent",
    load: async () => (await import("./verbs/init.ts")).addInit,
  },
  {
    name: "dev",
    more: "[options]",
    description: "start a server with an embedded PostgreSQL, for development",
    load: async () => (await import("./verbs/dev.ts")).addDev,
  },
  {
    name: "server",
    more: "[options]",
    description: "start a server on the PostgreSQL of DATABASE_URL",
    load: async () => (await import("./verbs/server.ts")).addServer,
  },
  {
    name: "supervisor",
    more: "[options]",
    description: "run a supervisor process (for servers started with --supervisor none)",
    load: async () => (await import("./verbs/supervisor.ts")).addSupervisor,
  },
  {
    name: "migrate",
    more: "[options]",
    description: "migrate the database to the schema of this version",
    load: async () => (await import("./verbs/migrate.ts")).addMigrate,
  },
  {
    name: "shard",
    description: "list the shards of a store on Citus, and move one",
    load: async () => (await import("./verbs/shard.ts")).addShard,
  },
  {
    name: "status",
    more: "[options]",
    description: "show what needs attention, and the health of the server",
    load: async () => (await import("./verbs/status.ts")).addStatus,
  },
  {
    name: "doctor",
    more: "[options]",
    description:
      "check connection, versions, clocks, agents and partitions, and suggest what to do",
    async load() {
      const { addDoctor } = await import("./verbs/doctor.ts");
      return (program, ended, version) => addDoctor(program, version, ended);
    },
  },
  {
    name: "bench",
    more: "[options]",
    description: "measure a running server with empty runs, in the namespace drover-bench",
    load: async () => (await import("./verbs/bench.ts")).addBench,
  },
  {
    name: "mcp",
    more: "[options]",
    description:
      "serve tools for AI assistants over MCP, on standard input and output; docs/MCP.md",
    load: async () => (await import("./verbs/mcp.ts")).addMcp,
  },
  {
    name: "db",
    description: "the database",
    load: async () => (await import("./verbs/db.ts")).addDbVerbs,
  },
  {
    name: "workflow",
    description: "workflows: check, test, apply, versions, default",
    load: async () => (await import("./verbs/workflow.ts")).addWorkflowVerbs,
  },
  {
    name: "run",
    description: "start, watch and control runs",
    load: async () => (await import("./verbs/run.ts")).addRunVerbs,
  },
  {
    name: "escalation",
    description: "escalations: list, claim, answer",
    load: async () => (await import("./verbs/escalation.ts")).addEscalationVerbs,
  },
  {
    name: "approval",
    description: "approvals: list, show, decide",
    load: async () => (await import("./verbs/approval.ts")).addApprovalVerbs,
  },
  {
    name: "namespace",
    description: "namespaces: create, retention, limits, pause",
    load: async () => (await import("./verbs/namespace.ts")).addNamespaceVerbs,
  },
  {
    name: "limits",
    more: "[options]",
    description: "list all limits, how much of them is used, and where to change them",
    load: async () => (await import("./verbs/limits.ts")).addLimits,
  },
  {
    name: "queue",
    description: "queues: tasks, limits, pins, circuits, pause",
    async load() {
      const [{ addQueueVerbs }, { addCircuitVerbs }] = await Promise.all([
        import("./verbs/queue.ts"),
        import("./verbs/circuit.ts"),
      ]);
      return (queue, ended) => {
        addQueueVerbs(queue, ended);
        addCircuitVerbs(queue, ended);
      };
    },
  },
  {
    name: "schedule",
    description: "cron schedules: start runs at set times",
    load: async () => (await import("./verbs/schedule.ts")).addScheduleVerbs,
  },
  {
    name: "agent",
    description: "agents: list, show, cordon; http, shell: run one without code",
    async load() {
      const [{ addAgentVerbs }, { addCordonVerbs }, { addRunAgentVerbs }] = await Promise.all([
        import("./verbs/agent.ts"),
        import("./verbs/agent-cordon.ts"),
        import("./verbs/agent-run.ts"),
      ]);
      return (agent, ended, version) => {
        addAgentVerbs(agent, ended);
        addCordonVerbs(agent, ended);
        addRunAgentVerbs(agent, ended, version);
      };
    },
  },
  {
    name: "intervention",
    description: "interventions: what supervisors did, and why",
    load: async () => (await import("./verbs/intervention.ts")).addInterventionVerbs,
  },
  {
    name: "audit",
    description: "the audit: who changed what, when, and why",
    load: async () => (await import("./verbs/audit.ts")).addAuditVerbs,
  },
  {
    name: "partition",
    description: "partitions: their supervisors, now and before",
    load: async () => (await import("./verbs/partition.ts")).addPartitionVerbs,
  },
  {
    name: "hook",
    description: "webhooks: receivers, events, deliveries",
    load: async () => (await import("./verbs/hook.ts")).addHookVerbs,
  },
  {
    name: "trigger",
    description: "triggers: start or continue runs on events",
    load: async () => (await import("./verbs/trigger.ts")).addTriggerVerbs,
  },
  {
    name: "token",
    description: "API tokens: create, list, revoke",
    load: async () => (await import("./verbs/token.ts")).addTokenVerbs,
  },
  {
    name: "completion",
    more: "<shell>",
    description: "print the completion script of a shell",
    load: async () => (await import("./verbs/completion.ts")).addCompletion,
  },
  {
    name: "version",
    more: "",
    description: "print the version of this command, and of the server if it answers",
    load: async () => (await import("./verbs/version.ts")).addVersion,
  },
  {
    name: "context",
    description: "contexts: servers by name, with address, namespace and token",
    load: async () => (await import("./verbs/context.ts")).addContextVerbs,
  },
  {
    name: "config",
    more: "",
    description: "settings: effective values and their sources",
    load: async () => (await import("./verbs/config.ts")).addConfigVerbs,
  },
];
