/** The lines of proto/README.md for plain protoc, run as they stand, and what they make. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { go, needsGo } from "../support/go-tool.ts";
import { madeOnce } from "../support/made-once.ts";
import { preparePython } from "../support/python-env.ts";
import { endForLack } from "../support/required-tools.ts";

const root = join(import.meta.dirname, "../..");
const requirements = join(root, "test/support/protoc-requirements.txt");
const goPlugins = [
  "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
  "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
];
const plugins = join(root, ".drover/protoc-plugins-1.36.12-1.6.2");
const buildMs = 540_000;
const run = promisify(execFile);

function linesForProtoc(): string {
  const page = readFileSync(join(root, "proto/README.md"), "utf8");
  const lines = page.match(/```sh\n(mkdir -p go python.*?)\n```/s)?.[1];
  if (lines === undefined) throw new Error("proto/README.md has no lines for protoc");
  return lines;
}

test("the contract generates with plain protoc", { timeout: buildMs }, async (context) => {
  await needsGo(context);
  const found = await preparePython(requirements);
  if (found.kind === "missing") return endForLack(context, "python3", found.why);
  await madeOnce(plugins, async (building) => {
    for (const plugin of goPlugins) await go(["install", plugin], { env: { GOBIN: building } });
  });
  const folder = mkdtempSync(join(tmpdir(), "drover-protoc-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = [dirname(found.python), plugins, process.env.PATH].join(":");
  const env = { ...process.env, PATH: path, PROTO: join(root, "proto") };
  await run("sh", ["-euc", linesForProtoc()], { cwd: folder, env });

  const module = join(folder, "go");
  for (const name of ["go.mod", "go.sum"])
    copyFileSync(join(root, "agents-examples/stubs/go", name), join(module, name));
  const name = await go(["list", "-f", "{{.Name}}", "./drover/v1"], { cwd: module });
  expect(name.trim()).toBe("droverpb");
  await go(["vet", "./..."], { cwd: module });

  const use = "from drover.v1 import agent_service_pb2_grpc as made; print(made.AgentServiceStub)";
  const withMade = { ...process.env, PYTHONPATH: join(folder, "python") };
  expect((await run(found.python, ["-c", use], { env: withMade })).stdout).toContain("Stub");

  const java = readFileSync(join(folder, "java/dev/drover/v1/PollTaskRequest.java"), "utf8");
  expect(java).toContain("package dev.drover.v1;");
  const csharp = readFileSync(join(folder, "csharp/AgentService.cs"), "utf8");
  expect(csharp).toContain("namespace Drover.V1 {");
});
