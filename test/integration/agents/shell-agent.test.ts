/** Commands as steps: real processes, which are ended for real. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { prepareAgent } from "../../../agents/run-agent.ts";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import type { StepSpec } from "../../../sdk/typescript/workflow.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { until } from "../../support/until.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startDroverServer();
});
afterAll(() => server.stop());

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drover-shell-agent-"));
  return () => rmSync(folder, { recursive: true });
});

function script(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

let queues = 0;

/** An agent with these commands, and runs of one step. */
async function given(commands: string, env: Record<string, string> = {}) {
  const queue = `shell-${++queues}`;
  const text = `agent: ${queue}\nqueues: [${queue}]\ncommands:\n${commands}`;
  const prepared = await prepareAgent("shell", text, env);
  if (prepared.kind === "bad") throw new Error(JSON.stringify(prepared.problems));
  const { handler, stopMs } = prepared.agent;
  const { address } = server;
  const client = createClient({ address });
  const agent = createAgent({
    address,
    id: queue,
    queues: [queue],
    handlers: { shell: handler },
    cancelGrace: stopMs + 5_000,
    log: silentLog,
  });
  agent.start();
  onTestFinished(async () => {
    await agent.stop();
    client.close();
  });
  const start = async (input: object, step: Partial<StepSpec> = {}) => {
    const whole: StepSpec = { id: "do", task: "shell", queue, input, ...step };
    return (await client.schedule({ workflow: { workflow: "w", steps: [whole] } })).runId;
  };
  const finished = async (runId: string) => {
    const run = await client.waitRun(runId);
    const { steps, attempts } = await client.getRun(runId, { attempts: true });
    return { run, step: steps[0], attempts };
  };
  return { client, agent, start, finished };
}

const quick = { initial: "1ms", jitter: 0 } as const;

describe("a command", () => {
  test("gets its arguments as they are: no shell reads them", async () => {
    const show = script("show", 'for one in "$@"; do echo "[$one]"; done');
    const { start, finished } = await given(
      `  show: { run: ['${show}', --size, '\${args.size}', 'for \${args.name}'] }`,
    );
    const name = "$(touch pwned); `id` 'x' \" *";
    const { step } = await finished(await start({ command: "show", args: { size: 3, name } }));
    expect(step?.output).toBe(`[--size]\n[3]\n[for ${name}]\n`);
  });

  test("gets the task as JSON, and its result is JSON", async () => {
    const cat = script("cat", "cat");
    const { start, finished } = await given(`  cat: { run: ['${cat}'], stdout: json }`);
    const runId = await start({ command: "cat", args: { a: [1, "x"] } });
    const { step } = await finished(runId);
    expect(step?.output).toMatchObject({
      args: { a: [1, "x"] },
      kind: "perform",
      run: runId,
      step: "do",
      attempt: 1,
      fence: 1,
      key: expect.stringContaining(runId),
    });
  });

  test("has a clean environment: the keys, what the settings say, and nothing of the agent's", async () => {
    process.env.OF_THE_AGENT = "leaked";
    onTestFinished(() => void delete process.env.OF_THE_AGENT);
    const { start, finished } = await given(
      `  env: { run: [env], env: { COLOUR: red }, secrets: { PASSWORD: { env: PW } } }`,
      { PW: "pa55word-of-it" },
    );
    const { step } = await finished(await start({ command: "env" }));
    const lines = String(step?.output).trim().split("\n");
    const names = lines.map((line) => line.split("=")[0]).filter((name) => name !== "_");
    expect(names.sort()).toEqual(
      "COLOUR DROVER_ATTEMPT DROVER_EFFECT_KEY DROVER_FENCE DROVER_IDEMPOTENCY_KEY DROVER_KIND DROVER_RUN DROVER_STEP LANG PASSWORD PATH".split(
        " ",
      ),
    );
    expect(step?.output).toContain("PASSWORD=[secret PASSWORD]");
  });

  test("is one that the settings name, with arguments that fit its schema", async () => {
    const { start, finished } = await given(
      `  echo: { run: [echo, '\${args.n}'], args: { type: object, properties: { n: { type: integer } } } }`,
    );
    const other = await finished(await start({ command: "rm", args: {} }));
    expect(other.step?.error?.message).toContain(
      'no command "rm" in the settings of the agent: echo',
    );
    const wrong = await finished(await start({ command: "echo", args: { n: "-rf" } }));
    expect(wrong.step?.error).toMatchObject({ code: "bad-input" });
    const missing = await finished(await start({ command: "echo" }));
    expect(missing.step?.error?.message).toMatch(/run\[1\].*no "n"/);
  });
});

