// One run: real processes at work, faults by a schedule from a seed, then everything is healed, all
// runs end, and the checker of the simulation decides from what was recorded.
//
//   start → warm up → faults → heal → drain → read the rows → check
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createChance } from "../../simulator/chance.ts";
import { checkHistory } from "../simulation/checker/check-history.ts";
import { type History, historyText } from "../simulation/history.ts";
import { type Fault, pause } from "./fault.ts";
import { faultsOf, type Group, type Plan, planRound } from "./fault-plan.ts";
import type { AgentCommand } from "./languages.ts";
import { watchMachine } from "./machine-watch.ts";
import type { Preload } from "./preloaded.ts";
import { countsOf, type Report, violationText, voidsOf } from "./report.ts";
import { canaryOf, NAMESPACES, openStage, type Stage } from "./stage.ts";
import { boundsOf, storedHistory } from "./stored-history.ts";

export interface ChaosOptions {
  readonly seed: number;
  readonly plan: Plan;
  /** Exists; everything that is written goes there. */
  readonly folder: string;
  readonly agents: readonly AgentCommand[];
  readonly preload: Preload;
  readonly openMax: number;
  readonly log: (line: string) => void;
}

export interface ChaosResult {
  readonly report: Report;
  readonly history: History;
}

const WARM_MS = 8_000;
const WARM_STEPS_MIN = 40;
const WARM_MS_MAX = 60_000;
/** After the heal every run ends within this. */
const DRAIN_MS_MAX = 90_000;

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, folder, agents, preload, openMax, plan, log } = options;
  const startedMs = performance.now();
  // PostgreSQL may have to run under another account, which must be able to pass.
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o711);
  const stage = await openStage({ folder, seed, agents, preload, openMax });
  const planned = faultsOf(plan, preload, stage.database.standby !== null);
  const watch = watchMachine(stage);
  const faults = new Map<string, number>();
  try {
    log("the processes are up");
    if (preload.kind === "missing") log(`no fault of a disk or a clock: ${preload.why}`);
    if (stage.database.standby === null) log("no failover: a worker of Citus has no standby");
    await Promise.all(stage.clients.map((clients) => clients.start()));
    const stepsPerSecond = await warmUp(stage);
    log(`${stepsPerSecond.toFixed(1)} steps/s before the faults`);
    await injectAll(stage, options, planned, faults);
    stage.recorder.fault({ kind: "heal" }, "all", false);
    const drained = await drain(stage);
    log(drained ? "all runs have ended" : `not all runs have ended in ${DRAIN_MS_MAX / 1_000} s`);
    for (const clients of stage.clients) clients.stop();
    watch.stop();
    countWorkload(stage, faults);
    const { history, broken } = await storedHistory(stage.database, {
      meta: {
        source: "processes",
        seed,
        load: watch.load(),
        canaries: NAMESPACES.map((namespace) => ({ namespace, word: canaryOf(namespace) })),
        watchers: stage.supervisors.map(({ name: server }) => ({
          server,
          regions: null,
          standby: false,
        })),
      },
      records: stage.recorder.records,
      namespaces: NAMESPACES,
      // Whether a run is left is for the checker to find.
      drained: true,
      at: stage.now(),
    });
    writeFileSync(join(folder, "history.jsonl"), historyText(history));
    log(`checks ${history.records.length} records`);
    const counts = countsOf(history, stepsPerSecond);
    const report: Report = {
      seed,
      seconds: (performance.now() - startedMs) / 1_000,
      counts,
      faults,
      violations: [
        ...checkHistory(history, boundsOf(history)).map(violationText),
        ...broken.map((text) => `invariant: ${text}`),
        ...stage.unexpectedEnds.map((text) => `process: ${text}`),
      ],
      void: voidsOf(counts, planned, faults),
    };
    return { report, history };
  } finally {
    watch.stop();
    await stage.stop();
  }
}

function stepsDone({ recorder }: Stage): number {
  return recorder.records.reduce(
    (total, record) =>
      record.kind === "answer" && record.answer.kind === "completed"
        ? total + record.answer.answers.filter(({ kind }) => kind === "accepted").length
        : total,
    0,
  );
}

/** Until all agents are at work; then the steps in a second. */
async function warmUp(stage: Stage): Promise<number> {
  const startMs = performance.now();
  while (stepsDone(stage) < WARM_STEPS_MIN && performance.now() - startMs < WARM_MS_MAX)
    await pause(100);
  const before = stepsDone(stage);
  await pause(WARM_MS);
  return (stepsDone(stage) - before) / (WARM_MS / 1_000);
}

async function injectAll(
  stage: Stage,
  { seed, plan, log }: ChaosOptions,
  planned: readonly Fault[],
  faults: Map<string, number>,
): Promise<void> {
  const chance = createChance(seed).fork();
  const minutes = plan.kind === "short" ? 0 : plan.minutes;
  const endMs = performance.now() + minutes * 60_000;
  do {
    for (const group of planRound(plan, planned, chance)) {
      log(group.map(({ name }) => name).join(" + "));
      await injectGroup(
        stage,
        group,
        group.map(() => chance.fork()),
      );
      for (const { name } of group) faults.set(name, (faults.get(name) ?? 0) + 1);
      if (group.length > 1) faults.set("F32", (faults.get("F32") ?? 0) + 1);
      await pause(chance.between(300, 1_500));
    }
  } while (performance.now() < endMs);
}

async function injectGroup(
  stage: Stage,
  group: Group,
  chances: readonly ReturnType<typeof createChance>[],
): Promise<void> {
  await Promise.all(
    group.map((fault: Fault, index) => {
      const chance = chances[index];
      if (!chance) throw new Error(`"${fault.name}" has no chance of its own`);
      return fault.act(stage, chance).catch((cause: unknown) => {
        throw new Error(`the fault "${fault.name}" could not be injected`, { cause });
      });
    }),
  );
}

/** False: some are left. */
async function drain(stage: Stage): Promise<boolean> {
  stage.service.calm();
  const winding = Promise.all(stage.clients.map((clients) => clients.wind()));
  await Promise.race([winding, pause(DRAIN_MS_MAX / 2)]);
  const endMs = performance.now() + DRAIN_MS_MAX / 2;
  for (;;) {
    const left = await stage.database.admin((client) =>
      client.query("select from drover.run_page where no = 0 and ended_at is null"),
    );
    if (left.rowCount === 0) return true;
    if (performance.now() > endMs) return false;
    await pause(300);
  }
}

/** Rows of the matrix that the tasks are, and not the schedule. */
function countWorkload({ service: { counts } }: Stage, faults: Map<string, number>): void {
  faults.set("F24", counts.get("perform die") ?? 0);
  faults.set("F25", counts.get("perform hang") ?? 0);
}
