/**
 * Circuits and cordons on a real database, with two servers: an open circuit counts on both, one
 * task tries, and the owner of the lane continues with what is stored.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Definition, StepRules } from "../../../server/core/definition/definition.ts";
import type { HandedTask } from "../../../server/dispatch/dispatcher.ts";
import type { RunRef } from "../../../server/store/store.ts";
import type { TestPlane } from "../../support/control-plane.ts";
import { editPages } from "../../support/pages.ts";
import { until } from "../../support/until.ts";
import {
  type Agent,
  busy,
  historyOf,
  newAgent,
  newTask,
  openTwoServers,
  schedule,
  stateOf,
  success,
  type TwoServers,
  tokenOf,
} from "./fixture.ts";
import type { Hand } from "./hand.ts";

let hand: Hand;
let here: TestPlane;
let there: TestPlane;
let close: TwoServers["close"];
/** A task name, and so a lane, that no other test uses. */
let task: string;

beforeAll(async () => {
  ({ hand, here, there, close } = await openTwoServers());
  await own(here);
});
beforeEach(() => {
  task = newTask();
});
afterAll(() => close?.());

/** It owns every lane. */
async function own({ ownership }: TestPlane): Promise<void> {
  await ownership.start();
  await until("it owns every lane", async () => ownership.owned().length === 256 || null);
}

/** Tasks side by side that are tried again at once. */
function many(count: number, more: Partial<StepRules> = {}): Definition {
  const retry = [{ attempts: 1_000, initialMs: 1, factor: 1, maxMs: 1, jitter: 0 }];
  const steps = Array.from({ length: count }, (_, no) => ({
    id: `s${no}`,
    needs: [],
    task,
    retry,
    ...more,
  }));
  return { workflow: "many", steps };
}

const snapshot = (agent: Agent) => agent.poll(task, { waitMs: 0, maxTasks: 1 });
const second = async () => {
  for (const plane of [here, there]) await plane.circuits.runOnce();
};

async function ends(agent: Agent, count: number, outcome: typeof busy | typeof success) {
  const tasks: HandedTask[] = [];
  while (tasks.length < count) tasks.push(...(await agent.poll(task, { maxTasks: count })));
  await agent.complete(tasks, outcome);
}

async function openedSecondsAgo(seconds: number): Promise<void> {
  await hand.query(
    `with earlier as (
       update drover.circuit_outage set opened_at = now() - $2::integer * interval '1 second'
       where lane = (select id from drover.lane where task = $1)
       returning lane
     )
     update drover.circuit as c set version = $3 from earlier as e
     where c.lane = e.lane`,
    [task, seconds, await nextVersion()],
  );
}

/** By which each server finds that a circuit has changed. */
async function nextVersion(): Promise<string | undefined> {
  const [row] = await hand.query<{ version: string }>(
    "select nextval('drover.circuit_version') as version",
  );
  return row?.version;
}

/** Circuits of the lane by agent, "" its own. */
async function circuits(): Promise<Readonly<Record<string, string>>> {
  const rows = await hand.query<{ agent_id: string; state: number }>(
    "select c.agent_id, c.state from drover.circuit as c join drover.lane as l on l.id = c.lane where l.task = $1",
    [task],
  );
  const names = ["closed", "open", "trying"];
  return Object.fromEntries(rows.map((row) => [row.agent_id, names[row.state] ?? ""]));
}

/** Ends the cool-down. */
const endCoolDown = async () =>
  hand.query(
    `update drover.circuit as c set until = now(), version = $2 from drover.lane as l
     where l.id = c.lane and l.task = $1 and c.state = 1`,
    [task, await nextVersion()],
  );

/** Two runs, of which two agents on two servers have seen 20 tasks fail. */
async function outage(): Promise<readonly [RunRef, Agent, Agent]> {
  const run = await schedule(here, many(12));
  await schedule(here, many(12));
  const one = newAgent(here);
  const two = newAgent(there);
  await ends(one, 12, busy);
  await ends(two, 8, busy);
  await second();
  await second();
  return [run, one, two];
}

