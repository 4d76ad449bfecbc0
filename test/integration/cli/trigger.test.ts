// drover trigger put, list, show, delete, refusals and try, against a real server.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../../sdk/typescript/index.ts";
import { callDrover } from "../../support/drover-call.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";

const PUSH = `trigger: push
http:
  hmac: { header: X-Hub-Signature-256, prefix: "sha256=" }
when: body.ref == "refs/heads/main"
schedule:
  workflow: deploy
  key: push-\${headers["x-github-delivery"]}
  input: { commit: "\${body.after}" }
`;

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await startDroverServer();
  folder = mkdtempSync(join(tmpdir(), "drover-cli-"));
  writeFileSync(join(folder, "push.yaml"), PUSH);
  writeFileSync(join(folder, "broken.yaml"), PUSH.replace("body.after", "boddy.after"));
  const client = createClient({ address: server.address });
  await client.registerWorkflow("workflow: deploy\nsteps: [{ id: a, task: none }]\n");
  client.close();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server?.stop();
});

const trigger = (...args: readonly string[]) =>
  callDrover(["trigger", ...args], { cwd: folder, env: { DROVER_ADDRESS: server.address } });

test("a trigger is put from a file, with a new secret that is printed once", async () => {
  const { code, stdout, stderr } = await trigger("put", "push.yaml", "--new-secret");
  expect({ code, stdout }).toEqual({ code: 0, stdout: "trigger push created\n" });
  expect(stderr).toContain("called by POST /hooks/default/push");
  expect(stderr).toMatch(/secret [0-9a-f]{64}: store it, it is not shown again/);
  expect(await trigger("put", "push.yaml")).toMatchObject({ stdout: "trigger push changed\n" });
  const { stdout: listed } = await trigger("list");
  expect(listed).toContain("push     POST, signed in x-hub-signature-256  schedule deploy");
  const { stdout: described } = await trigger("show", "push");
  expect(described).toContain("path          /hooks/default/push");
  expect(described).toContain('when          body.ref == "refs/heads/main"');
});

test("what is wrong with a file is named with line and column, and nothing is stored", async () => {
  const { code, stderr } = await trigger("put", "broken.yaml", "--new-secret");
  expect(code).toBe(1);
  expect(stderr).toContain('there is no "boddy": did you mean body?');
  expect(stderr).toContain("(line 8, column 20)");
});

test("a trigger is put from flags, at the end of a run too", async () => {
  const flags = ["--name", "after", "--end-of", "build", "--state", "failed"];
  const put = await trigger(
    "put",
    ...flags,
    "--schedule",
    "deploy",
    "--input",
    `{"of":"\${run.id}"}`,
  );
  expect(put).toMatchObject({ code: 0, stdout: "trigger after created\n" });
  const { stdout } = await trigger("show", "after");
  expect(stdout).toContain("source        end of build: failed");
  expect(stdout).toContain(`input         {"of":"\${run.id}"}`);
  for (const args of [
    [],
    ["push.yaml", "--name", "other"],
    ["--name", "x", "--schedule", "deploy"],
    ["--name", "x", "--schedule", "deploy", "--bearer", "--end-of", "build"],
  ])
    expect((await trigger("put", ...args)).code, args.join(" ")).toBe(2);
});

test("trying one prints what it would do, and does nothing", async () => {
  const body = ["--body", '{"ref":"refs/heads/main","after":"abc"}'];
  const header = ["--header", "X-GitHub-Delivery=d1"];
  const tried = await trigger("try", "--file", "push.yaml", ...body, ...header);
  expect(tried.stdout).toBe(
    'schedule deploy\n  key         push-d1\n  input       {"commit":"abc"}\n',
  );
  const other = await trigger("try", "--file", "push.yaml", "--body", '{"ref":"x"}');
  expect(other.stdout).toBe("nothing: its `when` is false\n");
  const failing = await trigger("try", "--file", "push.yaml", ...body);
  expect(failing.code).toBe(1);
  expect(failing.stderr).toContain('there is no "x-github-delivery"');
  const client = createClient({ address: server.address });
  expect((await client.listRuns()).runs).toEqual([]);
  client.close();
});

test("refusals are listed by reason", async () => {
  await trigger("put", "push.yaml", "--new-secret");
  const call = () => fetch(`${server.url}/hooks/default/push`, { method: "POST", body: "{}" });
  await call();
  await call();
  // The server writes down what it has counted once a second, so that both may not come at once.
  const counted = async () => (await trigger("refusals", "push", "-o", "jsonl")).stdout;
  await expect.poll(counted, { timeout: 15_000 }).toContain('"count":"2"');
  expect(JSON.parse(await counted())).toMatchObject({ trigger: "push", reason: "CONTENT_TYPE" });
  expect((await trigger("refusals", "push")).stdout).toContain("CONTENT_TYPE");
});

test("a trigger is deleted, and one that is not there is reported", async () => {
  await trigger("put", "--name", "gone", "--end-of", "build", "--schedule", "deploy");
  expect(await trigger("delete", "gone")).toMatchObject({ stdout: "trigger gone deleted\n" });
  const again = await trigger("delete", "gone");
  expect(again.code).toBe(4);
  expect(again.stderr).toBe('drover: there is no trigger "gone"\n  next: drover trigger list\n');
  expect((await trigger("show", "gone")).code).toBe(4);
});
