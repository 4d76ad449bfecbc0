/** Leases and heartbeats: their content and their answers. */
import assert from "node:assert/strict";
import { until } from "../../support/until.ts";
import { assertAttempts, assertOutput, type Scenario } from "../scenario.ts";
import { heartbeatLease, type Stage, shortLease } from "../stage.ts";

/** Resolves when so many heartbeats were answered that name a task. */
async function heartbeatsAnswered(stage: Stage, count: number): Promise<void> {
  const named = () =>
    stage.wire.heartbeat.calls.filter(
      ({ request, response }) => request.reports.length > 0 && response() !== null,
    );
  await until(`${count} heartbeats are answered`, () => (named().length >= count ? true : null));
}

/** A lease gets a heartbeat every third of it. */
const moreThanALease = 4;

export const heartbeats: readonly Scenario[] = [
  {
    name: "lease-kept",
    guarantee: "Heartbeats keep the lease of a handler that takes longer, and contain no progress.",
    async play(stage) {
      await stage.start();
      const go = stage.file("go");
      const runId = await stage.begin(
        { perform: [[{ await: go }, { success: "slowly" }]] },
        { timeouts: { heartbeat: heartbeatLease } },
      );
      await heartbeatsAnswered(stage, moreThanALease);
      stage.open(go);
      const run = await stage.end(runId);
      assertOutput(run, "slowly");
      assertAttempts(run, [{ outcome: "SUCCESS" }]);
      for (const { request } of stage.wire.heartbeat.calls)
        for (const { progress, details } of request.reports)
          assert.deepEqual([progress, details], [undefined, undefined]);
    },
  },
  {
    name: "lists-all",
    guarantee:
      "Heartbeats state up to which poll they list all tasks, so that a forgotten one is found.",
    notForStubs: "an agent may leave it out; a lost answer is then found when the lease ends",
    async play(stage) {
      await stage.start();
      const go = stage.file("go");
      const listing = stage.wire.heartbeat.next(({ listsAllTo }) => listsAllTo > 0n);
      const runId = await stage.begin(
        { perform: [[{ await: go }]] },
        { timeouts: { heartbeat: heartbeatLease } },
      );
      await (await listing).pass();
      stage.open(go);
      await stage.end(runId);
    },
  },
  ...(
    [
      ["fraction", { fraction: 0.4 }, { case: "fraction", value: 0.4 }],
      ["counter", { counter: 7 }, { case: "counter", value: 7n }],
      ["cursor", { cursor: "página 3" }, { case: "cursor", value: "página 3" }],
    ] as const
  ).map(
    ([kind, mark, expected]): Scenario => ({
      name: `progress-${kind}`,
      guarantee: `A heartbeat brings a handler's progress as a ${kind}, once.`,
      async play(stage) {
        await stage.start();
        const go = stage.file("go");
        const reporting = stage.wire.heartbeat.next(
          ({ reports }) => reports[0]?.progress !== undefined,
        );
        const runId = await stage.begin(
          { perform: [[{ progress: mark }, { await: go }]] },
          { timeouts: { heartbeat: heartbeatLease } },
        );
        const call = await reporting;
        assert.deepEqual({ ...call.request.reports[0]?.progress?.kind }, expected);
        await call.pass();
        await heartbeatsAnswered(stage, 3);
        stage.open(go);
        await stage.end(runId);
        const reported = stage.wire.heartbeat.calls.flatMap(({ request }) =>
          request.reports.filter(({ progress }) => progress !== undefined),
        );
        assert.equal(reported.length, 1);
      },
    }),
  ),
  {
    name: "stalled",
    guarantee: "Work without progress is stopped, however many heartbeats arrive.",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin(
        { perform: [[{ progress: { counter: 1 } }, { await: stage.never }], [{ success: 2 }]] },
        { timeouts: { heartbeat: heartbeatLease, stall: "2s", cancel: "5s" } },
      );
      const run = await stage.end(runId);
      assertOutput(run, 2);
      assertAttempts(run, [{ outcome: "UNKNOWN", code: "drover.stalled" }, { outcome: "SUCCESS" }]);
      assert.equal((await agent.line("stopped", { run: runId })).why, "cancelled");
    },
  },
  {
    name: "details-resume",
    guarantee: "The next attempt gets the last details of the one that failed.",
    async play(stage) {
      await stage.start();
      const details = { page: 7, seen: ["a", "b"] };
      const fail = { fail: { code: "busy" } };
      const first = [{ details: { page: 1 } }, { details }, fail];
      const runId = await stage.begin({ perform: [first, [{ echo: "details" }]] });
      assertOutput(await stage.end(runId), details);
    },
  },
  {
    name: "details-killed",
    guarantee: "Details outlive the agent that was killed, and another one resumes from them.",
    async play(stage) {
      const first = await stage.start();
      const reporting = stage.wire.heartbeat.next(
        ({ reports }) => reports[0]?.details !== undefined,
      );
      const script = {
        perform: [
          [{ details: { page: 7 } }, { await: stage.never }],
          [{ echo: "details" as const }],
        ],
      };
      const runId = await stage.begin(script, { timeouts: { heartbeat: shortLease } });
      await (await reporting).pass();
      first.signal("SIGKILL");
      await first.ended;
      await stage.start();
      assertOutput(await stage.end(runId), { page: 7 });
    },
  },
  {
    name: "cancel",
    guarantee: "A cancel in the middle reaches the handler, which ends as cancelled.",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin(
        { perform: [[{ await: stage.never }]] },
        { timeouts: { heartbeat: heartbeatLease } },
      );
      await agent.line("waiting", { run: runId });
      await stage.client.cancelRun(runId, { reason: "changed my mind" });
      assert.equal((await agent.line("stopped", { run: runId })).why, "cancelled");
      const run = await stage.end(runId);
      assert.equal(run.run.state, "CANCELLED");
      assertAttempts(run, [{ outcome: "CANCELLED" }]);
    },
  },
  {
    name: "cancel-no-effect",
    guarantee: "A handler that was cancelled and reports no effect leaves nothing to undo.",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin(
        { perform: [[{ await: stage.never, on_stop: { cancelled: { no_effect: true } } }]] },
        {
          timeouts: { heartbeat: heartbeatLease },
          step: { compensate: { task: "undo", when: "attempted" } },
        },
      );
      await agent.line("waiting", { run: runId });
      await stage.client.cancelRun(runId);
      const run = await stage.end(runId);
      assert.equal(run.run.state, "CANCELLED");
      assertAttempts(run, [], "COMPENSATE");
    },
  },
  {
    name: "cancel-in-doubt",
    guarantee: "A handler that was cancelled and claims nothing is undone.",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin(
        { perform: [[{ await: stage.never }]] },
        {
          timeouts: { heartbeat: heartbeatLease },
          step: { compensate: { task: "undo", when: "attempted" } },
        },
      );
      await agent.line("waiting", { run: runId });
      await stage.client.cancelRun(runId);
      const run = await stage.end(runId);
      assert.equal(run.run.state, "COMPENSATED");
      assertAttempts(run, [{ outcome: "SUCCESS" }], "COMPENSATE");
    },
  },
  {
    name: "cancel-too-late",
    guarantee: "A success that comes after the cancel counts as an effect, and is undone.",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin(
        {
          perform: [[{ await: stage.never, on_stop: { success: { seat: "12A" } } }]],
          compensate: [[{ echo: "output" }]],
        },
        { timeouts: { heartbeat: heartbeatLease }, step: { compensate: "undo" } },
      );
      await agent.line("waiting", { run: runId });
      await stage.client.cancelRun(runId);
      const run = await stage.end(runId);
      assert.equal(run.run.state, "COMPENSATED");
      assertAttempts(run, [{ outcome: "SUCCESS" }]);
      const undo = run.attempts.find(({ kind }) => kind === "COMPENSATE");
      assert.deepEqual(undo?.output, { seat: "12A" });
    },
  },
  {
    name: "attempt-timeout",
    guarantee: "An attempt that takes too long is stopped, and its outcome is unknown.",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin(
        { perform: [[{ await: stage.never }], [{ success: 2 }]] },
        { timeouts: { heartbeat: heartbeatLease, attempt: "4s", cancel: "5s" } },
      );
      const run = await stage.end(runId);
      assertOutput(run, 2);
      const { why } = await agent.line("stopped", { run: runId });
      assert.ok(["cancelled", "attempt-over"].includes(why), why);
      assert.equal(run.attempts[0]?.outcome, "UNKNOWN");
    },
  },
  {
    name: "lease-lost",
    guarantee:
      "An agent that learns that its lease is lost stops the handler, and continues with other work.",
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin(
        { perform: [[{ await: stage.never }]] },
        { timeouts: { heartbeat: heartbeatLease } },
      );
      const { callbackToken } = await agent.line("started", { run: runId });
      await agent.line("waiting", { run: runId });
      await stage.client.completeDeferred(callbackToken, { output: "by another way" });
      assert.equal((await agent.line("stopped", { run: runId })).why, "lease-lost");
      const next = await stage.begin({ perform: [[{ success: "next" }]] });
      assertOutput(await stage.end(next), "next");
      assertOutput(await stage.get(runId), "by another way");
    },
  },
  {
    name: "lease-ended",
    guarantee: "When no heartbeat is answered, the handler is stopped at the end of the lease.",
    async play(stage) {
      const agent = await stage.start();
      const through = stage.wire.heartbeat.each((call) => call.fail("away"));
      const script = { perform: [[{ await: stage.never }], [{ success: 2 }]] };
      const runId = await stage.begin(script, { timeouts: { heartbeat: shortLease } });
      assert.equal((await agent.line("stopped", { run: runId })).why, "lease-ended");
      through();
      assertOutput(await stage.end(runId), 2);
    },
  },
  {
    name: "frozen",
    guarantee: "The report of an agent that was frozen past its lease is only stored as evidence.",
    async play(stage) {
      const first = await stage.start();
      const go = stage.file("go");
      const late = { success: "late" };
      const script = { perform: [[{ await: go, on_stop: late }, late], [{ success: "in time" }]] };
      const runId = await stage.begin(script, { timeouts: { heartbeat: shortLease } });
      await first.line("waiting", { run: runId });
      first.signal("SIGSTOP");
      const second = await stage.start();
      assertOutput(await stage.end(runId), "in time");
      first.signal("SIGCONT");
      await first.line("ended", { run: runId });
      const run = await stage.when(runId, "the late report is stored", ({ attempts }) =>
        attempts.some(({ late }) => late),
      );
      assertOutput(run, "in time");
      assert.equal(run.attempts.find(({ late }) => late)?.agentId, first.id);
      second.signal("SIGTERM");
      await second.ended;
      const next = await stage.begin({ perform: [[{ success: "next" }]] });
      assertOutput(await stage.end(next), "next");
    },
  },
  {
    name: "deaf",
    guarantee:
      "A handler that ignores its cancel costs no slot: its process is replaced, or its agent.",
    notForStubs: "a stub's handler heeds its stop",
    async play(stage) {
      const first = await stage.start({ cancelGraceMs: 500, graceMs: 500 });
      const runId = await stage.begin(
        { perform: [[{ deaf: stage.never }], [{ success: 2 }]] },
        { timeouts: { attempt: "4s", cancel: "2s" } },
      );
      await first.line("waiting", { run: runId });
      const left = first.ended.then(({ code }) => {
        assert.notEqual(code, 0, "an agent that leaves a handler behind ends with another code");
        return stage.start();
      });
      const run = await Promise.race([stage.end(runId), left.then(() => stage.end(runId))]);
      assertOutput(run, 2);
      assert.equal(run.attempts[0]?.outcome, "UNKNOWN");
      const reported = stage.wire.complete.calls.flatMap(({ request }) =>
        request.results.map(({ outcome }) => outcome?.kind),
      );
      const lost = reported.filter((kind) => kind?.case === "unknown" && kind.value.code !== "");
      assert.deepEqual(
        lost.map((kind) => kind?.case === "unknown" && kind.value.code),
        ["handler-lost"],
      );
    },
  },
];
