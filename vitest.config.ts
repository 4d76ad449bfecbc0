import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { skippedForLack } from "./test/support/skipped-tests.ts";

// The processes that tests start share what one of them has compiled.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
  new URL("node_modules/.cache/compiled", import.meta.url),
);

/** Connections that are cut or frozen may outlive their test, and then end with its process. */
const KILLS_SERVERS = "test/integration/take-over/**/*.test.ts";

/**
 * What takes minutes: other languages, a real Jaeger, the model checker, a real browser, thousands
 * of simulated seconds, the fuzzer. `npm run test:all` runs it too, and so does CI.
 */
const LONG = [
  "test/{spec,conformance,browser,chaos,fuzz}/**/*.test.ts",
  "test/simulation/{simulation,exit-codes}.test.ts",
  "test/e2e/{jaeger,init,variants,python-sdk,go-sdk,java-sdk,sdk-readme,holiday-demo}.test.ts",
  "test/e2e/{go-stub,python-stub,unreachable-server,restore,rolling-upgrade}.test.ts",
  "test/e2e/{several-servers,lame-duck,packages,plain-protoc,release-version}.test.ts",
  "test/e2e/{python-package,go-module,adoption}.test.ts",
  "test/e2e/{container,helm-chart}.test.ts",
  "test/e2e/{tutorial,incidents-cli,cause-by-command,traces,ready-agents}.test.ts",
  "test/integration/take-over/{blackhole,take-over,schedules}.test.ts",
  "test/integration/embedded-postgres.test.ts",
  "test/e2e/{examples,how-to}/*.test.ts",
];

/** Citus plans each statement anew. */
const SLOWER = process.env.DROVER_CITUS === undefined ? 1 : 5;

/** Of every project: a project takes nothing over from the root but what its setup provides. */
const common = {
  environment: "node",
  // Processes, not threads: tests send signals and end in their own time.
  pool: "forks",
  // It ends a test that hangs. On a busy machine one that starts twenty processes takes 30 s.
  testTimeout: 120_000 * SLOWER,
  // A condition is waited for, not timed: a second, the default, is chance on a busy machine.
  expect: { poll: { timeout: 15_000 * SLOWER } },
  hookTimeout: 120_000 * SLOWER,
} as const;

export default defineConfig({
  test: {
    reporters: ["default", skippedForLack],
    globalSetup: ["test/support/global-postgres.ts"],
    // More than a small machine has cores: much of the time is waiting, for what is to be late.
    maxWorkers: 4,
    projects: [
      {
        test: {
          ...common,
          name: "together",
          include: ["test/{unit,property,contract,integration}/**/*.test.ts"],
          exclude: [KILLS_SERVERS, ...LONG],
          // Files share a process with what was loaded for those before them: loading the server
          // anew for each took a second of CPU. A test leaves nothing behind that others see.
          isolate: false,
        },
      },
      {
        test: {
          ...common,
          name: "apart",
          include: [...["test/*.test.ts", KILLS_SERVERS], "test/{simulation,e2e}/**/*.test.ts"],
          exclude: LONG,
        },
      },
      {
        test: {
          ...common,
          name: "long",
          include: LONG,
        },
      },
    ],
  },
});
