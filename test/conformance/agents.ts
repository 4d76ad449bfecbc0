/**
 * The programs that the suite puts to the test, in the order of the table. Each is made ready once
 * in a run, and started as often as the scenarios ask.
 */
import { builtJavaSdk, builtJavaStub } from "../support/java-build.ts";
import {
  type Ready,
  withCargo,
  withGo,
  withJava,
  withNode,
  withPython,
  withShell,
} from "./toolbox.ts";

export interface AgentUnderTest {
  readonly name: string;
  /** Written with an SDK, or with generated stubs only. */
  readonly kind: "sdk" | "stub";
  /** Builds what has to be built, or reports what this machine lacks; rejects if a build fails. */
  readonly prepare: () => Promise<Ready>;
}

const stubs = "agents-examples/stubs";

export const agents: readonly AgentUnderTest[] = [
  {
    name: "typescript",
    kind: "sdk",
    prepare: () => withNode("typescript", "sdk/typescript/conformance"),
  },
  { name: "go", kind: "sdk", prepare: () => withGo("go", "sdk/go", "sdk/go/conformance") },
  {
    name: "python",
    kind: "sdk",
    prepare: () =>
      withPython("python", "sdk/python/conformance", {
        requirements: "sdk/python/requirements.txt",
        path: "sdk/python",
      }),
  },
  {
    name: "java",
    kind: "sdk",
    prepare: () =>
      withJava("java", "sdk/java/conformance", {
        build: builtJavaSdk,
        main: "dev.drover.conformance.ConformanceAgent",
        classPath: ["test-classes", "classes", "jars/*"],
      }),
  },
  {
    name: "stub-typescript",
    kind: "stub",
    prepare: () => withNode("stub-typescript", `${stubs}/typescript`),
  },
  {
    name: "stub-python",
    kind: "stub",
    prepare: () =>
      withPython("stub-python", `${stubs}/python`, {
        requirements: `${stubs}/python/requirements.txt`,
      }),
  },
  {
    name: "stub-go",
    kind: "stub",
    prepare: () => withGo("stub-go", `${stubs}/go`, `${stubs}/go`),
  },
  {
    name: "stub-java",
    kind: "stub",
    prepare: () =>
      withJava("stub-java", `${stubs}/java`, {
        build: builtJavaStub,
        main: "Agent",
        classPath: ["classes", "jars/*"],
      }),
  },
  { name: "stub-rust", kind: "stub", prepare: () => withCargo("stub-rust", `${stubs}/rust`) },
  { name: "stub-shell", kind: "stub", prepare: () => withShell("stub-shell", `${stubs}/shell`) },
];
