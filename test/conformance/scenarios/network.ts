/** Calls and answers that are lost, connections that break, servers that stop and start. */
import assert from "node:assert/strict";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { spawnDroverServer } from "../../support/drover-server.ts";
import { until } from "../../support/until.ts";
import { assertAttempts, assertOutput, type Scenario } from "../scenario.ts";
import { heartbeatLease, type Stage, shortLease } from "../stage.ts";

/** So many heartbeats that name a task arrive from now on. */
async function moreHeartbeats(stage: Stage, count: number): Promise<void> {
  const answered = () =>
    stage.wire.heartbeat.calls.filter(
      ({ request, passedAt }) => request.reports.length > 0 && passedAt() !== null,
    ).length;
  const before = answered();
  await until(`${count} heartbeats are answered`, () =>
    answered() >= before + count ? true : null,
  );
}

export const network: readonly Scenario[] = [
  {
    name: "lost-delivery",
    guarantee:
      "The agent names a poll whose answer was lost; its tasks are handed out again, uncounted.",
    async play(stage) {
      const { poll } = stage.wire;
      const brings = poll.next();
      const agent = await stage.start();
      const runId = await stage.begin({ perform: [[{ success: "once more" }]] });
      const call = await brings;
      assert.equal((await call.send()).tasks.length, 1);
      const names = ({ lostPolls }: { lostPolls: bigint[] }) =>
        lostPolls.includes(call.request.pollSeq);
      const naming = poll.next(names);
      call.fail("away");
      await (await naming).pass();
      const run = await stage.end(runId);
      assertOutput(run, "once more");
      assertAttempts(run, [{ outcome: "GIVEN_BACK" }, { outcome: "SUCCESS" }]);
      assert.equal((await agent.line("started", { run: runId })).attempt, 1);
    },
  },
  {
    name: "lost-answer",
    guarantee: "A report whose answer was lost is repeated, and counts once.",
    async play(stage) {
      const reporting = stage.wire.complete.next();
      await stage.start();
      const runId = await stage.begin({ perform: [[{ success: "reported" }]] });
      const call = await reporting;
      await call.send();
      const repeating = stage.wire.complete.next();
      call.fail("away");
      const repeat = await repeating;
      assert.equal((await repeat.send()).answers[0]?.repeated, true);
      await repeat.pass();
      const run = await stage.end(runId);
      assertOutput(run, "reported");
      assertAttempts(run, [{ outcome: "SUCCESS" }]);
    },
  },
  {
    name: "overloaded",
    guarantee: "Polls, heartbeats and reports that an overloaded server refused are repeated.",
    async play(stage) {
      const { poll, heartbeat, complete } = stage.wire;
      const refusals = [poll.next(), heartbeat.next(), complete.next()].map(async (call) =>
        (await call).fail("full"),
      );
      const go = stage.file("go");
      await stage.start();
      const runId = await stage.begin(
        { perform: [[{ await: go }, { success: "at last" }]] },
        { timeouts: { heartbeat: heartbeatLease } },
      );
      await moreHeartbeats(stage, 1);
      stage.open(go);
      assertOutput(await stage.end(runId), "at last");
      await Promise.all(refusals);
    },
  },
  {
    name: "server-away",
    guarantee: "An agent that finds no server keeps polling, and works when there is one.",
    async play(stage) {
      const { poll } = stage.wire;
      const refusals = [poll.next(), poll.next(), poll.next()].map(async (call) =>
        (await call).fail("away"),
      );
      await stage.start();
      await Promise.all(refusals);
      assertOutput(await stage.end(await stage.begin({ perform: [[{ success: 1 }]] })), 1);
    },
  },
  {
    name: "cut",
    guarantee: "Connections that break in the middle of the work cost nothing.",
    async play(stage) {
      const agent = await stage.start();
      const go = stage.file("go");
      const runId = await stage.begin(
        { perform: [[{ await: go }, { success: "through" }]] },
        { timeouts: { heartbeat: "9s" } },
      );
      await agent.line("waiting", { run: runId });
      stage.wire.cut();
      await moreHeartbeats(stage, 1);
      stage.wire.cut();
      stage.open(go);
      const run = await stage.end(runId);
      assertOutput(run, "through");
      assertAttempts(run, [{ outcome: "SUCCESS" }]);
    },
  },
  {
    name: "silence",
    guarantee: "If all packets are lost, the agent ends the lease by its own clock.",
    async play(stage) {
      const agent = await stage.start();
      const script = { perform: [[{ await: stage.never }], [{ success: 2 }]] };
      const runId = await stage.begin(script, { timeouts: { heartbeat: shortLease } });
      await agent.line("waiting", { run: runId });
      stage.wire.freeze();
      assert.equal((await agent.line("stopped", { run: runId })).why, "lease-ended");
      stage.wire.cut();
      stage.wire.flow();
      assertOutput(await stage.end(runId), 2);
    },
  },
  {
    name: "slow-network",
    guarantee: "With 150 ms each way, leases are kept and nothing is done twice.",
    async play(stage) {
      stage.wire.delay(150);
      await stage.start();
      const go = stage.file("go");
      const runId = await stage.begin(
        {
          perform: [[{ progress: { counter: 1 } }, { await: go }, { success: "slow" }]],
        },
        { timeouts: { heartbeat: heartbeatLease } },
      );
      await moreHeartbeats(stage, 3);
      stage.open(go);
      const run = await stage.end(runId);
      assertOutput(run, "slow");
      assertAttempts(run, [{ outcome: "SUCCESS" }]);
    },
  },
  {
    name: "two-servers",
    guarantee: "Polls go to one server, heartbeats and reports to another.",
    async play(stage) {
      stage.wire.heartbeat.route(stage.servers.second);
      stage.wire.complete.route(stage.servers.second);
      await stage.start();
      const go = stage.file("go");
      const runId = await stage.begin(
        { perform: [[{ await: go }, { success: "both" }]] },
        { timeouts: { heartbeat: heartbeatLease } },
      );
      await moreHeartbeats(stage, 3);
      stage.open(go);
      const run = await stage.end(runId);
      assertOutput(run, "both");
      assertAttempts(run, [{ outcome: "SUCCESS" }]);
    },
  },
  {
    name: "server-restart",
    guarantee: "A server that is killed and comes back in the middle of the work costs nothing.",
    async play(stage) {
      const before = await spawnDroverServer(stage.servers.connectionString);
      stage.wire.route(before.address);
      const agent = await stage.start();
      const go = stage.file("go");
      const runId = await stage.begin(
        { perform: [[{ await: go }, { success: "survived" }]] },
        { timeouts: { heartbeat: "20s" } },
      );
      await agent.line("waiting", { run: runId });
      await before.signal("SIGKILL");
      stage.open(go);
      await stage.wire.complete.next().then((call) => call.pass());
      const after = await spawnDroverServer(stage.servers.connectionString, before.address);
      try {
        const run = await stage.end(runId);
        assertOutput(run, "survived");
        assertAttempts(run, [{ outcome: "SUCCESS" }]);
      } finally {
        await after.signal("SIGKILL");
      }
    },
  },
  {
    name: "server-drains",
    guarantee: "A server that drains answers the polls that wait, and the agent asks another.",
    async play(stage) {
      const drained = await spawnDroverServer(stage.servers.connectionString);
      stage.wire.route(drained.address);
      const polling = stage.wire.poll.next();
      await stage.start();
      const call = await polling;
      const passing = call.pass();
      stage.wire.route(stage.servers.second);
      await drained.signal("SIGTERM");
      await passing;
      assertOutput(await stage.end(await stage.begin({ perform: [[{ success: 1 }]] })), 1);
    },
  },
  {
    name: "unknown-kind",
    guarantee: "A task of a kind that the agent does not know is released.",
    async play(stage) {
      const polling = stage.wire.poll.next();
      await stage.start();
      const runId = await stage.begin({ perform: [[{ success: "known" }]] });
      await (await polling).pass(({ tasks }) => {
        for (const task of tasks) task.kind = TaskKind.UNSPECIFIED;
      });
      const run = await stage.end(runId);
      assertOutput(run, "known");
      assertAttempts(run, [{ outcome: "RELEASED" }, { outcome: "SUCCESS" }]);
    },
  },
  {
    name: "unknown-answer",
    guarantee: "An agent that does not know the answer to its heartbeat continues.",
    async play(stage) {
      await stage.start();
      const go = stage.file("go");
      const heartbeats = stage.wire.heartbeat.next();
      const runId = await stage.begin(
        { perform: [[{ await: go }, { success: "went on" }]] },
        { timeouts: { heartbeat: heartbeatLease } },
      );
      await (await heartbeats).pass(({ answers }) => {
        for (const one of answers) one.answer = { case: undefined };
      });
      await moreHeartbeats(stage, 2);
      stage.open(go);
      assertOutput(await stage.end(runId), "went on");
    },
  },
];