describe("an exit code", () => {
  const exits = (code: number) => script(`exit-${code}`, `echo why >&2; exit ${code}`);

  test.for<[number, string, string]>([
    [2, "PERMANENT", "FAILURE"],
    [70, "PERMANENT", "FAILURE"],
    [75, "TRANSIENT", "FAILURE"],
    [1, "UNKNOWN", "UNKNOWN"],
  ])("of %i is a %s outcome by the settings", async ([code, kind, outcome]) => {
    const { start, client } = await given(
      `  do: { run: ['${exits(code)}'], exit: { permanent: [2, "64-74"], transient: [75] } }`,
    );
    const runId = await start({ command: "do" }, { effects: "once", retry: { attempts: 1 } });
    const attempt = await until("the attempt has ended", async () => {
      const { attempts } = await client.getRun(runId, { attempts: true });
      return attempts.find((one) => one.outcome === outcome) ?? null;
    });
    expect(attempt.failure).toMatchObject({ code: `exit-${code}`, class: kind });
    expect(attempt.failure?.message).toBe(`do ended with the code ${code}: why`);
  });

  test("is missing where something else kills the command: unknown", async () => {
    const { start, finished } = await given(`  do: { run: ['${script("die", "kill -9 $$")}'] }`);
    const { attempts } = await finished(await start({ command: "do" }, { retry: { attempts: 1 } }));
    expect(attempts).toMatchObject([{ outcome: "UNKNOWN", failure: { code: "killed" } }]);
  });

  test("is missing where the program is: nothing ran, so it is tried again", async () => {
    const program = join(folder, "late");
    const { start, finished, client } = await given(`  do: { run: ['${program}'] }`);
    const step = { effects: "once", retry: { ...quick, attempts: 1_000, max: "10ms" } } as const;
    const runId = await start({ command: "do" }, step);
    await until("it was tried", async () => {
      const { attempts } = await client.getRun(runId, { attempts: true });
      return attempts.some(({ failure }) => failure?.code === "not-started") || null;
    });
    script("late", "echo here");
    const { run } = await finished(runId);
    expect(run.state).toBe("COMPLETED");
  });
});

test("more output than may be is lost; the work is done", async () => {
  const { start, finished } = await given(
    `  do: { run: [head, -c, '100000', /dev/zero], output_bytes: 1000 }`,
  );
  const { step } = await finished(await start({ command: "do" }));
  expect(step?.error).toMatchObject({ code: "drover.output" });
  expect(step?.error?.message).toContain("more than 1000 bytes");
});

