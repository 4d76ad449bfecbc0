/** The cloud agent: makes resources, asks how far they are, and deletes them. */
import { again, createAgent, type Handler, type Task } from "@drover/sdk";
import { readAgentSettings } from "../../stage/agent-settings.ts";
import { kinds } from "../environments.ts";

const { address, remote } = readAgentSettings();
const askAgainAfter = "50ms";

function bodyOf(task: Task, kind: string) {
  const { ref, region } = task.input((value: unknown) => Object(value));
  return { ref: `${ref}/${kind}`, region, kind };
}

function creates(kind: string): Handler {
  return async (task, { signal }) => {
    const call = { key: task.idempotencyKey, body: bodyOf(task, kind), signal };
    const { status, id } = await remote("cloud/create", call);
    return status === "ready" ? { id } : again({ after: askAgainAfter });
  };
}

function deletes(kind: string): Handler {
  return async (task, { signal }) => {
    await remote("cloud/delete", { key: task.effectKey, body: bodyOf(task, kind), signal });
  };
}

createAgent({
  address,
  id: `cloud-${process.pid}`,
  queues: ["cloud"],
  slots: 40,
  handleSignals: true,
  handlers: Object.fromEntries(
    kinds.flatMap((kind) => [
      [`create-${kind}`, creates(kind)],
      [`delete-${kind}`, deletes(kind)],
    ]),
  ),
}).start();
