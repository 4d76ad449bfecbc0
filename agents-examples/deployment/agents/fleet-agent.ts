/**
 * The agents of the fleet: one on each server, with a queue of its own, and one that checks
 * all of them. In the story they share a process.
 */
import { type AgentOptions, createAgent, PermanentError, type Task } from "@drover/sdk";
import { readAgentSettings } from "../../stage/agent-settings.ts";
import { named, servers } from "../fleet.ts";

const { address, remote } = readAgentSettings();

const bodyOf = (task: Task) => task.input((value: unknown) => Object(value));

const handlers: AgentOptions["handlers"] = {
  async install(task, { signal }) {
    return remote("fleet/install", { key: task.idempotencyKey, body: bodyOf(task), signal });
  },

  async "roll-back"(task, { signal }) {
    await remote("fleet/restore", { key: task.effectKey, body: bodyOf(task), signal });
  },
};

async function checkHealth(task: Task): Promise<void> {
  const { sick } = await remote("fleet/health", { key: task.idempotencyKey, body: bodyOf(task) });
  if (Array.isArray(sick) && sick.length > 0)
    throw new PermanentError("unhealthy", `${named(sick)} answer with errors`);
}

const agents = [
  ...servers.map((id) =>
    createAgent({ address, id, queues: [`deploy-${id}`], slots: 1, handlers }),
  ),
  createAgent({
    address,
    id: `health-${process.pid}`,
    queues: ["fleet"],
    handlers: { "check-health": checkHealth },
  }),
];

process.once("SIGTERM", () => {
  for (const agent of agents) void agent.stop();
});
for (const agent of agents) agent.start();
