/**
 * The end of a run sets off another one, exactly once: whichever server dies between the end and
 * what follows, and however often it is done again.
 */
import { type Logger, pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../../server/clock.ts";
import type { Definition } from "../../../server/core/definition/definition.ts";
import {
  TRIGGER_DEPTH_MAX,
  type TriggerDefinition,
} from "../../../server/core/definition/trigger.ts";
import { DroverError } from "../../../server/errors.ts";
import { evaluatorOf } from "../../../server/expressions/evaluator.ts";
import { createMappings } from "../../../server/integrations/triggers/mappings.ts";
import { createRunEnds } from "../../../server/integrations/triggers/run-ends.ts";
import type { ScheduleRequest } from "../../../server/scheduler/scheduler.ts";
import { createPlans } from "../../../server/store/plans.ts";
import type { Store } from "../../../server/store/store.ts";
import { quietLog, type TestPlane } from "../../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { chain, newAgent, newTask, openQuietPlane, success } from "../control-plane/fixture.ts";
import { type Hand, openHand } from "../control-plane/hand.ts";

const EVERYWHERE = Array.from({ length: 256 }, (_, partition) => ({ partition }));

let database: TestDatabase;
let hand: Hand;
let plane: TestPlane;

beforeAll(async () => {
  database = await createTestDatabase();
  hand = await openHand(database.connectionString);
  plane = await openQuietPlane(database.connectionString);
});
beforeEach(async () => {
  await hand.query("delete from drover.trigger_end");
  await hand.query("delete from drover.trigger");
  await hand.query("delete from drover.trigger_refusal");
});
afterAll(async () => {
  await plane?.close();
  await hand?.close();
  await database?.drop();
});

let made = 0;
/** A registered workflow of one task that no other test has. */
async function workflow(more: Partial<Definition> = {}) {
  const task = newTask();
  const name = `flow-${++made}`;
  await plane.scheduler.registerWorkflow(
    plane.namespace,
    { ...chain(task, 1, { onFailure: "fail" }), workflow: name, ...more },
    false,
  );
  return { name, task };
}

interface Following {
  readonly when?: string;
  readonly states?: readonly ("COMPLETED" | "FAILED")[];
  readonly input?: unknown;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A trigger on the end of `of`, that schedules `to`. */
async function follow(of: string, to: string, more: Following = {}): Promise<string> {
  const name = `after-${of}`;
  const { when = "", states = [], input, labels = {} } = more;
  const definition: TriggerDefinition = {
    name,
    when,
    source: { kind: "run-end", workflow: of, states },
    action: {
      kind: "schedule",
      workflow: to,
      version: 0,
      key: "",
      labels,
      priority: 0,
      input: input === undefined ? null : { kind: "json", json: JSON.stringify(input) },
    },
  };
  await plane.store.triggers.put({ namespaceId: plane.namespace.id, definition, secret: null });
  return name;
}

function schedule(name: string, more: Partial<ScheduleRequest> = {}) {
  return plane.scheduler.schedule({
    namespace: plane.namespace,
    target: { kind: "named", name, version: 0 },
    key: null,
    input: { kind: "json", json: '{"n":1}' },
    priority: 5,
    labels: { team: "sea" },
    notify: null,
    startAt: null,
    concurrency: null,
    digest: "00",
    ...more,
  });
}

/** A run of the workflow that has ended. */
async function ended(of: { readonly name: string; readonly task: string }): Promise<string> {
  const { runId } = await schedule(of.name);
  const agent = newAgent(plane);
  expect(await agent.report(await agent.take(of.task), success)).toBe("accepted");
  return runId;
}

interface Over {
  readonly schedule?: TestPlane["scheduler"]["schedule"];
  readonly store?: Store;
  readonly log?: Logger;
}

function scanner(over: Over = {}) {
  const { store = plane.store, schedule: asked = plane.scheduler.schedule, log = quietLog } = over;
  return createRunEnds({
    store,
    schedule: asked,
    compile: createMappings(),
    clock: systemClock,
    log,
    plans: createPlans(plane.store, evaluatorOf),
    owned: () => EVERYWHERE,
  });
}

const runsOf = (name: string) =>
  hand.query<{ id: string; key: string; input_json: string | null; labels: object }>(
    "select id, key, input_json, labels from drover.run where workflow = $1 order by id",
    [name],
  );
const waiting = async () => (await hand.query("select from drover.trigger_end")).length;
const refusals = () => plane.store.lists.refusals(plane.namespace.id, null, 10);

describe("a run that ends", () => {
  test("sets off a run with what the mapping makes of it", async () => {
    const build = await workflow();
    const deploy = await workflow();
    const input = { of: `\${run.id}`, n: `\${input.n}`, ok: `\${output.s0.ok}`, why: `\${why}` };
    await follow(build.name, deploy.name, { input, labels: { team: `\${run.labels.team}` } });
    const runId = await ended(build);
    expect(await scanner().scanOnce()).toBe(1);
    const [run, ...others] = await runsOf(deploy.name);
    expect(others).toEqual([]);
    expect(run?.labels).toEqual({ team: "sea" });
    expect(JSON.parse(run?.input_json ?? "")).toEqual({ of: runId, n: 1, ok: 1, why: "" });
    expect(await waiting()).toBe(0);
  });

  test("in another state, or that `when` is false for, sets off nothing", async () => {
    const build = await workflow();
    const deploy = await workflow();
    await follow(build.name, deploy.name, { states: ["FAILED"] });
    await ended(build);
    expect(await waiting()).toBe(0);
    await follow(build.name, deploy.name, { when: 'run.state == "FAILED"' });
    await ended(build);
    await scanner().scanOnce();
    expect(await runsOf(deploy.name)).toEqual([]);
    expect([await waiting(), await refusals()]).toEqual([0, []]);
  });

  test("when it failed has the reason", async () => {
    const build = await workflow();
    const deploy = await workflow();
    await follow(build.name, deploy.name, { input: `\${run.state + ": " + why}` });
    await schedule(build.name);
    const agent = newAgent(plane);
    await agent.report(await agent.take(build.task), {
      kind: "failure",
      class: "permanent",
      code: "broken",
      message: "no disk",
      retryAfterMs: null,
      noEffect: true,
    });
    await scanner().scanOnce();
    const [run] = await runsOf(deploy.name);
    expect(run?.input_json).toBe('"FAILED: step \\"s0\\" failed: broken: no disk"');
  });

  test("of a workflow without a trigger is no row of it", async () => {
    const build = await workflow();
    await ended(build);
    expect(await waiting()).toBe(0);
  });
});

describe("exactly once", () => {
  test("the end and its row are of one transaction: without the commit there is neither", async () => {
    const build = await workflow();
    const deploy = await workflow();
    await follow(build.name, deploy.name);
    const { runId } = await schedule(build.name);
    const failing: Store = {
      ...plane.store,
      transact: (options, work) =>
        plane.store.transact(options, async (tx) => {
          const result = await work(tx);
          if (options.name === "advance") throw new DroverError("STORE_UNAVAILABLE", "killed");
          return result;
        }),
    };
    const dying = await openQuietPlane(database.connectionString, (store) => ({
      ...store,
      transact: failing.transact,
    }));
    const agent = newAgent(dying);
    const task = await agent.take(build.task);
    await agent.report(task, success).catch(() => undefined);
    await dying.close();
    const { endedAt } = (await plane.store.reads.findRun(plane.namespace.id, { runId })) ?? {};
    expect([endedAt, await waiting()]).toEqual([null, 0]);
  });

  test("a crash between the scheduled run and its row begins no second one", async () => {
    const build = await workflow();
    const deploy = await workflow();
    await follow(build.name, deploy.name);
    await ended(build);
    const { triggers } = plane.store;
    const settle = () => Promise.reject(new Error("killed"));
    const crashing = scanner({ store: { ...plane.store, triggers: { ...triggers, settle } } });
    await expect(crashing.scanOnce()).rejects.toThrow("killed");
    const first = await runsOf(deploy.name);
    expect([first.length, await waiting()]).toEqual([1, 1]);
    await scanner().scanOnce();
    expect([await runsOf(deploy.name), await waiting()]).toEqual([first, 0]);
  });

  test("two servers that scan at the same time begin one run, though the trigger has changed", async () => {
    const build = await workflow();
    const deploy = await workflow();
    await follow(build.name, deploy.name);
    await ended(build);
    await Promise.all([scanner().scanOnce(), scanner().scanOnce()]);
    await hand.query(
      "insert into drover.trigger_end (partition, namespace_id, trigger, run_id) select r.partition, 1, $1, r.id from drover.run as r where r.workflow = $2",
      [`after-${build.name}`, build.name],
    );
    await follow(build.name, deploy.name, { input: { other: true } });
    await scanner().scanOnce();
    expect(await runsOf(deploy.name)).toHaveLength(1);
    expect([await waiting(), await refusals()]).toEqual([0, []]);
  });

  test("what has an unknown outcome is done again", async () => {
    const build = await workflow();
    const deploy = await workflow();
    await follow(build.name, deploy.name);
    await ended(build);
    const away = () => Promise.reject(new DroverError("STORE_UNAVAILABLE", "away"));
    await scanner({ schedule: away }).scanOnce();
    expect([await runsOf(deploy.name), await waiting(), await refusals()]).toEqual([[], 1, []]);
    await hand.query("update drover.trigger_end set next_at = now()");
    await scanner().scanOnce();
    expect([(await runsOf(deploy.name)).length, await waiting()]).toEqual([1, 0]);
  });
});

describe("what cannot be set off", () => {
  test("is listed with its reason and its run, and holds up nothing", async () => {
    const build = await workflow();
    const deploy = await workflow();
    await follow(build.name, "nothing");
    const runId = await ended(build);
    const other = await workflow();
    await follow(other.name, deploy.name, { input: `\${input.missing}` });
    const later = await ended(other);
    await scanner().scanOnce();
    const listed = (await refusals()).map(({ reason, runId, count }) => [reason, runId, count]);
    expect(listed.sort()).toEqual([
      ["MAPPING_FAILED", later, 1],
      ["WORKFLOW_NOT_FOUND", runId, 1],
    ]);
    expect(await waiting()).toBe(0);
  });

  test("for a trigger that was deleted meanwhile is let be", async () => {
    const build = await workflow();
    const deploy = await workflow();
    const name = await follow(build.name, deploy.name);
    await ended(build);
    await plane.store.triggers.delete(plane.namespace.id, name);
    await scanner().scanOnce();
    expect([await runsOf(deploy.name), await waiting()]).toEqual([[], 0]);
  });

  test("for a run that was erased since its end was read is let be, without a warning", async () => {
    const build = await workflow();
    const deploy = await workflow();
    await follow(build.name, deploy.name);
    const runId = await ended(build);
    const { store, namespace } = plane;
    const erasing: Store = {
      ...store,
      async facts(asked) {
        await store.namespaces.eraseRun(namespace.id, runId, null);
        return await store.facts(asked);
      },
    };
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => lines.push(line) });
    expect(await scanner({ store: erasing, log }).scanOnce()).toBe(1);
    expect([lines, await waiting(), await refusals()]).toEqual([[], 0, []]);
    expect(await runsOf(deploy.name)).toEqual([]);
  });

  test("workflows that set each other off without an end stop at a depth, with a message", async () => {
    const one = await workflow();
    const other = await workflow();
    await follow(one.name, other.name);
    await follow(other.name, one.name);
    const agent = newAgent(plane);
    await schedule(one.name);
    for (let depth = 0; depth <= TRIGGER_DEPTH_MAX; depth++) {
      const { task } = depth % 2 === 0 ? one : other;
      await agent.report(await agent.take(task), success);
      await scanner().scanOnce();
    }
    const count = (await runsOf(one.name)).length + (await runsOf(other.name)).length;
    expect(count).toBe(TRIGGER_DEPTH_MAX + 1);
    expect(await refusals()).toMatchObject([
      { trigger: `after-${one.name}`, reason: "TRIGGER_DEPTH" },
    ]);
  });
});
