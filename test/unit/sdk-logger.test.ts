/** What an agent prints if it was given no logger. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { warningLogger } from "../../sdk/typescript/logger.ts";

async function warningOf(log: () => void): Promise<Error & { readonly detail?: string }> {
  const warned = once(process, "warning");
  log();
  const [warning] = await warned;
  return warning;
}

test("an error is printed with its message, its stack and its cause", async () => {
  const cause = new TypeError("d is undefined");
  const err = new Error("no such seat", { cause });
  const warning = await warningOf(() => warningLogger.error({ run: "r", err }, "handler threw"));
  expect(warning.name).toBe("DroverWarning");
  expect(warning.message).toBe("handler threw { run: 'r' }");
  expect(warning.detail).toContain("Error: no such seat\n    at ");
  expect(warning.detail).toContain("TypeError: d is undefined");
  expect(warning.detail).toContain("sdk-logger.test.ts");
});

test("so is what is thrown and no error", async () => {
  const { detail } = await warningOf(() => warningLogger.error({ err: "full" }, "handler threw"));
  expect(detail).toBe("'full'");
});

test("a warning is printed, and fields that JSON cannot have", async () => {
  const warning = await warningOf(() => warningLogger.warn({ seq: 7n }, "poll failed"));
  expect(warning.message).toBe("poll failed { seq: 7n }");
});
