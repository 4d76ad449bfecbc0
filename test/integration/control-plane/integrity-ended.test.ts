/**
 * What is left of runs that have ended, or were never there: the sweep takes it away and says so,
 * and the run stays as it ended.
 */
import { describe, expect, it } from "vitest";
import { schedule, stateOf, success } from "./fixture.ts";
import { SHORT, type SweptWorld, sweptWorld } from "./integrity-fixture.ts";

const world = sweptWorld();
const { change, swept, told } = world;

async function begun(): Promise<SweptWorld> {
  await world.begin(SHORT);
  return world;
}

async function end(): Promise<void> {
  const { agent } = await begun();
  await agent.report(await agent.take("a"), success);
}

interface Rest {
  readonly what: string;
  readonly hand: () => Promise<unknown>;
  readonly saw: RegExp;
  readonly left: string;
}

const RESTS: readonly Rest[] = [
  {
    what: "it is still among the open runs",
    hand: () =>
      change(
        `insert into run_open (partition, run_id, namespace_id, definition_id, priority, state, version,
           steps_left, finally_left, moving, asking, undos_left, undone, warnings, escalations, pivoted)
         select partition, id, namespace_id, definition_id, priority, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, false
         from run where id = $1`,
      ),
    saw: /still among the open runs/,
    left: "run_open",
  },
  {
    what: "it has a ready row",
    hand: () =>
      change(
        `insert into ready (run_id, step_no, partition, lane, priority, ordinal, kind, fence, attempt,
           ready_at, alarms, attempt_ms, heartbeat_ms, cancel_ms, wake_at)
         select id, 0, partition, 1, 5, 0, 0, 9, 9, now(), 0, 60000, 30000, 10000, now()
         from run where id = $1`,
      ),
    saw: /there is a ready row/,
    left: "ready",
  },
  {
    what: "it has a lease",
    hand: () =>
      change(
        `insert into lease (run_id, step_no, partition, lane, kind, fence, attempt, secret, session,
           agent_id, poll_seq, granted_at, attempt_by, heartbeat_ms, cancel_ms, progress_at, wake_at)
         select id, 0, partition, 1, 0, 9, 9, decode(repeat('ab', 16), 'hex'),
           decode(repeat('cd', 16), 'hex'), 'ghost', 1, now(), now(), 30000, 10000, now(), now()
         from run where id = $1`,
      ),
    saw: /there is a lease row/,
    left: "lease",
  },
  {
    what: "it has a due row",
    hand: () =>
      change(
        `insert into due (run_id, step_no, partition, kind, wake_at)
         select id, 0, partition, 9, now() from run where id = $1`,
      ),
    saw: /there is a due row/,
    left: "due",
  },
  {
    what: "it holds a slot",
    hand: () =>
      change(
        `insert into slot (run_id, namespace_id, key, max_holders, priority, since, holds, leaving)
         select id, namespace_id, 'desk', 1, 5, now(), true, false from run where id = $1`,
      ),
    saw: /it has a slot of the key "desk"/,
    left: "slot",
  },
];

describe("a run that has ended", () => {
  it.for(RESTS)("keeps nothing when $what", async ({ hand: breakIt, saw, left }) => {
    await end();
    expect(await world.plane.sweep.roundOnce()).toBe(0);
    await breakIt();
    expect((await swept()).join("\n")).toMatch(saw);
    expect(await change(`select from ${left} where run_id = $1`)).toEqual([]);
    expect(await stateOf(world.plane, world.run)).toBe("COMPLETED");
  });

  it("takes by itself what is still on its way to it, and nothing is reported", async () => {
    await end();
    await change(
      `insert into message (run_id, partition, source, kind, wake_at)
       select id, partition, id, 3, now() from run where id = $1`,
    );
    expect(await world.plane.sweep.roundOnce()).toBe(0);
    await world.plane.watches.lookOnce();
    expect(await change("select from message where run_id = $1")).toEqual([]);
    expect(await told()).toEqual([]);
  });

  it("gives its slot to the run that waits for it", async () => {
    const concurrency = { key: "desk", limit: 1, policy: "queue" } as const;
    await world.begin(SHORT, { concurrency });
    const { plane, hand, agent } = world;
    const next = await schedule(plane, SHORT, { concurrency });
    await agent.report(await agent.take("a"), success);
    await hand.query("update slot set holds = false where run_id = $1", [next.runId]);
    await hand.query("delete from message");
    await change(
      `insert into slot (run_id, namespace_id, key, max_holders, priority, since, holds, leaving)
       select id, namespace_id, 'desk', 1, 5, now() - interval '1 h', true, false
       from run where id = $1`,
    );
    await hand.query(`update run_open set state = 10, deadline = wake_at where run_id = $1`, [
      next.runId,
    ]);
    await plane.sweep.roundOnce();
    const slots = await hand.query("select run_id, holds from slot");
    expect(slots).toEqual([{ run_id: next.runId, holds: true }]);
  });
});

describe("rows of a run that was never there", () => {
  it("are removed: the open row, and what nobody can ever wake", async () => {
    const { plane } = await begun();
    await change(
      `insert into message (run_id, partition, source, kind, wake_at)
       select id, partition, id, 3, now() from run where id = $1`,
    );
    await change("delete from run where id = $1");
    expect(await plane.sweep.roundOnce()).toBe(1);
    expect((await told()).join()).toMatch(/there is no such run.*1 messages wait for it/);
    for (const table of ["run_open", "ready", "lease", "due", "message"])
      expect(await change(`select from ${table} where run_id = $1`), table).toEqual([]);
    expect(await plane.sweep.roundOnce()).toBe(0);
  });
});
