/**
 * What one run owes another, and what people are asked, broken by hand: ends of children that
 * nobody tells, slots of concurrency keys, questions. Each is put right once, and told once: by an
 * intervention, a line in the log and a number.
 */
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../server/clock.ts";
import type { Definition } from "../../../server/core/definition.ts";
import type { Reported } from "../../../server/core/event.ts";
import { createMeasures } from "../../../server/measures.ts";
import { createMetrics } from "../../../server/telemetry/metrics.ts";
import { openQuietPlane, schedule, stateOf, success } from "./fixture.ts";
import { SHORT, sweptWorld } from "./integrity-fixture.ts";

const world = sweptWorld();
const { change, swept, told } = world;

const broken: Reported = {
  ...{ kind: "failure", class: "permanent", code: "broken", message: "it is" },
  ...{ retryAfterMs: null, noEffect: true },
};
const state = () => stateOf(world.plane, world.run);
const report = async (outcome: Reported = success) =>
  world.agent.report(await world.agent.take("a"), outcome);

describe("a step whose child has ended, with no message that says so", () => {
  const parent: Definition = {
    workflow: "parent",
    steps: [{ id: "child", kind: "run", needs: [], workflow: "child" }],
  };
  const begin = async () => {
    const { plane } = world;
    const child = { ...SHORT, workflow: "child" };
    await plane.scheduler.registerWorkflow(plane.namespace, child, false);
    await world.begin(parent);
  };
  /** Nobody tells a run anything while this trigger is there. */
  const deaf = (work: () => Promise<unknown>) => unheard("message", work);

  it("hears of it, and goes on", async () => {
    await begin();
    const task = await world.agent.take("a");
    await deaf(() => world.agent.report(task, success));
    expect(await state()).toBe("RUNNING");
    expect((await swept()).join()).toMatch(/the child that it waits for has ended/);
    await expect.poll(state).toBe("COMPLETED");
  });

  it("hears that its child failed", async () => {
    await begin();
    const task = await world.agent.take("a");
    await deaf(() => world.agent.report(task, broken));
    await swept();
    await expect.poll(state).toBe("FAILED");
  });

  it("hears that its child is not there any more", async () => {
    await begin();
    await world.agent.take("a");
    const { hand, run } = world;
    const [child] = await hand.query("select id from run where parent_id = $1", [run.runId]);
    for (const table of ["run_open", "step", "ready", "lease"])
      await hand.query(`delete from ${table} where run_id = $1`, [child?.id]);
    await hand.query("delete from run where id = $1", [child?.id]);
    await swept();
    await expect.poll(state).toBe("FAILED");
  });

  it("is left to itself while its child runs, or the message is on its way", async () => {
    await begin();
    expect(await world.plane.sweep.roundOnce()).toBe(0);
    const { run, hand } = world;
    const child = await world.agent.take("a");
    await hand.query("begin");
    // The parent is held: its message waits.
    await hand.query("select from run_open where run_id = $1 for update", [run.runId]);
    await world.agent.report(child, success);
    expect(await world.plane.sweep.roundOnce()).toBe(0);
    await hand.query("commit");
    await expect.poll(state).toBe("COMPLETED");
    expect(await told()).toEqual([]);
  });
});

/** While the work is done, nothing that is inserted into the table stays there. */
async function unheard(table: string, work: () => Promise<unknown>): Promise<void> {
  const { hand } = world;
  await hand.query(
    `create function nothing() returns trigger language plpgsql as 'begin return null; end'`,
  );
  await hand.query(
    `create trigger unheard before insert on ${table} for each row execute function nothing()`,
  );
  await work();
  await hand.query(`drop trigger unheard on ${table}; drop function nothing()`);
}

