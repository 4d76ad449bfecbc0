// One mutant, and the test that must fail because of it.
//   node hunt-test.ts NAME TEST-FILE
//   →  one JSON line {caught: file | null, tried, violation}
// An empty name runs the test with the server as it is.
import { fileURLToPath } from "node:url";
import { startVitest } from "vitest/node";
import { mutantNamed, mutated, serverFile } from "./mutate.ts";

const [name = "", file = ""] = process.argv.slice(2);
const mutant = name === "" ? null : mutantNamed(name);
const mutatedPath = mutant && fileURLToPath(serverFile(mutant.file));

const vitest = await startVitest(
  "test",
  [file],
  {
    root: fileURLToPath(new URL("../../../", import.meta.url)),
    config: false,
    watch: false,
    include: [file],
    reporters: [{}],
    // What is cached there has no mistake in it, and must get none.
    fsModuleCache: false,
  },
  {
    plugins: [
      {
        name: "mutant",
        enforce: "pre",
        transform: (source, id) =>
          mutant && id === mutatedPath ? { code: mutated(mutant, source), map: null } : null,
      },
    ],
  },
);
const modules = vitest.state.getTestModules();
const tests = modules.flatMap((module) => [...module.children.allTests()]);
const failed = tests.find((test) => test.result().state === "failed");
const message = failed?.result().errors?.[0]?.message ?? "";
// A test that cannot even be loaded has not noticed the mistake.
const tried = modules.some((module) => module.errors().length > 0) ? 0 : tests.length;
await vitest.close();
const violation = failed ? `${failed.fullName}: ${message}` : "";
process.stdout.write(`${JSON.stringify({ caught: failed ? file : null, tried, violation })}\n`);
process.exit(0);
