/** How an attempt may end, and what the next one gets to see. */
import assert from "node:assert/strict";
import { assertAttempts, assertOutput, type Scenario } from "../scenario.ts";

export const outcomes: readonly Scenario[] = [
  {
    name: "success",
    guarantee: "A handler's result is the output of its step.",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin({ perform: [[{ success: { seats: [1, 2] } }]] });
      const run = await stage.end(runId);
      assertOutput(run, { seats: [1, 2] });
      assertAttempts(run, [{ outcome: "SUCCESS", agentId: agent.id }]);
    },
  },
  {
    name: "no-output",
    guarantee: "A handler that returns nothing has succeeded without an output.",
    async play(stage) {
      await stage.start();
      assertOutput(await stage.end(await stage.begin({ perform: [[]] })), undefined);
    },
  },
  {
    name: "transient",
    guarantee: "A transient failure is tried again, and its code and message are on record.",
    async play(stage) {
      await stage.start();
      const fail = { code: "busy", message: "All lines are busy." };
      const run = await stage.end(
        await stage.begin({ perform: [[{ fail }], [{ success: "second" }]] }),
      );
      assertOutput(run, "second");
      assertAttempts(run, [{ outcome: "TRANSIENT", code: "busy" }, { outcome: "SUCCESS" }]);
      assert.equal(run.attempts[0]?.failure?.message, "All lines are busy.");
    },
  },
  {
    name: "permanent",
    guarantee: "A permanent failure is not tried again.",
    async play(stage) {
      await stage.start();
      const fail = { code: "no-such-city", permanent: true };
      const run = await stage.end(await stage.begin({ perform: [[{ fail }]] }));
      assert.equal(run.run.state, "FAILED");
      assertAttempts(run, [{ outcome: "PERMANENT", code: "no-such-city" }]);
    },
  },
  {
    name: "retry-after",
    guarantee: "A failure may set how long to wait, and the next attempt does not start before.",
    async play(stage) {
      await stage.start();
      const fail = { code: "rate-limited", retry_after_ms: 700 };
      const run = await stage.end(await stage.begin({ perform: [[{ fail }], []] }));
      const [first, second] = run.attempts;
      assertAttempts(run, [{ outcome: "TRANSIENT" }, { outcome: "SUCCESS" }]);
      const waited = Number(second?.startedTime) - Number(first?.endedTime);
      assert.ok(waited >= 700, `waited ${waited} ms of 700`);
    },
  },
  {
    name: "no-effect",
    guarantee: "A failure with no_effect leaves nothing to undo, even after an unknown attempt.",
    async play(stage) {
      await stage.start();
      const fail = { code: "sold-out", permanent: true, no_effect: true };
      const script = { perform: [[{ unknown: { code: "broken-pipe" } }], [{ fail }]] };
      const run = await stage.end(
        await stage.begin(script, { step: { compensate: { task: "undo", when: "attempted" } } }),
      );
      assert.equal(run.run.state, "FAILED");
      assertAttempts(run, [{ outcome: "UNKNOWN" }, { outcome: "PERMANENT", code: "sold-out" }]);
      assertAttempts(run, [], "COMPENSATE");
    },
  },
  {
    name: "unknown",
    guarantee: "An unknown outcome of an idempotent step is tried again, with the same key.",
    async play(stage) {
      const agent = await stage.start();
      const unknown = { code: "broken-pipe", message: "The connection broke." };
      const runId = await stage.begin({ perform: [[{ unknown }], []] });
      const run = await stage.end(runId);
      assertAttempts(run, [{ outcome: "UNKNOWN", code: "broken-pipe" }, { outcome: "SUCCESS" }]);
      const first = await agent.line("started", { run: runId, fence: 1 });
      const second = await agent.line("started", { run: runId, fence: 2 });
      assert.equal(second.attempt, 2);
      assert.notEqual(first.key, "");
      assert.equal(second.key, first.key);
    },
  },
  {
    name: "unnamed-error",
    guarantee: "An error of no known class is an unknown: it may have come after the effect.",
    notForStubs: "error classes are an SDK's",
    async play(stage) {
      await stage.start();
      const run = await stage.end(
        await stage.begin({ perform: [[{ throw: "index out of range" }], []] }),
      );
      assertAttempts(run, [
        { outcome: "UNKNOWN", code: "unexpected-error" },
        { outcome: "SUCCESS" },
      ]);
      assert.match(run.attempts[0]?.failure?.message ?? "", /index out of range/);
    },
  },
  {
    name: "bad-input",
    guarantee: "An input that the handler cannot read is a failure for good.",
    async play(stage) {
      await stage.start();
      const runId = await stage.beginSteps([stage.step("work", {}, { input: ["no", "script"] })]);
      const run = await stage.end(runId);
      assert.equal(run.run.state, "FAILED");
      assertAttempts(run, [{ outcome: "PERMANENT", code: "bad-script" }]);
    },
  },
  {
    name: "again",
    guarantee:
      "A task that is not finished at the remote service is handed out again, and no attempt is counted.",
    async play(stage) {
      const agent = await stage.start();
      const again = [{ again: { after_ms: 30 } }];
      const runId = await stage.begin({ perform: [again, again, [{ success: "there" }]] });
      assertOutput(await stage.end(runId), "there");
      assert.equal((await agent.line("started", { run: runId, fence: 3 })).attempt, 1);
    },
  },
  {
    name: "deferred",
    guarantee: "After a deferred answer, the outcome comes by the callback token.",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin({ perform: [[{ deferred: {} }]] });
      const { callbackToken } = await agent.line("started", { run: runId });
      await stage.when(runId, "the step waits", ({ steps }) => steps[0]?.waitingOn === "CALLBACK");
      await stage.client.completeDeferred(callbackToken, { output: { parcel: "p-7" } });
      assertOutput(await stage.end(runId), { parcel: "p-7" });
    },
  },
  {
    name: "callback-first",
    guarantee: "A callback may come before the agent's own answer, which is then dropped.",
    async play(stage) {
      const agent = await stage.start();
      const go = stage.file("go");
      const runId = await stage.begin(
        { perform: [[{ await: go, on_stop: { deferred: {} } }, { deferred: {} }]] },
        { timeouts: { heartbeat: "30s" } },
      );
      await agent.line("waiting", { run: runId });
      const { callbackToken } = await agent.line("started", { run: runId });
      await stage.client.completeDeferred(callbackToken, { output: "early" });
      assertOutput(await stage.end(runId), "early");
      stage.open(go);
      await agent.line("ended", { run: runId });
      const next = await stage.begin({ perform: [[{ success: "next" }]] });
      assertOutput(await stage.end(next), "next");
    },
  },
  {
    name: "fallback",
    guarantee: "The next strategy has another idempotency key, and counts its attempts anew.",
    async play(stage) {
      const agent = await stage.start();
      const fail = { code: "no-room", permanent: true };
      const runId = await stage.begin(
        { perform: [[{ fail }], [{ success: "second choice" }]] },
        { step: { fallback: [{ input: { ballast: "second choice" } }] } },
      );
      assertOutput(await stage.end(runId), "second choice");
      const first = await agent.line("started", { run: runId, fence: 1 });
      const second = await agent.line("started", { run: runId, fence: 2 });
      assert.notEqual(second.key, first.key);
      assert.equal(second.attempt, 1);
    },
  },
  {
    name: "chain",
    guarantee: "Steps that need each other are performed in their order by one agent.",
    async play(stage) {
      const agent = await stage.start();
      const ids = ["a", "b", "c", "d"];
      const runId = await stage.beginSteps(
        ids.map((id, at) =>
          stage.step(
            id,
            { perform: [[{ success: id }]] },
            { needs: ids.slice(Math.max(at - 1, 0), at) },
          ),
        ),
      );
      const run = await stage.end(runId);
      assert.deepEqual(
        run.steps.map(({ output }) => output),
        ids,
      );
      const started = agent.lines.filter(({ event }) => event === "started");
      assert.deepEqual(
        started.map(({ step }) => step),
        ids,
      );
    },
  },
  {
    name: "map",
    guarantee: "Each item of a map is a task of its own, with its index and its own key.",
    async play(stage) {
      const agent = await stage.start({ slots: 3 });
      const item = { perform: [[{ success: "done" }]] };
      const { queue } = stage;
      const over = `\${input.items}`;
      const runId = await stage.beginSteps([{ id: "work", map: { over, task: "work", queue } }], {
        items: [item, item, item],
      });
      const run = await stage.end(runId);
      assert.equal(run.run.state, "COMPLETED");
      const started = agent.lines.filter(({ event }) => event === "started");
      assert.deepEqual(started.map((line) => line.item).sort(), [0, 1, 2]);
      assert.equal(new Set(started.map(({ key }) => key)).size, 3);
    },
  },
];