/** Retries come due, as the watches would see. */
async function due(plane: TestPlane): Promise<void> {
  const rows = await hand.query<{ run_id: string; partition: number; step_no: number }>(
    `select s.run_id, p.partition, s.no as step_no
     from drover.run_page as p join drover.step_view as s on s.run_id = p.run_id
     where p.no = 0 and p.wake_at <= now() and s.state = 'BACKOFF' and s.next_check_at <= now()`,
  );
  await Promise.all(
    rows.map(({ run_id: runId, partition, step_no: step }) =>
      plane.advance.submit({ runId, partition }, { kind: "due-timer", step, on: "backoff" }),
    ),
  );
}

describe("the circuit of a queue's task", () => {
  it("opens when two agents on two servers fail in two runs, and nothing is handed out", async () => {
    const [run, one, two] = await outage();
    expect(await circuits()).toEqual({ "": "open" });
    await due(here);
    expect([...(await snapshot(one)), ...(await snapshot(two))]).toEqual([]);
    const { interventions } = await historyOf(here, run);
    const [opened, ...more] = interventions.filter(({ rule }) => rule === "queue-circuit");
    expect(more).toEqual([]);
    expect(opened?.saw).toBe("20 of 20 tasks failed within 60 s, with 2 agents");
    expect(opened?.did).toContain("gets no task for 30 s, then one that tries");
  });

  it("lets one task try after a cool-down, whichever agent polls; the next one is longer if that fails", async () => {
    const [run, one, two] = await outage();
    await due(here);
    await endCoolDown();
    await second();
    const tried = (await Promise.all([snapshot(one), snapshot(two)])).flat();
    expect(tried).toHaveLength(1);
    expect(await circuits()).toEqual({ "": "trying" });
    await second();
    expect([...(await snapshot(one)), ...(await snapshot(two))]).toEqual([]);
    const [first] = tried;
    if (!first) throw new Error("nothing tries");
    await one.report(first, busy);
    await second();
    expect(await circuits()).toEqual({ "": "open" });
    const { interventions } = await historyOf(here, { runId: first.runId, partition: 0 });
    expect(interventions.map(({ did }) => did)).toContain(
      "opened the circuit: the lane gets no task for 60 s, then one that tries",
    );
    expect(await stateOf(here, run)).toBe("RUNNING");
  });

  it("closes when the task that tries goes well, and burns no attempt meanwhile", async () => {
    const [run, one, two] = await outage();
    const attempts = async () => (await historyOf(here, run)).attempts.length;
    const before = await attempts();
    await due(here);
    await endCoolDown();
    await second();
    const tried = (await Promise.all([snapshot(one), snapshot(two)])).flat();
    const [first] = tried;
    if (!first) throw new Error("nothing tries");
    expect(await attempts()).toBe(before);
    await one.report(first, success);
    await second();
    expect(await circuits()).toEqual({ "": "closed" });
    await ends(two, 11, success);
    await second();
    expect(await circuits()).toEqual({ "": "closed" });
    const rules = (await historyOf(here, run)).interventions.map(({ rule }) => rule);
    expect(rules.filter((rule) => rule === "queue-circuit").length).toBeGreaterThan(0);
  });

  it("lets the next task try when the one that tried was given back", async () => {
    const [, one, two] = await outage();
    await due(here);
    await endCoolDown();
    await second();
    const [tries] = await snapshot(one);
    if (!tries) throw new Error("nothing tries");
    await one.report(tries, { kind: "released" });
    await second();
    await second();
    expect(await circuits()).toEqual({ "": "open" });
    expect(await snapshot(two)).toHaveLength(1);
  });

  it("holds what waits: no alarm, no end of its time, and reports it", async () => {
    const run = await schedule(here, many(1, { timeouts: { pickupMs: 1_000, totalMs: 60_000 } }));
    const of = { namespaceId: here.namespace.id, queue: "default", task };
    const setting = { forced: "open", by: "ada", why: "moving house" } as const;
    await here.scheduler.setCircuit(of, "", setting);
    // Its minute is over, and half of it the circuit was open: it was ready for 20 s before, and
    // for as long as the next statement takes.
    const now = Date.now();
    const firstReadyAt = now - 70_000;
    await openedSecondsAgo(50);
    await editPages(hand, run.runId, {
      step: (of) => {
        const { forward } = of.step;
        const over = forward.kind === "READY" ? { ...forward, until: now, wakeAt: now } : forward;
        return { ...of, step: { ...of.step, firstReadyAt, forward: over } };
      },
    });
    await hand.query("update drover.ready set until = now() where run_id = $1", [run.runId]);
    await here.circuits.runOnce();
    const snapshot = await here.store.dueRows([run.partition], 500);
    const row = snapshot.due.find(({ runId }) => runId === run.runId);
    if (row?.kind !== "ready") throw new Error("the ready row should be due");
    const { step, fence, polled } = row;
    expect(polled).toBe(true);
    await here.advance.submit(run, { kind: "ready-timer", step, fence, polled });
    expect(await historyOf(here, run)).toMatchObject({ attempts: [], interventions: [] });
    const [ready] = await hand.query<{ ms: number }>(
      "select extract(epoch from until - now())::float8 * 1000 as ms from drover.ready where run_id = $1",
      [run.runId],
    );
    // 60 s, less the 20 s before the circuit was open.
    expect(ready?.ms).toBeGreaterThan(35_000);
    expect(ready?.ms).toBeLessThanOrEqual(40_000);
    const { circuits: known } = await here.store.reads.runLiveness(run.runId);
    expect(known.get(0)).toMatchObject({
      until: null,
      override: { by: "ada", why: "moving house" },
    });
    await here.scheduler.setCircuit(of, "", null);
    expect(await newAgent(here).take(task)).toMatchObject({ runId: run.runId });
  });

  it("that has moved the end of a step's time past the run's deadline breaks no row", async () => {
    const timeouts = { pickupMs: 600_000, totalMs: 60_000 };
    const run = await schedule(here, { ...many(1, { timeouts }), timeoutMs: 20_000 });
    const agent = newAgent(here);
    const held = await agent.take(task);
    const of = { namespaceId: here.namespace.id, queue: "default", task };
    await here.scheduler.setCircuit(of, "", { forced: "open", by: "ada", why: "moving house" });
    await openedSecondsAgo(50);
    const firstReadyAt = Date.now() - 70_000;
    await editPages(hand, run.runId, {
      step: (of) => ({ ...of, step: { ...of.step, firstReadyAt } }),
    });
    await here.circuits.runOnce();
    await agent.report(held, busy);
    const [ready] = await until("it is ready again", async () => {
      await due(here);
      const rows = await hand.query<{ late: boolean }>(
        `select s.next_check_at > r.until as late
         from drover.ready as r join drover.step_view as s on s.run_id = r.run_id and s.no = r.step_no
         where r.run_id = $1`,
        [run.runId],
      );
      return rows.length > 0 ? rows : null;
    });
    expect(ready).toEqual({ late: false });
    await here.scheduler.setCircuit(of, "", null);
  });

  it("is opened and closed by hand, here at once and there within a second", async () => {
    const run = await schedule(here, many(2));
    const of = { namespaceId: here.namespace.id, queue: "default", task };
    const setting = { forced: "open", by: "ada", why: "" } as const;
    const near = newAgent(here);
    const far = newAgent(there);
    await here.scheduler.setCircuit(of, "", setting);
    await there.circuits.runOnce();
    expect([...(await snapshot(near)), ...(await snapshot(far))]).toEqual([]);
    const waiting = far.take(task);
    await there.pollTick.runOnce();
    await here.scheduler.setCircuit(of, "", { ...setting, forced: "closed" });
    expect(await snapshot(near)).toHaveLength(1);
    await there.circuits.runOnce();
    await there.pollTick.runOnce();
    expect(await waiting).toMatchObject({ runId: run.runId });
  });

  it("that is closed by hand stays so, whatever fails", async () => {
    const of = { namespaceId: here.namespace.id, queue: "default", task };
    await here.scheduler.setCircuit(of, "", { forced: "closed", by: "ada", why: "" });
    await outage();
    expect(await circuits()).toEqual({ "": "closed" });
    await here.scheduler.setCircuit(of, "", null);
    await second();
    expect(await circuits()).toEqual({ "": "closed" });
  });
});

