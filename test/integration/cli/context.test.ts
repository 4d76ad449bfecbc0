// Contexts: stored by name, used where neither a flag nor the environment says otherwise.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();
const secret = `drover_${"a".repeat(43)}`;

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "drover-context-"));
  writeFileSync(join(home, "token"), `${secret}\n`);
});
afterEach(() => rmSync(home, { recursive: true }));

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  callDrover(args, { cwd: home, env: { XDG_CONFIG_HOME: home, ...env } });

const add = (name: string, ...more: readonly string[]) =>
  run(["context", "add", name, "--address", server.address, ...more]);

/** The namespace and the token that a call has. */
async function called(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  let saw: object = {};
  server.play({
    listRuns({ namespace }, { requestHeader }) {
      saw = { namespace, token: requestHeader.get("authorization") };
      return {};
    },
  });
  const ended = await run(["run", "list", ...args], env);
  return { ...ended, ...saw };
}

describe("a context", () => {
  it("gives commands its address, namespace and token, and the first one is used", async () => {
    await add("prod", "--namespace", "payments", "--token-file", "token");
    expect(await called()).toMatchObject({
      code: 0,
      namespace: "payments",
      token: `Bearer ${secret}`,
    });
  });

  it("is weaker than the environment, and that than a flag", async () => {
    await add("prod", "--namespace", "payments");
    const env = { DROVER_NAMESPACE: "staging" };
    expect(await called([], env)).toMatchObject({ namespace: "staging" });
    expect(await called(["--namespace", "mine"], env)).toMatchObject({ namespace: "mine" });
  });

  it("is stronger than the file of settings, which would lead --context elsewhere", async () => {
    await add("prod", "--namespace", "payments");
    writeFileSync(join(home, "drover.yaml"), "namespace: file\n");
    expect(await called(["--context", "prod"])).toMatchObject({ namespace: "payments" });
  });

  it("is chosen for all commands by use, and for one by --context or DROVER_CONTEXT", async () => {
    await add("prod", "--namespace", "payments");
    await add("test", "--namespace", "trial");
    expect(await called()).toMatchObject({ namespace: "payments" });
    const once = await called(["--context", "test"]);
    expect(once).toMatchObject({ namespace: "trial" });
    expect(once.stderr).toBe("no runs\n  next: drover run start WORKFLOW\n");
    expect(await called([], { DROVER_CONTEXT: "test" })).toMatchObject({ namespace: "trial" });
    expect((await run(["context", "use", "test"])).stdout).toBe(
      `in use: test, trial at ${server.address}\n`,
    );
    expect(await called()).toMatchObject({ namespace: "trial" });
  });

  it("has no token in its file, which only the user may read, and prints none", async () => {
    await add("prod", "--token-file", "token");
    const file = join(home, "drover", "contexts.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toContain(secret);
    const { stdout } = await run(["context", "list"]);
    expect(stdout).toMatch(/^prod +yes +\S+ +default +of the file \S+token$/m);
    const refused = await add("other", "--token", secret);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).not.toContain(secret);
  });

  it("is named by config, with what it sets", async () => {
    await add("prod", "--namespace", "payments");
    const { stdout } = await run(["config", "show"]);
    expect(stdout).toMatch(/^namespace +payments +context prod$/m);
    expect(stdout).toMatch(/^context +prod +context prod$/m);
  });

  it("that was removed is used no more", async () => {
    await add("prod", "--namespace", "payments");
    expect((await run(["context", "remove", "prod"])).code).toBe(0);
    expect(await called(["--address", server.address])).toMatchObject({ namespace: "default" });
  });
});

test("a context that there is not ends with 4, and a token that is not there with 2", async () => {
  expect(await called(["--context", "nosuch"])).toMatchObject({ code: 4 });
  await add("prod", "--token-variable", "PROD_TOKEN");
  const { code, stderr } = await called();
  expect(code).toBe(2);
  expect(stderr).toBe(
    "drover: the token of the context is in PROD_TOKEN, which is not set\n" +
      "  next: set PROD_TOKEN, or --token\n",
  );
  expect(await called([], { PROD_TOKEN: secret })).toMatchObject({ token: `Bearer ${secret}` });
});

test("a file that cannot be read as contexts is named", async () => {
  await add("prod");
  writeFileSync(join(home, "drover", "contexts.json"), "{");
  const { code, stderr } = await called();
  expect(code).toBe(2);
  expect(stderr).toContain("cannot read the contexts of");
});
