/** The Go SDK: its own tests, against a real server, and what of it must keep up with the rest. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { toJsonString } from "@bufbuild/protobuf";
import { WorkflowDefinitionSchema } from "@drover/proto/drover/v1/workflow_pb.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseWorkflowText } from "../../server/definition-text/workflow-text.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { go, goFolder, needsGo } from "../support/go-tool.ts";

const root = join(goFolder, "../..");
/** The first build of a machine fetches and compiles gRPC. */
const goMs = 540_000;

function givenFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-go-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function givenServer(): Promise<string> {
  const server = await startDroverServer();
  onTestFinished(() => server.stop());
  return server.address;
}

describe("with Go", () => {
  test("its own tests pass, also against a real server", { timeout: goMs }, async (context) => {
    await needsGo(context);
    const address = await givenServer();
    await go(["vet", "./..."]);
    const gofmt = join((await go(["env", "GOROOT"])).trim(), "bin/gofmt");
    const unformatted = await promisify(execFile)(gofmt, ["-l", "."], { cwd: goFolder });
    expect(unformatted.stdout).toBe("");
    // The race detector needs a C compiler. The server is another one each time: -count=1.
    const race = (await go(["env", "CGO_ENABLED"])).trim() === "1" ? ["-race"] : [];
    const result = await go(["test", ...race, "-count=1", "./..."], {
      env: { DROVER_TEST_ADDRESS: address },
    });
    expect(result).toContain("ok");
  });

  test("the generated code is that of the contract", { timeout: goMs }, async (context) => {
    await needsGo(context);
    const folder = givenFolder();
    await promisify(execFile)("sh", [join(goFolder, "generate.sh"), folder]);
    expect(filesOf(folder)).toEqual(filesOf(join(goFolder, "droverpb")));
  });

  test("the README is true in a clean folder", { timeout: goMs }, async (context) => {
    await needsGo(context);
    const readme = readFileSync(join(goFolder, "README.md"), "utf8");
    const [install = ""] = blocks(readme, "sh");
    const lines = install.replaceAll("../drover", root);
    const programs = blocks(readme, "go").filter((text) => text.startsWith("package main\n"));
    const env = { DROVER_ADDRESS: await givenServer() };
    const printed: string[] = [];
    for (const program of programs) {
      const cwd = givenFolder();
      writeFileSync(join(cwd, "main.go"), program);
      await promisify(execFile)("sh", ["-euc", lines], { cwd });
      printed.push(await go(["run", "."], { cwd, env }));
    }
    expect(printed).toEqual(["flight-to-Lisbon\n", "COMPLETED t-9\n"]);
  });
});

test.each([
  ["everything", "sdk/go/workflow/testdata/everything.yaml"],
  ["holiday", "agents-examples/holiday/holiday.yaml"],
  ["order", "agents-examples/order/workflow.yaml"],
])("the message of %s that Go compares with is that of its text", async (name, path) => {
  const { definition } = parseWorkflowText(readFileSync(join(root, path), "utf8"));
  const message = toJsonString(WorkflowDefinitionSchema, definition, { prettySpaces: 2 });
  // `npx vitest run test/e2e/go-sdk.test.ts -u` writes it anew.
  await expect(`${message}\n`).toMatchFileSnapshot(
    join(goFolder, "workflow/testdata", `${name}.json`),
  );
});

function blocks(text: string, language: string): readonly string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms");
  return [...text.matchAll(pattern)].map(([, code = ""]) => code);
}

function filesOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".go"));
  return Object.fromEntries(
    names.sort().map((name) => [name, readFileSync(join(folder, name), "utf8")]),
  );
}