describe("the circuit of an agent", () => {
  it("opens for the one of three that fails, and the others continue", async () => {
    await schedule(here, many(40));
    const agents = [newAgent(here, "bad"), newAgent(there), newAgent(there)] as const;
    const [bad, ...good] = agents;
    await ends(bad, 20, busy);
    for (const agent of good) await ends(agent, 5, success);
    // A server where all goes well learns of the lane, publishes it, and it is evaluated.
    for (let seconds = 0; seconds < 3; seconds++) await second();
    expect(await circuits()).toEqual({ bad: "open" });
    await due(here);
    expect(await snapshot(bad)).toEqual([]);
    expect(await snapshot(good[0])).toHaveLength(1);
    await endCoolDown();
    await second();
    const tried = await snapshot(bad);
    expect(tried).toHaveLength(1);
    expect(await snapshot(bad)).toEqual([]);
    const [first] = tried;
    if (first) await bad.report(first, success);
    await second();
    expect(await circuits()).toEqual({ bad: "closed" });
    expect(await snapshot(bad)).toHaveLength(1);
  });
});

describe("a take-over in the middle", () => {
  it("keeps an open circuit, its cool-down and its probe", async () => {
    const [, one] = await outage();
    await due(here);
    await endCoolDown();
    await second();
    const [tries] = await snapshot(one);
    if (!tries) throw new Error("nothing tries");
    const { runId, fence } = tokenOf(tries);
    await here.ownership.stop();
    await own(there);
    try {
      await there.circuits.runOnce();
      expect(await circuits()).toEqual({ "": "trying" });
      await one.report(tries, success);
      await second();
      expect(await circuits()).toEqual({ "": "closed" });
      const { interventions } = await historyOf(there, { runId, partition: 0 });
      const closed = interventions.find(
        ({ rule, fence: of }) => rule === "queue-circuit" && of === fence,
      );
      expect(closed).toMatchObject({ node: there.ownership.node() });
      expect(closed?.did).toBe("closed the circuit: the lane gets tasks again");
    } finally {
      await there.ownership.stop();
      await own(here);
    }
  });
});

