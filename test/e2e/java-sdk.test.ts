/** The Java SDK: its own tests, against a real server, and what of it must keep up. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { packJava } from "../../release/java-package.ts";
import { theVersion } from "../../release/versions.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { javaFolder, javaTool, needsJava } from "../support/java-tool.ts";

/** Apart from what the conformance suite and a person build. */
const built = join(javaFolder, "../../.drover/java-sdk");
/** The first build of a machine fetches Maven's plugins and gRPC. */
const javaMs = 900_000;

beforeEach(needsJava);

async function givenServer(): Promise<string> {
  const server = await startDroverServer();
  onTestFinished(() => server.stop());
  return server.address;
}

test("it builds without a warning, and its own tests pass, also against a real server", {
  timeout: javaMs,
}, async () => {
  // The compiler refuses what it warns of (pom.xml).
  await javaTool("mvn", ["-q", "-B", `-Dbuilt=${built}`, "package"], {
    env: { DROVER_TEST_ADDRESS: await givenServer() },
  });
});

test("the programs of the README compile, and the first one does what it says", {
  timeout: javaMs,
}, async () => {
  await javaTool("mvn", ["-q", "-B", `-Dbuilt=${built}`, "-DskipTests", "package"]);
  const readme = readFileSync(join(javaFolder, "README.md"), "utf8");
  const programs = [...readme.matchAll(/^```java\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  expect(programs.length).toBeGreaterThan(4);
  const folder = mkdtempSync(join(tmpdir(), "drover-java-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const classPath = `${join(built, "*")}:${join(built, "jars/*")}`;
  const files = programs.map((code) => {
    const name = /^(?:public )?class (\w+)/m.exec(code)?.[1] ?? "Unnamed";
    writeFileSync(join(folder, `${name}.java`), code);
    return `${name}.java`;
  });
  mkdirSync(join(folder, "classes"));
  const strict = ["-Xlint:all,-classfile,-path,-processing", "-Werror"];
  const cwd = { cwd: folder };
  await javaTool("javac", [...strict, "-d", "classes", "-cp", classPath, ...files], cwd);
  const [first = ""] = files;
  const program = first.replace(".java", "");
  const output = await javaTool("java", ["-cp", `classes:${classPath}`, program], {
    cwd: folder,
    env: { DROVER_ADDRESS: await givenServer() },
  });
  expect(output).toContain("COMPLETED flight-to-Lisbon");
});

test("a release is a Maven repository with the jar, its sources, its documentation and its pom", {
  timeout: javaMs,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "drover-java-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const version = theVersion();
  const files = await packJava(folder, version);
  const name = `drover-sdk-${version}`;
  expect(files.map((file) => relative(folder, file))).toEqual(
    ["-javadoc.jar", "-sources.jar", ".jar", ".pom"].map((end) =>
      join("dev/drover/drover-sdk", version, `${name}${end}`),
    ),
  );
  const jar = files.find((file) => file.endsWith(`${name}.jar`)) ?? "";
  const content = execFileSync("jar", ["tf", jar], { encoding: "utf8" });
  for (const path of ["dev/drover/Agent.class", "dev/drover/v1/Task.class"])
    expect(content).toContain(path);
});

test("the README names the version of the SDK", () => {
  const version = (text: string) => /<version>([^<]+)<\/version>/.exec(text)?.[1];
  expect(version(readFileSync(join(javaFolder, "README.md"), "utf8"))).toBe(
    version(readFileSync(join(javaFolder, "pom.xml"), "utf8")),
  );
});
