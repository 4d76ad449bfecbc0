import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { skippedForLack } from "./test/support/skipped-tests.ts";

// The processes that tests start share what one of them has compiled.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
  new URL("node_modules/.cache/compiled", import.meta.url),
);

export default defineConfig({
  test: {
    environment: "node",
    include: ["test/**/*.test.ts"],
    reporters: ["default", skippedForLack],
    globalSetup: ["test/support/global-postgres.ts"],
    // Processes, not threads: tests send signals and end in their own time.
    pool: "forks",
    // More than a small machine has cores: much of the time is waiting, for what is to be late.
    maxWorkers: 3,
    // It ends a test that hangs. On a busy machine one that starts twenty processes takes 30 s.
    testTimeout: 120_000,
    // A condition is waited for, not timed: a second, the default, is chance on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 120_000,
  },
});