describe("a command that must stop", () => {
  /** Ignores SIGTERM if it is told to, and has a child that does. */
  function stubborn(trap: string): string {
    const child = `sh -c 'trap "" TERM; while :; do sleep 0.1; done' &`;
    return script(
      "stubborn",
      `${trap}\n${child}\necho $! > '${folder}/child'\necho $$ > '${folder}/pid'\nwhile :; do sleep 0.1; done`,
    );
  }

  const pidIn = (name: string) => {
    const file = join(folder, name);
    return existsSync(file) ? Number(readFileSync(file, "utf8")) || null : null;
  };

  const hasEnded = (pid: number) => {
    try {
      // A zombie whose parent has not asked for it yet still has a name here, and no command line.
      return readFileSync(`/proc/${pid}/cmdline`, "utf8") === "" || null;
    } catch {
      return true;
    }
  };

  test.each([
    ["ends by SIGTERM", "trap 'exit 0' TERM"],
    ["is killed where it ignores SIGTERM", "trap '' TERM"],
  ])("%s, with all that it has started", async (_what, trap) => {
    const { start, client } = await given(
      `  do: { run: ['${stubborn(trap)}'], kill_after: 200ms }`,
    );
    const runId = await start({ command: "do" }, { timeouts: { heartbeat: "3s" } });
    const pid = await until("it runs", () => pidIn("pid"));
    const child = await until("its child runs", () => pidIn("child"));
    await client.cancelRun(runId);
    await until("it has ended", () => hasEnded(pid));
    await until("its child has ended", () => hasEnded(child));
    expect(await client.waitRun(runId)).toMatchObject({ state: "CANCELLED" });
  });

  test("is ended by its own timeout, and is unknown", async () => {
    const { start, finished } = await given(
      `  do: { run: ['${stubborn("trap '' TERM")}'], timeout: 2s, kill_after: 100ms }`,
    );
    const { attempts } = await finished(await start({ command: "do" }, { retry: { attempts: 1 } }));
    expect(attempts).toMatchObject([{ outcome: "UNKNOWN", failure: { code: "timeout" } }]);
    expect(hasEnded(pidIn("child") ?? 0)).toBe(true);
  });

  test("is ended when the lease cannot be renewed", async () => {
    const own = await startDroverServer();
    const prepared = await prepareAgent(
      "shell",
      `agent: s\ncommands:\n  do: { run: ['${stubborn("")}'], kill_after: 100ms }\n`,
      {},
    );
    if (prepared.kind === "bad") throw new Error("settings");
    const { address } = own;
    const { handler } = prepared.agent;
    const agent = createAgent({ address, id: "s", handlers: { shell: handler }, log: silentLog });
    const client = createClient({ address });
    agent.start();
    onTestFinished(async () => {
      client.close();
      await agent.stop();
    });
    const timeouts = { heartbeat: "2s" };
    const step: StepSpec = { id: "do", task: "shell", input: { command: "do" }, timeouts };
    await client.schedule({ workflow: { workflow: "w", steps: [step] } });
    const pid = await until("it runs", () => pidIn("pid"));
    await own.stop();
    await until("it has ended", () => hasEnded(pid));
  });
});

test("what a command leaves running is ended with it", async () => {
  const leave = script("leave", `sleep 1000 &\necho $! > '${folder}/child'\necho done`);
  const { start, finished } = await given(`  do: { run: ['${leave}'] }`);
  const { step } = await finished(await start({ command: "do" }));
  expect(step?.output).toBe("done\n");
  const child = readFileSync(join(folder, "child"), "utf8").trim();
  await until("the child has ended", () => !existsSync(`/proc/${child}`) || null);
});

test("a lost command is verified by another, and undone by a third", async () => {
  const made = join(folder, "made");
  const make = script("make", `echo "$DROVER_IDEMPOTENCY_KEY" > '${made}'; kill -9 $$`);
  const find = script(
    "find",
    `test "$(cat '${made}')" = "$DROVER_EFFECT_KEY" || exit 3; echo found`,
  );
  const undo = script("undo", `cat > '${join(folder, "undone")}'; rm '${made}'`);
  const { client } = await given(`
  make: { run: ['${make}'] }
  find: { run: ['${find}'], exit: { did_not: [3] } }
  undo: { run: ['${undo}'] }
  fail: { run: ["false"], exit: { permanent: [1] } }`);
  const queue = `shell-${queues}`;
  const steps: StepSpec[] = [
    {
      id: "make",
      task: "shell",
      queue,
      effects: "verifiable",
      input: { command: "make", verify: "find", undo: "undo", args: { a: 1 } },
      verify: { task: "shell", retry: quick },
      compensate: { task: "shell" },
    },
    { id: "fail", task: "shell", queue, needs: ["make"], input: { command: "fail" } },
  ];
  const { runId } = await client.schedule({ workflow: { workflow: "w", steps } });
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPENSATED" });
  expect(existsSync(made)).toBe(false);
  const input = JSON.parse(readFileSync(join(folder, "undone"), "utf8"));
  expect(input).toMatchObject({ kind: "compensate", output: "found\n", args: { a: 1 } });
});
