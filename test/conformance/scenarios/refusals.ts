/** Calls that are refused as calls, which proves nothing about the work that they report. */
import assert from "node:assert/strict";
import { until } from "../../support/until.ts";
import type { Program } from "../program.ts";
import { assertAttempts, assertOutput, type Scenario } from "../scenario.ts";
import type { Stage } from "../stage.ts";
import { type Failure, failures } from "../wire-lane.ts";

const refusedMs = 2_000;
/** Longer than the 5 s that an agent gives its reports whatever their leases are. */
const outageMs = 6_500;

/** Fails each Complete from now on; resolves, when that was so for long enough, with its end. */
async function refusedFor(ms: number, { wire }: Stage, failure: Failure): Promise<() => void> {
  let firstMs: number | null = null;
  const end = wire.complete.each((call) => {
    firstMs ??= performance.now();
    call.fail(failure);
  });
  const isLong = () => firstMs !== null && performance.now() - firstMs >= ms;
  await until(`reports are refused for ${ms} ms`, () => (isLong() ? true : null), 60_000);
  return end;
}

function startsOf({ lines }: Program): number {
  return lines.filter(({ event }) => event === "started").length;
}

function refusedBy(name: string, failure: Failure, code: string): Scenario {
  return {
    name,
    guarantee: `After two seconds in which each Complete is ${code}, a step that must not be repeated has been performed once.`,
    async play(stage) {
      const agent = await stage.start();
      const runId = await stage.begin(
        { perform: [[{ success: "kept" }]] },
        { step: { effects: "once" } },
      );
      const end = await refusedFor(refusedMs, stage, failure);
      end();
      const run = await stage.end(runId);
      assertOutput(run, "kept");
      assertAttempts(run, [{ outcome: "SUCCESS", agentId: agent.id }]);
      assert.equal(startsOf(agent), 1);
    },
  };
}

export const refusals: readonly Scenario[] = [
  refusedBy("refused-token", "unknown-token", "UNAUTHENTICATED"),
  refusedBy("refused-denied", "denied", "PERMISSION_DENIED"),
  refusedBy("refused-route", "no-route", "UNIMPLEMENTED"),
  {
    name: "drain-outage",
    guarantee:
      "An agent that is asked to stop keeps a report through an outage as long as its lease lasts.",
    async play(stage) {
      const agent = await stage.start();
      const go = stage.file("go");
      const runId = await stage.begin(
        { perform: [[{ await: go }, { success: "kept" }]] },
        { step: { effects: "once" } },
      );
      await agent.line("waiting", { run: runId });
      const outage = refusedFor(outageMs, stage, "away");
      stage.open(go);
      await agent.line("ended", { run: runId });
      agent.signal("SIGTERM");
      const end = await outage;
      assert.equal(agent.hasEnded(), false, "it has gone with a report that was not answered");
      end();
      assert.equal((await agent.ended).code, 0);
      const run = await stage.end(runId);
      assertOutput(run, "kept");
      assertAttempts(run, [{ outcome: "SUCCESS", agentId: agent.id }]);
    },
  },
  {
    name: "full-item",
    guarantee: "A report whose own answer is retryable is repeated.",
    async play(stage) {
      const reporting = stage.wire.complete.next();
      await stage.start();
      const runId = await stage.begin({ perform: [[{ success: "later" }]] });
      await (await reporting).pass(({ answers }) => {
        for (const answer of answers) answer.status = failures.full;
      });
      const run = await stage.end(runId);
      assertOutput(run, "later");
      assertAttempts(run, [{ outcome: "SUCCESS" }]);
    },
  },
];
