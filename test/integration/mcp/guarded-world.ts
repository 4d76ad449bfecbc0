/**
 * A server that requires tokens, with an agent whose steps do as their input says, a client that
 * may do everything, and tokens to make.
 */
import { Role } from "@drover/proto/drover/v1/token_pb.ts";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import { PermanentError } from "../../../sdk/typescript/task-errors.ts";
import { createTokenInDatabase } from "../../../server/first-token.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer } from "../../support/drover-server.ts";
import { callJson, listAt } from "../../support/json-call.ts";
import { createTestDatabase } from "../../support/postgres.ts";

/** Does as its input says: fails with a message, or answers with the input. */
export const echoStep = { id: "echo", task: "echo", queue: "work" };
/** Escalates when it fails, as nothing undoes it. */
export const onceStep = { ...echoStep, effects: "once" } as const;

export type GuardedWorld = Awaited<ReturnType<typeof openGuardedWorld>>;

export async function openGuardedWorld() {
  const database = await createTestDatabase();
  const server = await startDroverServer(database.connectionString, { requireTokens: true });
  const { address } = server;

  async function tokenOf(role: Role, name: string, namespace = "default"): Promise<string> {
    const asked = { name, role, namespace, by: "ada" };
    return (await createTokenInDatabase(database.connectionString, asked)).secret;
  }

  const everywhere = { name: "root", role: Role.ADMIN, allNamespaces: true, by: "ada" };
  const admin = (await createTokenInDatabase(database.connectionString, everywhere)).secret;
  const client = createClient({ address, token: admin });
  await client.namespaces.create("blue");
  const blue = createClient({ address, token: admin, namespace: "blue" });
  const agent = createAgent({
    address,
    id: "worker",
    queues: ["work"],
    log: silentLog,
    token: await tokenOf(Role.AGENT, "worker"),
    handlers: {
      echo(task) {
        const input = task.input((value: unknown): { fail?: string } => Object(value));
        if (typeof input.fail === "string") throw new PermanentError("as-asked", input.fail);
        return input;
      },
    },
  });
  agent.start();

  return {
    address,
    client,
    blue,
    tokenOf,
    /** The entries of the audit about a run, newest first. */
    async auditOf(runId: string): Promise<readonly unknown[]> {
      const subject = { kind: "run", name: runId };
      const headers = { authorization: `Bearer ${admin}` };
      const { body } = await callJson(address, "OperatorService/ListAudit", { subject }, headers);
      return listAt(body, "entries");
    },
    async close(): Promise<void> {
      await agent.stop();
      client.close();
      blue.close();
      await server.stop();
      await database.drop();
    },
  };
}
