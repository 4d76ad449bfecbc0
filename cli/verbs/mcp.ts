/** `drover mcp`: tools for AI assistants, over the Model Context Protocol. */
import type { Command } from "commander";
import { addChangeOptions, personOf } from "../change-options.ts";
import { addText, connectionOf } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import type { GlobalOptions } from "../global-options.ts";

interface Options {
  readonly readOnly?: boolean;
  readonly tools?: readonly string[];
  readonly by?: string;
  readonly role?: readonly string[];
}

export function addMcp(program: Command, ended: Ended, version: string): void {
  addChangeOptions(program.command("mcp"), { by: true })
    .description(
      "serve tools for AI assistants over MCP, on standard input and output; docs/MCP.md",
    )
    .option("--read-only", "only tools that change nothing")
    .option("--tools <names>", "only these tools, with commas between them", namesIn)
    .option(
      "--role <role>",
      "a role in which it may decide on approvals; may be given again",
      addText,
    )
    .action(async (options: Options, command: Command) => {
      const { readOnly = false, tools = null, role: roles = [] } = options;
      const by = readOnly ? (options.by ?? "") : personOf(options, command);
      // Loaded here, as no other verb needs the packages of the protocol.
      const { serveMcp } = await import("../mcp/serve.ts");
      await serveMcp({
        version,
        readOnly,
        names: tools,
        person: { by, roles },
        connection: () => connectionOf(command.optsWithGlobals<GlobalOptions>()),
      });
      ended(exitCodes.done);
    });
}

function namesIn(text: string): readonly string[] {
  return text.split(",").map((name) => name.trim());
}