describe("a cordon", () => {
  it("of an agent gives it nothing new, on either server; what it has it may finish", async () => {
    const run = await schedule(here, many(2));
    const agent = newAgent(here, "old");
    const held = await agent.take(task);
    const cordon = { namespaceId: here.namespace.id, kind: "agent", name: "old" } as const;
    await there.scheduler.cordonAgent({ ...cordon, by: "ada", why: "" });
    await here.circuits.runOnce();
    expect(await snapshot(agent)).toEqual([]);
    expect(await agent.heartbeat([held])).toEqual(["carry-on"]);
    expect(await agent.report(held, success)).toBe("accepted");
    expect(await snapshot(agent)).toEqual([]);
    const waiting = agent.take(task);
    await here.pollTick.runOnce();
    await there.scheduler.uncordonAgent(cordon);
    await here.circuits.runOnce();
    await here.pollTick.runOnce();
    expect(await waiting).toMatchObject({ runId: run.runId });
  });

  it("of a version gives nothing to any agent of it, others take over", async () => {
    await schedule(here, many(1));
    const cordon = { namespaceId: here.namespace.id, kind: "version", name: "1" } as const;
    await here.scheduler.cordonAgent({ ...cordon, by: "ada", why: "leaks" });
    expect(await snapshot(newAgent(here))).toEqual([]);
    await here.scheduler.uncordonAgent(cordon);
    expect(await snapshot(newAgent(here))).toHaveLength(1);
  });
});
