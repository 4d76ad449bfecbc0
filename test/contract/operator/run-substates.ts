/** What the steps of open runs do or wait for: in records of runs, lists and counts. */
import { beforeAll, expect, test } from "vitest";
import { ANY_RUN, type RunFilter, type SubstateFilter } from "../../../server/store/lists.ts";
import type { RunSubstates } from "../../../server/store/reads.ts";
import type { Store } from "../../../server/store/store.ts";
import { type StepOptions, workflow } from "../../support/core-world.ts";
import {
  claimOne,
  failure,
  newNamespace,
  type Opened,
  pass,
  report,
  type Scheduled,
  type ScheduleOptions,
  schedule,
  success,
} from "../fixture.ts";

interface Made {
  readonly namespaceId: number;
  readonly runs: Readonly<Record<string, Scheduled>>;
}

const QUIET: RunSubstates = { waits: {}, isWorking: false, waitsForAgent: false };

const SUBSTATES: Readonly<Record<string, RunSubstates>> = {
  working: { ...QUIET, isWorking: true },
  agent: { ...QUIET, waitsForAgent: true },
  retry: { ...QUIET, waits: { retry: 1 } },
  signal: { ...QUIET, waits: { signal: 1 } },
  approval: { ...QUIET, waits: { approval: 1 } },
  timer: { ...QUIET, waits: { timer: 1 } },
  held: { ...QUIET, waits: { held: 1 } },
  both: { ...QUIET, waits: { signal: 2, timer: 1 }, waitsForAgent: true },
  ended: QUIET,
};

const SIGNAL: StepOptions = { kind: "signal", name: "go" };
const APPROVAL: StepOptions = { kind: "approval", approvers: ["ada"] };
const TIMER: StepOptions = { kind: "wait", forMs: 3_600_000 };

/** A run for each substate, one with several, and one that has ended. */
async function makeRuns(store: Store): Promise<Made> {
  const namespaceId = await newNamespace(store);
  const begin = (steps: Readonly<Record<string, StepOptions>>, options: ScheduleOptions = {}) =>
    schedule(store, workflow(steps), { namespaceId, ...options });
  const one = { labels: { of: "one" } };
  // Tasks of names of their own, so that each claim takes that of its run.
  const working = await begin({ w: {} }, one);
  await claimOne(store, working);
  const retry = await begin({ r: { retry: [{ initialMs: 3_600_000 }] } }, one);
  await pass(store, retry, report(await claimOne(store, retry), failure));
  const held = await begin({ h: {} });
  await pass(store, held, { kind: "pause", note: "" });
  const ended = await begin({ e: {} });
  await pass(store, ended, report(await claimOne(store, ended), success));
  return {
    namespaceId,
    runs: {
      working,
      agent: await begin({ a: {} }, one),
      retry,
      signal: await begin({ s: SIGNAL }),
      approval: await begin({ s: APPROVAL }),
      timer: await begin({ s: TIMER }),
      held,
      both: await begin({ b: {}, c: SIGNAL, d: SIGNAL, e: TIMER }),
      ended,
    },
  };
}

export function describeRunSubstates(opened: Opened<Store>): void {
  let made: Made | undefined;
  beforeAll(async () => {
    made = await makeRuns(opened().store);
  });

  async function listed(filter: Partial<RunFilter>): Promise<readonly string[]> {
    const { namespaceId = 0, runs = {} } = made ?? {};
    const page = { filter: { ...ANY_RUN, ...filter }, after: null, limit: 100 } as const;
    const found = await opened().store.lists.runs(namespaceId, { ...page, order: "created-asc" });
    const newest = await opened().store.lists.runs(namespaceId, { ...page, order: "created-desc" });
    const ids = found.map(({ runId }) => runId);
    expect(newest.map(({ runId }) => runId)).toEqual(ids.toReversed());
    const { lists } = opened().store;
    expect(await lists.countRuns(namespaceId, page.filter, 100)).toMatchObject({
      count: ids.length,
    });
    return Object.keys(runs).filter((name) => ids.includes(runs[name]?.ref.runId ?? ""));
  }

  test.each(Object.entries(SUBSTATES))("the record of %s has its substates", async (name, is) => {
    const { namespaceId = 0, runs = {} } = made ?? {};
    const runId = runs[name]?.ref.runId ?? "";
    const record = await opened().store.reads.findRun(namespaceId, { runId });
    expect(record?.substates).toEqual(is);
  });

  const FILTERS: readonly [readonly SubstateFilter[], readonly string[]][] = [
    [["working"], ["working"]],
    [["agent"], ["agent", "both"]],
    [["retry"], ["retry"]],
    [["signal"], ["signal", "both"]],
    [["approval"], ["approval"]],
    [["timer"], ["timer", "both"]],
    [["held"], ["held"]],
    [["callback", "child"], []],
    [
      ["signal", "timer", "agent"],
      ["agent", "signal", "timer", "both"],
    ],
    [
      ["working", "retry"],
      ["working", "retry"],
    ],
  ];

  test.each(FILTERS)("runs that are %j are listed and counted once each", async (substates, is) => {
    expect(await listed({ substates })).toEqual(is);
  });

  test("the runs of each substate are counted", async () => {
    const counted = await opened().store.operators.substates(made?.namespaceId ?? 0);
    expect(counted.every(({ more }) => !more)).toBe(true);
    const runs = Object.fromEntries(counted.map((one) => [one.substate, one.runs]));
    const one = { working: 1, retry: 1, approval: 1, held: 1 };
    expect(runs).toEqual({ ...one, agent: 2, signal: 2, timer: 2 });
  });

  test("a substate goes with a label, a workflow and states", async () => {
    const labels = { of: "one" };
    expect(await listed({ substates: ["working"], labels })).toEqual(["working"]);
    expect(await listed({ substates: ["agent", "retry"], labels })).toEqual(["agent", "retry"]);
    expect(await listed({ substates: ["signal"], labels })).toEqual([]);
    expect(await listed({ substates: ["signal"], workflow: "test" })).toEqual(["signal", "both"]);
    expect(await listed({ substates: ["held", "timer"], states: ["PAUSED"] })).toEqual(["held"]);
    expect(await listed({ substates: ["signal"], states: ["COMPLETED"] })).toEqual([]);
  });
}
