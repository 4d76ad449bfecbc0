// drover queue circuit list, open, close and release; drover agent cordon, uncordon and cordons.
import { CircuitSetting, CircuitState } from "@drover/proto/drover/v1/circuit_pb.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callDrover } from "../../support/drover-call.ts";
import { type FakeScheduler, startFakeScheduler } from "../../support/fake-scheduler.ts";

const AT = { seconds: 1_767_225_600n };

let server: FakeScheduler;
beforeAll(async () => {
  server = await startFakeScheduler();
});
afterAll(() => server.stop());

const run = (...args: readonly string[]) =>
  callDrover(args, { env: { DROVER_ADDRESS: server.address } });

test("an operator opens a circuit with a reason, and the output names the command to release it", async () => {
  const asked: object[] = [];
  server.play({
    setCircuit: (request) => {
      asked.push(request);
      const override = { setting: CircuitSetting.OPEN, setBy: "ada", why: "it leaks", setTime: AT };
      return { circuit: { queue: "bank", task: "pay", ...override } };
    },
  });
  const why = ["--by", "ada", "--reason", "it leaks"];
  const { code, stdout, stderr } = await run("queue", "circuit", "open", "bank", "pay", ...why);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout:
      "circuit of task pay in queue bank is open, set by ada at 2026-01-01 00:00:00Z: it leaks\n",
  });
  expect(stderr).toContain("drover queue circuit release bank pay");
  expect(asked).toMatchObject([
    { queue: "bank", task: "pay", agentId: "", setting: CircuitSetting.OPEN, by: "ada" },
  ]);
});

test("the manual setting of one agent's circuit is removed", async () => {
  const asked: object[] = [];
  server.play({
    setCircuit: (request) => {
      asked.push(request);
      const state = CircuitState.CLOSED;
      return { circuit: { queue: "bank", task: "pay", agentId: "a1", state } };
    },
  });
  const of = ["bank", "pay", "--agent", "a1", "--by", "ada"];
  const { stdout } = await run("queue", "circuit", "release", ...of);
  expect(stdout).toBe("circuit of task pay in queue bank of agent a1 is closed\n");
  expect(asked).toMatchObject([{ agentId: "a1", setting: CircuitSetting.UNSPECIFIED }]);
});

test("the status shows the circuits that are open, each with the command that helps", async () => {
  const override = { setBy: "ada", why: "it leaks", setTime: AT };
  const open = { state: CircuitState.OPEN, sinceTime: AT, tryTime: AT };
  server.play({
    getOverview: () => ({
      openCircuits: [
        { queue: "bank", task: "pay", ...open },
        { queue: "bank", task: "ask", agentId: "a1", setting: CircuitSetting.OPEN, ...override },
      ],
    }),
    getClusterInfo: () => ({}),
  });
  const { stdout } = await run("status");
  expect(stdout).toMatch(
    /^circuit of "pay" of queue "bank" is open, one task probes the service from 2026/m,
  );
  expect(stdout).toMatch(/ drover queue circuit close bank pay$/m);
  expect(stdout).toMatch(
    /^circuit of "ask" of queue "bank" for agent a1 is open, set by ada at 2026/m,
  );
  expect(stdout).toMatch(/ drover queue circuit release bank ask --agent a1$/m);
  const { overview } = JSON.parse((await run("status", "-o", "json")).stdout);
  expect(overview.openCircuits).toMatchObject([{ task: "pay" }, { task: "ask", agentId: "a1" }]);
});

test("circuits are listed with what was seen and when one task probes the service", async () => {
  server.play({
    listCircuits: () => ({
      circuits: [
        {
          queue: "bank",
          task: "pay",
          state: CircuitState.OPEN,
          tryTime: AT,
          saw: "20 of 20 tasks failed",
        },
        { queue: "mail", task: "send", agentId: "a1", state: CircuitState.TRYING },
      ],
    }),
  });
  const { stdout } = await run("queue", "circuit", "list");
  expect(stdout).toMatch(
    /bank +pay +open, one task probes the service from 2026-01-01 00:00:00Z +20 of 20 tasks failed/,
  );
  expect(stdout).toMatch(/mail +send +a1 +open, and one task probes the service/);
});

test("an agent is cordoned, and a version uncordoned", async () => {
  server.play({
    cordonAgent: ({ by, why }) => {
      const of = { case: "agentId", value: "a1" } as const;
      return { cordon: { of, cordonedBy: by, why, cordonedTime: AT } };
    },
    uncordonAgent: ({ of }) => ({ uncordoned: of.case === "version" && of.value === "1.2" }),
  });
  const cordoned = await run("agent", "cordon", "a1", "--by", "ada", "--reason", "slow");
  expect(cordoned.stdout).toBe("agent a1 cordoned by ada at 2026-01-01 00:00:00Z: slow\n");
  expect(cordoned.stderr).toContain("drover agent uncordon a1");
  const uncordoned = await run("agent", "uncordon", "--agent-version", "1.2");
  expect(uncordoned.stdout).toBe("version 1.2 uncordoned\n");
});

test("a cordon of no agent, or of an agent and a version, is no cordon", async () => {
  for (const of of [[], ["a1", "--agent-version", "1"]]) {
    const { code, stderr } = await run("agent", "cordon", ...of, "--by", "ada");
    expect(code).toBe(2);
    expect(stderr).toContain(
      "name an agent, with --instance for one instance of it, or give --agent-version and a version",
    );
  }
});

test("cordons are listed with who and why", async () => {
  const of = { case: "version", value: "1.2" } as const;
  server.play({
    listCordons: () => ({ cordons: [{ of, cordonedBy: "ada", why: "leaks", cordonedTime: AT }] }),
  });
  const { stdout } = await run("agent", "cordons");
  expect(stdout).toMatch(/version 1.2 +ada +2026-01-01 00:00:00Z +leaks/);
});
