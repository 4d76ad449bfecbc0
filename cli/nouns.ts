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

/** Commands that need the options of all verbs. */
export const needsAll = (word: string): boolean =>
  ["doctor", "completion", "complete", "config"].includes(word);

/** In the order of `--help`. */
export const NOUNS: readonly Noun[] = [
  {
    name: "init",
    more: "[options] <folder>",
    description: "write a small project: a workflow, and an agent that performs it",
    load: async () => (await import("./verbs/init.ts")).addInit,
  },
  {
    name: "dev",
    more: "[options]",
    description: "start a server with an embedded PostgreSQL, for your own work",
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
    description: "watch what does not happen, for servers that run with --supervisor none",
    load: async () => (await import("./verbs/supervisor.ts")).addSupervisor,
  },
  {
    name: "migrate",
    more: "[options]",
    description: "bring the database to the schema of this version",
    load: async () => (await import("./verbs/migrate.ts")).addMigrate,
  },
  {
    name: "status",
    more: "[options]",
    description: "what needs a person in the namespace, and what runs here",
    load: async () => (await import("./verbs/status.ts")).addStatus,
  },
  {
    name: "doctor",
    more: "",
    description:
      "look at connection, versions, clocks, agents, partitions and what waits, and say what to do",
    async load() {
      const { addDoctor } = await import("./verbs/doctor.ts");
      return (program, ended, version) => addDoctor(program, version, ended);
    },
  },
  {
    name: "bench",
    more: "[options]",
    description: "measure a running server by runs that do nothing, in the namespace drover-bench",
    load: async () => (await import("./verbs/bench.ts")).addBench,
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
    description: "runs: start, follow, steer and stop them",
    load: async () => (await import("./verbs/run.ts")).addRunVerbs,
  },
  {
    name: "escalation",
    description: "questions to people",
    load: async () => (await import("./verbs/escalation.ts")).addEscalationVerbs,
  },
  {
    name: "namespace",
    description: "namespaces: create, retention, limits, pause",
    load: async () => (await import("./verbs/namespace.ts")).addNamespaceVerbs,
  },
  {
    name: "queue",
    description: "queues: what waits, pause, resume",
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
    description: "runs by the calendar",
    load: async () => (await import("./verbs/schedule.ts")).addScheduleVerbs,
  },
  {
    name: "agent",
    description: "agents: who performs tasks, cordon",
    async load() {
      const [{ addAgentVerbs }, { addCordonVerbs }] = await Promise.all([
        import("./verbs/agent.ts"),
        import("./verbs/agent-cordon.ts"),
      ]);
      return (agent, ended) => {
        addAgentVerbs(agent, ended);
        addCordonVerbs(agent, ended);
      };
    },
  },
  {
    name: "intervention",
    description: "what supervisors did, and why",
    load: async () => (await import("./verbs/intervention.ts")).addInterventionVerbs,
  },
  {
    name: "partition",
    description: "who watches which runs, and who did",
    load: async () => (await import("./verbs/partition.ts")).addPartitionVerbs,
  },
  {
    name: "hook",
    description: "webhooks: who is told of what",
    load: async () => (await import("./verbs/hook.ts")).addHookVerbs,
  },
  {
    name: "trigger",
    description: "triggers: what sets off runs by itself",
    load: async () => (await import("./verbs/trigger.ts")).addTriggerVerbs,
  },
  {
    name: "token",
    description: "API tokens: who may call",
    load: async () => (await import("./verbs/token.ts")).addTokenVerbs,
  },
  {
    name: "completion",
    more: "<shell>",
    description: "print the script by which a shell completes nouns, verbs, flags and names",
    load: async () => (await import("./verbs/completion.ts")).addCompletion,
  },
  {
    name: "config",
    more: "",
    description: "settings: what holds, and where it comes from",
    load: async () => (await import("./verbs/config.ts")).addConfigVerbs,
  },
];
