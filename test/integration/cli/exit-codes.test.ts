// What scripts go by, for every verb that there is: 2 for a mistake in the command, 3 where no
// server answers, 4 for what is not there; and each time the next thing to try.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type CliFailure, exitCodes } from "../../../cli/failure.ts";
import { failureOf } from "../../../cli/failure-of.ts";
import { createProgram } from "../../../cli/program.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";

/** They start something, or work without a server; each has tests of its own. */
const offline: ReadonlySet<string> = new Set([
  "init",
  "dev",
  "server",
  "supervisor",
  "mcp",
  "agent http",
  "agent shell",
  "migrate",
  "shard list",
  "shard move",
  "db url",
  "completion",
  "complete",
  "config show",
  "context add",
  "context use",
  "context list",
  "context remove",
  "version",
  "workflow check",
  "workflow graph",
  "workflow test",
]);
/** What they print belongs to no namespace. */
const ofAll: ReadonlySet<string> = new Set([
  "supervisor list",
  "partition list",
  "partition history",
  "namespace create",
  "namespace list",
  "bench",
  "token revoke",
]);
/** They name what need not be there: it is made, set ahead of its time, or filters a list. */
const needNothing: ReadonlySet<string> = new Set([
  "workflow apply",
  "namespace create",
  "hook put",
  "trigger put",
  "run bulk",
  "queue pause",
  "queue resume",
  "queue drain",
  "queue limit",
  "queue pin",
  "queue unpin",
  "queue show",
  "queue circuit open",
  "queue circuit close",
  "queue circuit release",
  "token create",
  "agent cordon",
  "agent uncordon",
  "workflow pause",
  "workflow resume",
  "trigger refusals",
]);

const missing = "0198c0de-0000-7000-8000-00000000002a";
let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "drover-codes-"));
  writeFileSync(join(folder, "w.yaml"), "workflow: w\nsteps:\n  - { id: a, task: book }\n");
  writeFileSync(join(folder, "runs.jsonl"), '{"workflow":"nosuch","key":"a"}\n');
  server = await startDroverServer();
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation(() => true);
  return () => vi.restoreAllMocks();
});

/** What a verb needs beside its arguments. */
const options: Readonly<Record<string, readonly string[]>> = {
  "run decide": ["--approve", "--by", "ada"],
  "run complete": ["--succeed", "--by", "ada"],
  "approval decide": ["--approve", "--by", "ada"],
  "run rerun": ["--from", "a"],
  "run bulk": ["--state", "failed", "--yes"],
  "run start-many": ["--key", "import"],
  "escalation claim": ["--by", "ada"],
  "escalation release": ["--by", "ada"],
  "run erase": ["--reason", "the customer asked", "--yes"],
  "escalation resolve": ["--answer", "retry", "--by", "ada", "--reason", "it is back"],
  "namespace limit": ["--open-runs", "5"],
  "queue limit": ["--leased", "5"],
  "queue drain": ["--timeout", "1s"],
  "queue pin": ["--workflow", "w", "--version", "1", "--agent-version", "1"],
  "queue unpin": ["--workflow", "w", "--version", "1"],
  "queue circuit open": ["--by", "ada", "--reason", "it is down"],
  "queue circuit close": ["--by", "ada"],
  "queue circuit release": ["--by", "ada"],
  "schedule create": ["--every", "15m"],
  "schedule update": ["--every", "15m"],
  "schedule backfill": ["--from", "2026-01-01", "--to", "2026-01-02"],
  "agent cordon": ["--by", "ada", "--reason", "it is ill"],
  "token create": ["--role", "client", "--by", "ada"],
  "token revoke": ["--by", "ada"],
  "hook put": ["--event", "escalation-opened", "--new-secret"],
};

const values: Readonly<Record<string, string>> = {
  run: missing,
  escalation: `${missing}/1`,
  partition: "1",
  version: "1",
  duration: "30d",
  url: "https://example.com/drover",
  token: "0123456789abcdef",
};

interface Verb {
  readonly name: string;
  readonly args: () => readonly string[];
  readonly namesThings: boolean;
}

function verbsOf(command: Command, name = ""): readonly Verb[] {
  const children = command.commands.flatMap((child) =>
    verbsOf(child, `${name} ${child.name()}`.trim()),
  );
  const isVerb = name !== "" && (children.length === 0 || name === "supervisor");
  if (!isVerb) return children;
  const given = command.registeredArguments.filter(({ variadic }) => !variadic);
  const fileOf = () => join(folder, name === "run start-many" ? "runs.jsonl" : "w.yaml");
  const argumentText = (argument: (typeof given)[number]) =>
    argument.argChoices?.[0] ?? values[argument.name()] ?? "nosuch";
  const args = () => [
    ...name.split(" "),
    ...given.map((one) => (one.name() === "file" ? fileOf() : argumentText(one))),
    ...(options[name] ?? []),
  ];
  const plain = new Set(["file", "duration", "partition", "switch"]);
  const names = given.filter((one) => !plain.has(one.name()));
  return [{ name, args, namesThings: names.length > 0 }, ...children];
}

const verbs = verbsOf(await createProgram("0", () => undefined));
const online = verbs.filter(({ name }) => !offline.has(name));

/** A verb as main.ts runs it, without the process around it. */
async function endOf(args: readonly string[]): Promise<number | CliFailure> {
  let code: number = exitCodes.done;
  const program = await createProgram("0", (given) => {
    code = given;
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    return failureOf(error, program.opts().address);
  }
}

const failing = (code: number) => ({ code, next: expect.stringMatching(/\S/) });

describe("2: a mistake in the command", () => {
  test.each(verbs)("drover $name", async ({ name }) => {
    const end = await endOf([...name.split(" "), "--nosuch-option"]);
    expect(end).toMatchObject({ code: 2, next: `drover ${name} --help` });
  });
});

describe("3: no server answers", () => {
  test.each(online)("drover $name", async ({ args }) => {
    const end = await endOf([...args(), "--address", "127.0.0.1:1"]);
    expect(end).toMatchObject(failing(3));
  });
});

describe("4: there is no such thing", () => {
  const naming = online.filter(({ name, namesThings }) => namesThings && !needNothing.has(name));
  test.each(naming)("drover $name", async ({ args }) => {
    expect(await endOf([...args(), "--address", server.address])).toMatchObject(failing(4));
  });
});

describe("4: there is no such namespace", () => {
  const inside = online.filter(({ name }) => !ofAll.has(name));
  test.each(inside)("drover $name", async ({ args }) => {
    const end = await endOf([...args(), "--address", server.address, "--namespace", "nowhere"]);
    expect(end).toMatchObject(failing(4));
  });
});