describe("a slot of a concurrency key", () => {
  const concurrency = { key: "desk", limit: 1, policy: "queue" } as const;
  const slots = async () => {
    const rows = await world.hand.query<{ run_id: string; holds: boolean }>(
      "select run_id, holds from slot order by run_id",
    );
    return rows.map(({ run_id, holds }) => [run_id, holds]);
  };
  const next = () => schedule(world.plane, SHORT, { concurrency });

  it("is held again by the run that is under way, and nobody else gets it", async () => {
    await world.begin(SHORT, { concurrency });
    await change("delete from slot where run_id = $1");
    expect((await swept()).join()).toMatch(/under way, and holds no slot/);
    const other = await next();
    expect(await stateOf(world.plane, other)).toBe("PENDING");
    await report();
    await expect.poll(() => stateOf(world.plane, other)).toBe("RUNNING");
  });

  it("is held again by both, when another has got it meanwhile", async () => {
    await world.begin(SHORT, { concurrency });
    await change("delete from slot where run_id = $1");
    const other = await next();
    await swept();
    expect(await slots()).toEqual([
      [world.run.runId, true],
      [other.runId, true],
    ]);
  });

  it("is held by the run that is under way, though its row says that it waits", async () => {
    await world.begin(SHORT, { concurrency });
    await change("update slot set holds = false where run_id = $1");
    await swept();
    expect(await slots()).toEqual([[world.run.runId, true]]);
  });

  it("is waited for again, in the order of the starts", async () => {
    const first = await next();
    await world.begin(SHORT, { concurrency });
    const last = await next();
    await change("delete from slot where run_id = $1");
    expect((await swept()).join()).toMatch(/not among those who do/);
    const order = await world.hand.query("select run_id from slot order by holds desc, since");
    expect(order.map(({ run_id }) => run_id)).toEqual([first.runId, world.run.runId, last.runId]);
    await report();
    await expect.poll(state).toBe("RUNNING");
  });

  it("is given to the run that waits for it, when it is free by now", async () => {
    const first = await next();
    await world.begin(SHORT, { concurrency });
    await change("delete from slot where run_id = $1");
    await report();
    expect(await stateOf(world.plane, first)).toBe("COMPLETED");
    await swept();
    await expect.poll(state).toBe("RUNNING");
  });

  it("is told of again, when the run that got it has not heard of it", async () => {
    await next();
    await world.begin(SHORT, { concurrency });
    const task = await world.agent.take("a");
    await unheard("message", () => world.agent.report(task, success));
    expect(await slots()).toEqual([[world.run.runId, true]]);
    expect((await swept()).join()).toMatch(/it holds a slot, and nobody tells it/);
    await expect.poll(state).toBe("RUNNING");
  });

  it("is left by a run that has no key, and goes to the one that waits", async () => {
    await world.begin(SHORT);
    const other = await next();
    await change(
      `insert into slot (run_id, namespace_id, key, max_holders, priority, since, holds, leaving)
       select id, namespace_id, 'desk', 1, 5, now(), true, false from run where id = $1`,
    );
    expect((await swept()).join()).toMatch(/a slot that it has not asked for/);
    expect(await slots()).toEqual([[other.runId, true]]);
  });
});

describe("a question", () => {
  const unsure: Definition = {
    workflow: "unsure",
    steps: [{ id: "a", needs: [], task: "a", onFailure: "escalate", retry: [] }],
  };
  const questions = () =>
    change("select closed_by, wake_at > now() as watched from escalation where run_id = $1");

  it("without a moment gets one, and is told once", async () => {
    await world.begin(unsure);
    await report(broken);
    await change("update escalation set wake_at = null where run_id = $1");
    expect((await swept()).join()).toMatch(/question 1 is open, and nobody would ever be reminded/);
    expect(await questions()).toEqual([{ closed_by: null, watched: true }]);
    await world.plane.sweep.roundOnce();
    expect(await told()).toHaveLength(1);
  });

  it("that nobody has to answer any more holds its run no longer", async () => {
    await world.begin(unsure);
    await report(broken);
    await change("update escalation set closed_at = now(), wake_at = null where run_id = $1");
    await change("update step set forward = 9 where run_id = $1");
    expect(await state()).toBe("ESCALATED");
    expect((await swept()).join()).toMatch(/asking is 1, the steps say 0/);
    expect(await state()).toBe("COMPLETED");
  });

  it("of a run that has ended is closed", async () => {
    await world.begin(SHORT);
    await report();
    await ask("unsure");
    expect((await swept()).join()).toMatch(/the run has ended, and its question 1 is open/);
    expect(await questions()).toEqual([{ closed_by: "the run has ended", watched: null }]);
  });

  it("whether an effect is doubled outlives its run, and is only reminded of", async () => {
    await world.begin(SHORT);
    await report();
    await ask("doubled");
    expect(await world.plane.sweep.roundOnce()).toBe(0);
    await change("update escalation set wake_at = null where run_id = $1");
    await swept();
    expect(await questions()).toEqual([{ closed_by: null, watched: true }]);
  });

  const ask = (reason: "unsure" | "doubled") =>
    change(
      `insert into escalation (run_id, n, namespace_id, step_no, reason, message, opened_at, partition,
         wake_at)
       select id, 1, namespace_id, 0, $2, '', now(), partition, now() + interval '1 hour'
       from run where id = $1`,
      reason === "doubled" ? 9 : 5,
    );
});

describe("what the sweep puts right", () => {
  it("is a line in the log, a number, and nothing of either where there is nothing", async () => {
    const lines: Record<string, unknown>[] = [];
    const log = pino({ level: "error" }, { write: (line) => lines.push(JSON.parse(line)) });
    const metrics = createMetrics();
    const measures = createMeasures(metrics, systemClock);
    const run = await world.begin(SHORT);
    await world.plane.ownership.stop();
    const plane = await openQuietPlane(world.connectionString, undefined, { log, measures });
    await plane.ownership.start();
    await plane.sweep.roundOnce();
    expect(lines).toEqual([]);
    expect(await metrics.page()).not.toContain('rule="integrity"');
    await change("update run_open set moving = 7 where run_id = $1");
    await plane.sweep.roundOnce();
    await plane.sweep.roundOnce();
    const saw = "moving is 7, the steps say 1";
    expect(lines).toMatchObject([
      {
        level: 50,
        event: "integrity",
        run: run.runId,
        step: null,
        saw: expect.stringContaining(saw),
      },
    ]);
    expect(lines[0]?.msg).toMatch(/moving is 7.*This is a defect of Drover: please report it/);
    const page = await metrics.page();
    expect(page).toContain('drover_interventions_total{rule="integrity"} 1');
    await plane.close();
  });
});
