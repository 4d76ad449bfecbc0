// What becomes of a test whose tool a machine lacks: skipped and reported, or failed.
import type { TestContext } from "vitest";

/** Whether the lack of a tool is a failure: DROVER_REQUIRE names it, or is `all`. */
export function isRequired(
  tool: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const required = (env.DROVER_REQUIRE ?? "").split(/[\s,]+/);
  return required.includes(tool) || required.includes("all");
}

/** Ends a test for the lack of a tool: it fails where the tool is required, else it is skipped. */
export function endForLack(context: TestContext, tool: string, why: string): never {
  if (isRequired(tool)) throw new Error(why);
  return context.skip(why);
}
