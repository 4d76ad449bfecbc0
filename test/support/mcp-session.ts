/** `drover mcp` as a process, and the official client that calls its tools as assistants do. */
import { fileURLToPath } from "node:url";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { at } from "./json-call.ts";

const binary = fileURLToPath(new URL("../../cli/bin/drover.js", import.meta.url));

export interface ToolAnswer {
  readonly isError: boolean;
  /** The whole JSON of the answer. */
  readonly text: string;
  /** The same, parsed. */
  readonly json: unknown;
  /** The sentence of Drover. */
  readonly drover: unknown;
}

export interface McpSession {
  readonly client: Client;
  readonly call: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ) => Promise<ToolAnswer>;
  readonly toolNames: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

export interface SessionOptions {
  readonly args?: readonly string[];
  /** Nothing is taken over from the environment of the test. */
  readonly env?: Readonly<Record<string, string>>;
  readonly client?: ClientOptions;
  readonly cwd?: string;
}

export async function openMcp(options: SessionOptions): Promise<McpSession> {
  const { args = [], env = {}, cwd = process.cwd() } = options;
  const client = new Client({ name: "test", version: "1" }, options.client);
  const command = process.execPath;
  const server = { command, args: [binary, "mcp", ...args], env: { ...env }, cwd };
  await client.connect(new StdioClientTransport({ ...server, stderr: "inherit" }));
  return Object.freeze({
    client,

    async call(
      name: string,
      given: Readonly<Record<string, unknown>> = {},
      signal?: AbortSignal,
    ): Promise<ToolAnswer> {
      const control = signal === undefined ? {} : { signal };
      const result = await client.callTool({ name, arguments: { ...given } }, control);
      const [first] = result.content;
      const text = first?.type === "text" ? first.text : "";
      const json = parsed(text);
      return { isError: result.isError === true, text, json, drover: at(json, "drover") };
    },

    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    close: () => client.close(),
  });
}

/** A refusal of the client's or the server's SDK is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
