/** What follows an unknown outcome, and a step that has to be undone. */
import assert from "node:assert/strict";
import type { RunDetails } from "../../../sdk/typescript/run-queries.ts";
import type { Tries } from "../acts.ts";
import type { Program } from "../program.ts";
import { assertAttempts, assertOutput, type Scenario } from "../scenario.ts";
import type { Stage } from "../stage.ts";

/**
 * A first attempt with an unknown outcome, a second that succeeds, and these answers of a verify.
 */
async function verified(
  stage: Stage,
  verify: Tries,
): Promise<{ readonly agent: Program; readonly run: RunDetails }> {
  const agent = await stage.start();
  const perform = [[{ unknown: { code: "broken-pipe" } }], [{ success: "second" }]];
  const retry = { initial: "10ms", max: "20ms" };
  const runId = await stage.begin(
    { perform, verify },
    { step: { effects: "verifiable", verify: { task: "check", retry } } },
  );
  return { agent, run: await stage.end(runId) };
}

export const verifyAndUndo: readonly Scenario[] = [
  {
    name: "verify-happened",
    guarantee: "A verify that finds the effect completes the step with the output that it found.",
    async play(stage) {
      const { agent, run } = await verified(stage, [[{ happened: { charge: 7 } }]]);
      assertOutput(run, { charge: 7 });
      assertAttempts(run, [{ outcome: "SUCCESS" }], "VERIFY");
      const made = await agent.line("started", { kind: "perform" });
      const verifyStart = await agent.line("started", { kind: "verify" });
      assert.equal(verifyStart.effectKey, made.key);
      assert.equal(verifyStart.fence, made.fence);
    },
  },
  {
    name: "verify-did-not",
    guarantee: "After a verify that reports no effect, the step is tried again.",
    async play(stage) {
      const { run } = await verified(stage, [[{ did_not_happen: {} }]]);
      assertOutput(run, "second");
      assertAttempts(run, [{ outcome: "UNKNOWN" }, { outcome: "SUCCESS" }]);
    },
  },
  {
    name: "verify-cannot-tell",
    guarantee: "A verify with an unknown result is repeated, with its own attempt number.",
    async play(stage) {
      const cannot = [{ cannot_tell: { message: "The bank is closed." } }];
      const { agent, run } = await verified(stage, [cannot, [{ happened: "found" }]]);
      assertOutput(run, "found");
      assertAttempts(run, [{ outcome: "UNKNOWN" }, { outcome: "SUCCESS" }], "VERIFY");
      await agent.line("started", { kind: "verify", attempt: 2, fence: 1 });
    },
  },
  {
    name: "verify-fails",
    guarantee: "A verify that fails without no_effect counts as a verify with an unknown result.",
    async play(stage) {
      const fail = [{ fail: { code: "bank-closed" } }];
      const { run } = await verified(stage, [fail, [{ did_not_happen: {} }]]);
      assertOutput(run, "second");
      assert.equal(run.attempts.filter(({ kind }) => kind === "VERIFY").length, 2);
    },
  },
  {
    name: "undo",
    guarantee: "A step is undone with its output and under the key by which it was made.",
    async play(stage) {
      const agent = await stage.start();
      const script = {
        perform: [[{ success: { seat: "12A" } }]],
        compensate: [[{ echo: "output" as const }]],
      };
      const fail = { fail: { code: "no-room", permanent: true } };
      const runId = await stage.beginSteps([
        stage.step("flight", script, { compensate: "undo" }),
        stage.step("hotel", { perform: [[fail]] }, { needs: ["flight"] }),
      ]);
      const run = await stage.end(runId);
      assert.equal(run.run.state, "COMPENSATED");
      const undo = run.attempts.find(({ kind }) => kind === "COMPENSATE");
      assert.deepEqual(undo?.output, { seat: "12A" });
      const made = await agent.line("started", { step: "flight", kind: "perform" });
      const undone = await agent.line("started", { step: "flight", kind: "compensate" });
      assert.equal(undone.effectKey, made.key);
      assert.notEqual(undone.key, made.key);
      assert.ok(undone.fence > made.fence);
    },
  },
  {
    name: "undo-retried",
    guarantee: "An undo that fails is tried again, with the same key.",
    async play(stage) {
      const agent = await stage.start();
      const script = { perform: [[]], compensate: [[{ fail: { code: "busy" } }], []] };
      const fail = { fail: { code: "no-room", permanent: true } };
      const undo = { task: "undo", retry: { initial: "10ms" } };
      const runId = await stage.beginSteps([
        stage.step("flight", script, { compensate: undo }),
        stage.step("hotel", { perform: [[fail]] }, { needs: ["flight"] }),
      ]);
      const run = await stage.end(runId);
      assert.equal(run.run.state, "COMPENSATED");
      assertAttempts(run, [{ outcome: "TRANSIENT" }, { outcome: "SUCCESS" }], "COMPENSATE");
      const first = await agent.line("started", { kind: "compensate", attempt: 1 });
      const second = await agent.line("started", { kind: "compensate", attempt: 2 });
      assert.equal(second.key, first.key);
    },
  },
  {
    name: "undo-unknown",
    guarantee: "A possible effect is undone too, without an output, under the key of the effect.",
    async play(stage) {
      const agent = await stage.start();
      const perform = [
        [{ unknown: { code: "broken-pipe" } }],
        [{ fail: { code: "x", permanent: true } }],
      ];
      const runId = await stage.begin(
        { perform, compensate: [[{ echo: "output" }]] },
        { step: { compensate: { task: "undo", when: "attempted" } } },
      );
      const run = await stage.end(runId);
      assert.equal(run.run.state, "COMPENSATED");
      assert.equal(run.attempts.find(({ kind }) => kind === "COMPENSATE")?.output, null);
      const made = await agent.line("started", { kind: "perform", fence: 1 });
      assert.equal((await agent.line("started", { kind: "compensate" })).effectKey, made.key);
    },
  },
];
