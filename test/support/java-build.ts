/**
 * The Java projects of the repository, each built once for each content of its sources, under
 * .drover/, however many tests and runs of the conformance suite use it: half a million generated
 * lines take a minute to compile.
 */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packJava } from "../../release/java-package.ts";
import { theVersion } from "../../release/versions.ts";
import { javaTool } from "./java-tool.ts";
import { madeOnce } from "./made-once.ts";

const root = join(import.meta.dirname, "../..");
const contract = ["LICENSE", "proto/{drover,vendor}/**/*.proto"];
const sdk = ["sdk/java/{pom.xml,.mvn/jvm.config}", "sdk/java/{src,conformance}/**/*.java"];

/**
 * The SDK as it is released: `release/` is the Maven repository, `jars/` has what the SDK and its
 * tests need, `test-classes/` those tests, which have not run, and the agent of the conformance
 * suite. The folder is the `built` of pom.xml.
 */
export function builtJavaSdk(): Promise<string> {
  return builtOnce("java-sdk", [...sdk, "release/java-package.ts"], async (building) => {
    await packJava(join(building, "release"), theVersion(), building);
  });
}

/** The agent with nothing but generated code: its jar, and `jars/` with what it needs. */
export function builtJavaStub(): Promise<string> {
  const folder = "agents-examples/stubs/java";
  const sources = [`${folder}/{*.java,pom.xml,.mvn/jvm.config}`];
  return builtOnce("java-stub", sources, async (building) => {
    await javaTool("mvn", ["-q", "-B", `-Dbuilt=${building}`, "package"], {
      cwd: join(root, folder),
    });
  });
}

/** `sources`: patterns of what it is made of, from the root, beside the contract. */
async function builtOnce(
  name: string,
  sources: readonly string[],
  make: (building: string) => Promise<void>,
): Promise<string> {
  const hash = createHash("sha256");
  for (const path of globSync([...contract, ...sources], { cwd: root }).sort())
    hash.update(path).update(readFileSync(join(root, path)));
  const folder = join(root, ".drover", `${name}-${hash.digest("hex").slice(0, 12)}`);
  await madeOnce(folder, make);
  return folder;
}
