/** Asks a person before a change; without a terminal the option `--yes` is required. */
import { createInterface } from "node:readline/promises";
import { usageFailure } from "./failure.ts";

/** Throws CliFailure unless the answer is yes. */
export async function confirm(
  question: string,
  { yes }: { readonly yes?: boolean },
): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY)
    throw usageFailure(`${question} Standard input is not a terminal`, "--yes");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await lines.question(`${question} [y/N] `);
  lines.close();
  if (!/^y(es)?$/i.test(answer.trim()))
    throw usageFailure("no run was changed", "answer y, or --yes");
}
