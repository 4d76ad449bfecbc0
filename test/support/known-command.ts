// Whether `drover` takes a command as a manifest has it, without running it: the arguments and the
// environment are parsed by the program itself, whose verbs do nothing here.
import { vi } from "vitest";
import { settingsOfProgram, unknownVariables } from "../../cli/config-file.ts";
import { createProgram } from "../../cli/program.ts";

/** What is wrong with it; empty: nothing. */
export async function commandProblems(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const program = await createProgram("0", () => undefined);
  const problems = [...unknownVariables(env, settingsOfProgram(program))];
  program.commands.find((one) => one.name() === args[0])?.action(() => undefined);
  // The file is in the container alone.
  for (const [name, value] of Object.entries(env))
    if (name !== "DROVER_CONFIG") vi.stubEnv(name, value);
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  } finally {
    vi.unstubAllEnvs();
  }
  return problems;
}
