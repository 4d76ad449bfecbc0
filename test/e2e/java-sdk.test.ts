/** The Java SDK: its own tests, against a real server, and what of it must keep up. */
import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { theVersion } from "../../release/versions.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { builtJavaSdk } from "../support/java-build.ts";
import { javaFolder, javaTool, needsJava } from "../support/java-tool.ts";

/** The first build of a machine fetches Maven's plugins and gRPC. */
const javaMs = 900_000;
/** For programs that end soon: the optimizing compiler would cost more than it saves. */
const soon = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
});
afterAll(() => server.stop());

beforeEach(needsJava);

test("it builds without a warning, and its own tests pass, also against a real server", {
  timeout: javaMs,
}, async () => {
  // The compiler and the maker of the documentation refuse what they warn of (pom.xml).
  const built = await builtJavaSdk();
  await javaTool("mvn", ["-q", "-B", `-Dbuilt=${built}`, "surefire:test"], {
    env: { DROVER_TEST_ADDRESS: server.address },
  });
});

test("the programs of the README compile, and the first one does what it says", {
  timeout: javaMs,
}, async () => {
  const built = await builtJavaSdk();
  const readme = readFileSync(join(javaFolder, "README.md"), "utf8");
  const programs = [...readme.matchAll(/^```java\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  expect(programs.length).toBeGreaterThan(4);
  const folder = mkdtempSync(join(tmpdir(), "drover-java-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const classPath = `${join(built, "classes")}:${join(built, "jars/*")}`;
  const files = programs.map((code) => {
    const name = /^(?:public )?class (\w+)/m.exec(code)?.[1] ?? "Unnamed";
    writeFileSync(join(folder, `${name}.java`), code);
    return `${name}.java`;
  });
  mkdirSync(join(folder, "classes"));
  const strict = ["-Xlint:all,-classfile,-path,-processing", "-Werror"];
  const flags = soon.map((flag) => `-J${flag}`);
  const cwd = { cwd: folder };
  await javaTool("javac", [...flags, ...strict, "-d", "classes", "-cp", classPath, ...files], cwd);
  const [first = ""] = files;
  const program = first.replace(".java", "");
  const output = await javaTool("java", [...soon, "-cp", `classes:${classPath}`, program], {
    cwd: folder,
    env: { DROVER_ADDRESS: server.address },
  });
  expect(output).toContain("COMPLETED flight-to-Lisbon");
});

test("a release is a Maven repository with the jar, its sources, its documentation and its pom", {
  timeout: javaMs,
}, async () => {
  const version = theVersion();
  const folder = join(await builtJavaSdk(), "release/dev/drover/drover-sdk", version);
  const name = `drover-sdk-${version}`;
  expect(globSync("*.{jar,pom}", { cwd: folder }).sort()).toEqual(
    ["-javadoc.jar", "-sources.jar", ".jar", ".pom"].map((end) => `${name}${end}`),
  );
  const contentOf = (jar: string) =>
    execFileSync("jar", ["tf", join(folder, jar)], { encoding: "utf8" });
  const jar = contentOf(`${name}.jar`);
  for (const path of ["dev/drover/Agent.class", "dev/drover/v1/Task.class"])
    expect(jar).toContain(path);
  expect(contentOf(`${name}-javadoc.jar`)).toContain("dev/drover/Client.html");
});

test("the README names the version of the SDK", () => {
  const version = (text: string) => /<version>([^<]+)<\/version>/.exec(text)?.[1];
  expect(version(readFileSync(join(javaFolder, "README.md"), "utf8"))).toBe(
    version(readFileSync(join(javaFolder, "pom.xml"), "utf8")),
  );
});
