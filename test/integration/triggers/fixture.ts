// A real server with triggers, called as a service that knows nothing of Drover calls it.
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect } from "vitest";
import { type Client, createClient } from "../../../sdk/typescript/index.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { callJson, listAt, textAt } from "../../support/json-call.ts";

export const SECRET = "a-secret-of-sixteen";

export interface Called {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

export interface CallSpec {
  readonly namespace?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly method?: string;
  /** null: none. */
  readonly type?: string | null;
}

export interface TriggerServer {
  readonly server: TestServer;
  readonly client: Client;
  /** Registers a workflow of this name whose steps no agent performs. */
  workflow(name: string, more?: string): Promise<void>;
  /** Puts the trigger of a text. */
  put(text: string, secret?: string): Promise<unknown>;
  call(name: string, body: string | Uint8Array, spec?: CallSpec): Promise<Called>;
  /** The same, signed as GitHub does. */
  signed(name: string, body: unknown, spec?: CallSpec & { secret?: string }): Promise<Called>;
  /** Reasons of what the trigger has refused, once there are so many. */
  refusals(name: string, count: number): Promise<readonly unknown[]>;
}

export const sign = (body: string, secret = SECRET): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** For the tests of one file. */
export function triggerServer(): TriggerServer {
  let server: TestServer;
  let client: Client;
  beforeAll(async () => {
    server = await startDroverServer();
    client = createClient({ address: server.address });
  });
  afterAll(async () => {
    await client?.close();
    await server?.stop();
  });

  const call: TriggerServer["call"] = async (name, body, spec = {}) => {
    const { namespace = "default", query = "", method = "POST", type = "application/json" } = spec;
    const headers = { ...(type === null ? {} : { "content-type": type }), ...spec.headers };
    const response = await fetch(`${server.url}/hooks/${namespace}/${name}${query}`, {
      method,
      headers,
      ...(method === "POST" ? { body } : {}),
    });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text), headers: response.headers };
  };

  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
    async workflow(name, more = "    task: none") {
      await client.registerWorkflow(`workflow: ${name}\nsteps:\n  - id: a\n${more}\n`);
    },
    async put(text, secret = "") {
      const answer = await callJson(server.address, "OperatorService/PutTrigger", { text, secret });
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
      return answer.body;
    },
    call,
    signed(name, body, { secret, ...spec } = {}) {
      const text = JSON.stringify(body);
      const headers = { "X-Hub-Signature-256": sign(text, secret), ...spec.headers };
      return call(name, text, { ...spec, headers });
    },
    async refusals(trigger, count) {
      const read = async () => {
        const { body } = await callJson(server.address, "OperatorService/ListRefusals", {
          trigger,
        });
        return listAt(body, "refusals");
      };
      await expect.poll(read, { interval: 50, timeout: 10_000 }).toHaveLength(count);
      return (await read()).map((one) => textAt(one, "reason"));
    },
  };
}
