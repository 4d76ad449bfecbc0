/** The drover command as a user types it, and as the program of an assistant starts it. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const binary = fileURLToPath(new URL("../../cli/bin/drover.js", import.meta.url));

export type Settings = Readonly<Record<string, string>>;

/** What it prints. Rejects with its words if it fails. */
export async function drover(args: readonly string[], env: Settings): Promise<string> {
  return (await run(process.execPath, [binary, ...args], { env: { ...env } })).stdout.trim();
}

/** As the settings of an assistant's program name it. */
export function mcpCommand(args: readonly string[], env: Settings) {
  return { command: process.execPath, args: [binary, "mcp", ...args], env: { ...env } };
}
