/**
 * Stands in for a language model: a program with fixed rules, which calls the same tools in the
 * same way, over a real MCP connection, so that the story is the same each time. It reads the
 * answers of the tools, and knows nothing else of Drover.
 */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

interface Problem {
  readonly message: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

export interface ToolAnswer {
  readonly refused: boolean;
  /** The sentence of Drover. */
  readonly drover: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Words of the server, if it refused. */
  readonly reason: string;
}

export interface Assistant {
  readonly call: (tool: string, args: Readonly<Record<string, unknown>>) => Promise<ToolAnswer>;
  readonly close: () => Promise<void>;
}

/** Starts `drover mcp` as the program of an assistant does. */
export async function connect(
  server: ConstructorParameters<typeof StdioClientTransport>[0],
): Promise<Assistant> {
  const client = new Client({ name: "model-stand-in", version: "1.0.0" });
  await client.connect(new StdioClientTransport(server));
  return Object.freeze({
    async call(name: string, args: Readonly<Record<string, unknown>>): Promise<ToolAnswer> {
      const { content, isError } = await client.callTool({ name, arguments: { ...args } });
      const [first] = content;
      const answer = recordOf(first?.type === "text" ? JSON.parse(first.text) : {});
      return {
        refused: isError === true,
        drover: String(answer.drover),
        data: recordOf(answer.data),
        reason: String(recordOf(answer.refused).reason ?? ""),
      };
    },
    close: () => client.close(),
  });
}

/** The draft with each problem corrected where the check found it, as far as its words say how. */
export function corrected(draft: string, problems: readonly Problem[]): string {
  const lines = draft.split("\n");
  for (const { message, line, column } of problems) {
    const before = lines[line - 1] ?? "";
    const [wrong = ""] = /^[\w-]+/.exec(before.slice(column - 1)) ?? [];
    const [, right = wrong] = /did you mean "([\w-]+)"/.exec(message) ?? [];
    lines[line - 1] = before.slice(0, column - 1) + right + before.slice(column - 1 + wrong.length);
  }
  return lines.join("\n");
}

/** What it answers to an escalation: again, if the service itself says that nothing was done. */
export function answerTo(attempts: readonly unknown[]): "retry" | "acknowledge" {
  const message = String(recordOf(recordOf(attempts[0]).failure).message);
  return /nothing was (?:ordered|done|paid)/.test(message) ? "retry" : "acknowledge";
}

export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function problemsOf({ problems }: ToolAnswer["data"]): readonly Problem[] {
  return listOf(problems).map((problem) => {
    const { message, line, column } = recordOf(problem);
    return { message: String(message), line: Number(line), column: Number(column) };
  });
}
