/** The examples in the README of the SDK run as they are there, against a real server. */
import { execFile } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { packNpm } from "../../release/npm-packages.ts";
import { startDroverServer } from "../support/drover-server.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

const text = readFileSync(join(root, "sdk/typescript/README.md"), "utf8");
const examples = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);

test.each([
  [
    "books the flight",
    /"hello-agent"/,
    { state: "COMPLETED", flight: { booking: "flight-to-Lisbon" } },
  ],
  [
    "reads outputs with their types, and sends no wrong input",
    /from "zod"/,
    { flight: { id: "1-to-Lisbon" }, isRefused: true, path: "input.to" },
  ],
  [
    "finds the charge of which the answer was lost, and makes no second one",
    /"find-charge"/,
    { state: "COMPLETED", pay: { charge: 1 }, charges: 1 },
  ],
  [
    "waits for people, a slow service, a callback and a signal",
    /deferred\(\)/,
    {
      state: "COMPLETED",
      looks: 3,
      pack: { boxes: 2 },
      ship: { parcel: "p-7" },
      delivered: { to: "the neighbour" },
    },
  ],
  [
    "continues as a person answers",
    /escalations\.resolve/,
    { state: "COMPLETED", send: { transfer: "t-9" } },
  ],
])("an example %s, and ends by itself", async (_name, mark, expected) => {
  const code = examples.find((example) => mark.test(example)) ?? "";
  const server = await startDroverServer();
  onTestFinished(() => server.stop());
  const folder = newProject();
  writeFileSync(join(folder, "example.ts"), code);
  const { stdout } = await run(process.execPath, [join(folder, "example.ts")], {
    env: { ...process.env, DROVER_ADDRESS: server.address },
  });
  expect(JSON.parse(stdout)).toMatchObject(expected);
});

test("the example of a test passes, without a server", async () => {
  const code = examples.find((example) => example.includes("@drover/sdk/testing")) ?? "";
  const folder = newProject();
  writeFileSync(join(folder, "flights.test.ts"), code);
  const { stdout } = await run(process.execPath, ["--test"], { cwd: folder });
  expect(stdout).toMatch(/pass 3$/m);
});

test("no example is left out", () => {
  expect(examples).toHaveLength(6);
});

describe("the tarballs of npm run release", () => {
  test("hold what runs within node_modules, where Node runs no TypeScript", async () => {
    const folder = await packedProject();
    const server = await startDroverServer();
    onTestFinished(() => server.stop());
    writeFileSync(join(folder, "example.ts"), examples[0] ?? "");
    const { stdout } = await run(process.execPath, [join(folder, "example.ts")], {
      env: { ...process.env, DROVER_ADDRESS: server.address },
    });
    expect(JSON.parse(stdout)).toMatchObject({ state: "COMPLETED" });
    const held = readdirSync(join(folder, "node_modules/@drover/sdk"), { recursive: true });
    expect(held.filter((file) => /(?<!\.d)\.ts$|\.test\.|tsconfig/.test(String(file)))).toEqual([]);
    expect(held).toEqual(expect.arrayContaining(["README.md", "LICENSE", "index.d.ts"]));
  });

  test("trace beside version 2 of OpenTelemetry's SDK, by the API that it brings", async () => {
    const folder = await packedProject();
    const beside = join(root, "test/support/otel-v2");
    symlinkSync(
      join(beside, "node_modules/@opentelemetry"),
      join(folder, "node_modules/@opentelemetry"),
    );
    copyFileSync(join(beside, "program.ts"), join(folder, "program.ts"));
    const receiver = await startOtlpReceiver();
    onTestFinished(() => receiver.close());
    const trace = { url: receiver.url, protocol: "http", ratio: 1 } as const;
    const server = await startDroverServer(undefined, { trace });
    onTestFinished(() => server.stop());
    const { stdout } = await run(process.execPath, [join(folder, "program.ts")], {
      env: { ...process.env, DROVER_ADDRESS: server.address },
    });
    const { state, spans } = JSON.parse(stdout);
    const named = (name: string) => spans.find((span: { name: string }) => span.name === name);
    expect(state).toBe("COMPLETED");
    expect(named("perform book").traceId).toBe(named("request").traceId);
    expect(named("ask the airline").parentId).toBe(named("perform book").id);
  });

  test("hold types that fit all examples, and refuse a mistake", async () => {
    const folder = await packedProject();
    for (const [no, code] of examples.entries())
      writeFileSync(join(folder, `example-${no}.ts`), code);
    const compilerOptions = {
      module: "nodenext",
      target: "es2024",
      strict: true,
      noEmit: true,
      types: ["node"],
      exactOptionalPropertyTypes: true,
    };
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, include: ["*.ts"] }),
    );
    const compile = () =>
      run(join(root, "node_modules/.bin/tsc"), ["-p", folder]).then(
        () => "",
        ({ stdout }: { stdout: string }) => stdout,
      );
    expect(await compile()).toBe("");
    const mistaken =
      'import { createAgent } from "@drover/sdk";\ncreateAgent({ adress: "nowhere" });\n';
    writeFileSync(join(folder, "mistaken.ts"), mistaken);
    expect(await compile()).toContain("'adress' does not exist in type 'AgentOptions'");
  });
});

/** Within the repository, where its packages and those that they need are found by their names. */
function newProject(): string {
  const parent = join(root, ".drover");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "readme-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

/** The tarballs are unpacked where npm would put them. */
async function packedProject(): Promise<string> {
  const folder = newProject();
  const tarballs = await packNpm(join(folder, "tarballs"), ["proto", "sdk/typescript"]);
  for (const [index, name] of ["proto", "sdk"].entries()) {
    const into = join(folder, "node_modules/@drover", name);
    mkdirSync(into, { recursive: true });
    const tarball = tarballs[index] ?? "";
    await run("tar", ["--extract", "--strip-components=1", "--file", tarball, "-C", into]);
  }
  return folder;
}

test("the agent of the first example is under 30 lines", () => {
  const agent = /^const agent = .*?^agent\.start\(\);$/ms.exec(text)?.[0] ?? "";
  expect(agent.split("\n").length).toBeGreaterThan(3);
  expect(agent.split("\n").length).toBeLessThan(30);
});
