// `drover audit list`, against a real server: filters, the name of the person who calls, export.
import { afterAll, beforeAll, expect, test } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
  await drover(["queue", "pause", "mail", "--reason", "the relay is down"]);
  await drover(["queue", "resume", "mail"], { DROVER_USER: "grace" });
  await drover(["queue", "limit", "mail", "--leased", "5"]);
});
afterAll(async () => {
  await server?.stop();
});

async function drover(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const called = { DROVER_ADDRESS: server.address, DROVER_USER: "Jürgen", ...env };
  const ended = await callDrover([...args], { env: called });
  if (ended.code !== 0) throw new Error(`drover ${args.join(" ")}: ${ended.stderr}`);
  return ended;
}

const exported = async (...args: readonly string[]) =>
  (await drover(["audit", "list", ...args, "--all", "-o", "jsonl"])).stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

test("the table says who did what, when, from where, and why, the newest first", async () => {
  const { stdout } = await drover(["audit", "list"]);
  const [head, ...rows] = stdout.trim().split("\n");
  expect(head).toMatch(/TIME +ACTION +SUBJECT +BY +FROM +REASON +DETAILS/);
  expect(rows).toEqual([
    expect.stringMatching(/queue\.limits +queue\/mail +Jürgen .*127\.0\.0\.1:\d+ .*leased=5/),
    expect.stringMatching(/queue\.resume +queue\/mail +grace/),
    expect.stringMatching(/queue\.pause +queue\/mail +Jürgen .*the relay is down/),
  ]);
});

test("it can be of one subject, action, person or time, and is exported as lines of JSON", async () => {
  expect(await exported()).toHaveLength(3);
  expect(await exported("--by", "grace")).toMatchObject([{ action: "queue.resume" }]);
  expect(await exported("--action", "queue.pause")).toMatchObject([
    { reason: "the relay is down", subject: { kind: "queue", name: "mail" } },
  ]);
  expect(await exported("--subject", "queue/mail", "--since", "2020-01-01")).toHaveLength(3);
  const none = await drover(["audit", "list", "--subject", "queue/other"]);
  expect(none.stderr).toContain("no entry");
});

test("a subject without a kind is refused, and an unknown action says which there are", async () => {
  const refused = await callDrover(["audit", "list", "--subject", "mail"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("KIND/NAME")]);
  const env = { DROVER_ADDRESS: server.address };
  const unknown = await callDrover(["audit", "list", "--action", "run.eat"], { env });
  expect(unknown.stderr).toContain("run.cancel");
});
