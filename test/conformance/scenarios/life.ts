/** How an agent starts and stops, and how many tasks it takes at a time. */
import assert from "node:assert/strict";
import { until } from "../../support/until.ts";
import { assertAttempts, assertOutput, type Scenario } from "../scenario.ts";
import { shortLease } from "../stage.ts";

const one = "a stub takes one task at a time";

export const life: readonly Scenario[] = [
  {
    name: "killed",
    guarantee: "Another agent takes over from one that was killed in the middle of its work.",
    async play(stage) {
      const first = await stage.start();
      const script = { perform: [[{ await: stage.never }], [{ success: 2 }]] };
      const runId = await stage.begin(script, { timeouts: { heartbeat: shortLease } });
      await first.line("waiting", { run: runId });
      first.signal("SIGKILL");
      const second = await stage.start();
      const run = await stage.end(runId);
      assertOutput(run, 2);
      assertAttempts(run, [
        { outcome: "UNKNOWN", code: "drover.lost", agentId: first.id },
        { outcome: "SUCCESS", agentId: second.id },
      ]);
    },
  },
  {
    name: "drain-idle",
    guarantee: "An idle agent that is asked to stop ends at once, with exit code 0.",
    async play(stage) {
      const polling = stage.wire.poll.next();
      const agent = await stage.start();
      const call = await polling;
      void call.pass().catch(() => undefined);
      agent.signal("SIGTERM");
      assert.deepEqual(await agent.ended, { code: 0, signal: null });
    },
  },
  {
    name: "drain-finishes",
    guarantee: "An agent that is asked to stop lets its handler finish, and takes no further task.",
    async play(stage) {
      const first = await stage.start();
      const go = stage.file("go");
      const runId = await stage.begin({ perform: [[{ await: go }, { success: "finished" }]] });
      await first.line("waiting", { run: runId });
      first.signal("SIGTERM");
      const other = await stage.begin({ perform: [[{ success: "other" }]] });
      stage.open(go);
      assert.equal((await first.ended).code, 0);
      const run = await stage.end(runId);
      assertOutput(run, "finished");
      assertAttempts(run, [{ outcome: "SUCCESS", agentId: first.id }]);
      const second = await stage.start();
      const later = await stage.end(other);
      assertOutput(later, "other");
      assertAttempts(later, [{ outcome: "SUCCESS", agentId: second.id }]);
    },
  },
  {
    name: "drain-stops",
    guarantee:
      "A handler that takes longer than the grace period is asked to stop, and its end is reported.",
    async play(stage) {
      const first = await stage.start({ graceMs: 200 });
      const runId = await stage.begin({ perform: [[{ await: stage.never }], [{ success: 2 }]] });
      await first.line("waiting", { run: runId });
      first.signal("SIGTERM");
      assert.equal((await first.line("stopped", { run: runId })).why, "agent-stopped");
      assert.equal((await first.ended).code, 0);
      assertAttempts(await stage.get(runId), [{ outcome: "UNKNOWN", agentId: first.id }]);
      await stage.start();
      assertOutput(await stage.end(runId), 2);
    },
  },
  {
    name: "drain-gives-back",
    guarantee:
      "A task that was handed out to an agent that has just been asked to stop goes to another.",
    async play(stage) {
      const polling = stage.wire.poll.next();
      const first = await stage.start();
      const runId = await stage.begin(
        { perform: [[{ success: "given back" }]] },
        { timeouts: { heartbeat: "1m" } },
      );
      const call = await polling;
      assert.equal((await call.send()).tasks.length, 1);
      first.signal("SIGTERM");
      // The agent may wait for this answer or give the call up.
      await Promise.race([call.gone, until("it has drained", () => null, 1_000).catch(() => 0)]);
      await call.pass();
      assert.equal((await first.ended).code, 0);
      const second = await stage.start();
      const run = await stage.end(runId);
      assertOutput(run, "given back");
      const last = run.attempts.at(-1);
      assert.deepEqual([last?.agentId, last?.attempt], [second.id, 1]);
    },
  },
  {
    name: "slots",
    guarantee: "An agent never holds more tasks than it has slots, and fills them side by side.",
    notForStubs: one,
    async play(stage) {
      const agent = await stage.start({ slots: 3 });
      const go = stage.file("go");
      const script = { perform: [[{ await: go }, { success: 1 }]] };
      const runs = await Promise.all(Array.from({ length: 5 }, () => stage.begin(script)));
      const waiting = () => agent.lines.filter(({ event }) => event === "waiting").length;
      await until("three handlers run", () => (waiting() >= 3 ? true : null));
      const granted = stage.wire.poll.calls.flatMap(({ response }) => response()?.tasks ?? []);
      assert.equal(granted.length, 3);
      stage.open(go);
      for (const runId of runs) assertOutput(await stage.end(runId), 1);
    },
  },
  {
    name: "batch",
    guarantee: "A hundred tasks at once are each performed once.",
    async play(stage) {
      const agent = await stage.start({ slots: 100 });
      const script = { perform: [[{ success: 1 }]] };
      const { queue } = stage;
      const definition = {
        workflow: `batch-${queue}`,
        steps: [stage.bareStep("work")],
      };
      await stage.client.registerWorkflow(definition);
      const specs = Array.from({ length: 100 }, () => ({
        workflow: definition.workflow,
        input: script,
      }));
      const batch = await stage.client.scheduleBatch(specs);
      for (const scheduled of batch) {
        assert.ok("runId" in scheduled);
        assertOutput(await stage.end(scheduled.runId), 1);
      }
      const started = agent.lines.filter(({ event }) => event === "started");
      assert.equal(started.length, 100);
      assert.equal(new Set(started.map(({ run }) => run)).size, 100);
    },
  },
];
