// How the agents of each language are started; those that have to be built are built once.
import { join } from "node:path";
import { go } from "../support/go-tool.ts";
import { preparePython } from "../support/python-env.ts";

export const LANGUAGES = ["typescript", "go", "python"] as const;
export type Language = (typeof LANGUAGES)[number];

export interface AgentCommand {
  readonly language: Language;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export type Prepared =
  | { readonly kind: "ready"; readonly commands: readonly AgentCommand[] }
  /** `tool` as DROVER_REQUIRE names it. */
  | { readonly kind: "missing"; readonly tool: string; readonly why: string };

const AGENTS = 6;
const folder = join(import.meta.dirname, "agents");
const root = join(import.meta.dirname, "../..");
const goProgram = join(root, ".drover/chaos-agent");

/** Six agents, of these languages in turn. */
export async function prepareAgents(languages: readonly Language[]): Promise<Prepared> {
  const commands: AgentCommand[] = [];
  for (const language of languages) {
    const one = await prepared(language);
    if ("missing" in one) return { kind: "missing", tool: one.missing, why: one.why };
    commands.push({ language, ...one });
  }
  const agents = Array.from({ length: AGENTS }, (_, index) => commands[index % commands.length]);
  return { kind: "ready", commands: agents.filter((one) => one !== undefined) };
}

type Command = Omit<AgentCommand, "language">;

async function prepared(
  language: Language,
): Promise<Command | { readonly missing: string; readonly why: string }> {
  switch (language) {
    case "typescript":
      return { program: process.execPath, args: [join(folder, "agent.ts")], env: {} };
    case "go": {
      const isThere = await go(["version"]).catch(() => null);
      if (isThere === null) return { missing: "go", why: "go is not on this machine" };
      await go(["build", "-o", goProgram, "."], { cwd: join(folder, "go") });
      return { program: goProgram, args: [], env: {} };
    }
    case "python": {
      const python = await preparePython(join(root, "sdk/python/requirements.txt"));
      if (python.kind === "missing") return { missing: "python3", why: python.why };
      const env = { PYTHONPATH: join(root, "sdk/python"), PYTHONDONTWRITEBYTECODE: "1" };
      return { program: python.python, args: [join(folder, "python/agent.py")], env };
    }
  }
}
