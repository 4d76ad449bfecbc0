// How an agent performs a task, well or badly. It acts on the remote service only while its lease
// is valid by its own clock; its later reports are true nevertheless.
import type { Reported } from "../../server/core/model/event.ts";
import type { Held, Session } from "./agent.ts";
import { report, reportAgain } from "./reports.ts";
import { POISON_TASK, UNKNOWN_OUTCOME_TASK } from "./workload.ts";

/** An agent checks this often whether it should stop. */
const SCAN_EVERY_MS = 120;
/** Failed by chance although nothing was wrong with the agent. */
const CODES: readonly string[] = ["busy", "odd"];
/** Tasks that seldom succeed while there are faults: rare transitions need them (workload-rare). */
const VAGUE_TASK = "vague";
const VAGUE_UNDO_TASK = "vague-undo";
const FAILING_TASK = "fail";
const LATER_TASK = "later";
/** Its agents make the effect and report an unknown outcome. */
const LEFT_TASK = "left";
/** Its agents seldom do it before they fall silent. */
const LOST_UNDO_TASK = "lost-undo";
const SILENT_TASKS: readonly string[] = ["silent", "slow-undo", LOST_UNDO_TASK];

export async function work(session: Session, held: Held): Promise<void> {
  const { world, process } = session;
  const { faults } = world;
  if (isHard(held, session, POISON_TASK) && (await poisoned(session, held))) return;
  const isSilent = held.task.task === LOST_UNDO_TASK || process.chance.happens(0.75);
  if (SILENT_TASKS.includes(held.task.task) && !faults.calm && isSilent)
    return fallSilent(session, held);
  if (faults.strikes("task forgotten")) {
    // It is still listed in heartbeats, though its agent does not work on it.
    await process.clock.sleep(process.chance.between(500, 9_000));
    session.held.delete(held);
    return;
  }
  if (faults.strikes("progress stalled")) held.stuckAt = process.clock.monotonicMs();
  if (held.token.task === "perform" && faults.strikes("callback without deferral"))
    callBack(session, held, "early");
  const intent = intentOf(session, held);
  if (intent.outcome.kind === "released") return report(session, held, intent.outcome);
  const halfMs = workMs(session, held) / 2;
  let slept = await sleepOnTask(session, held, halfMs);
  if (slept === "done" && intent.acts)
    slept = act(session, held) ? await sleepOnTask(session, held, halfMs) : "lease-over";
  switch (slept) {
    case "done":
      return finish(session, held, foundOut(session, held, intent.outcome));
    case "cancelled":
      return report(session, held, { kind: "cancelled", noEffect: hasNoEffect(session, held) });
    case "lease-over":
      return late(session, held);
  }
}

function isHard({ task }: Held, { world }: Session, name: string): boolean {
  return task.task === name && !world.faults.calm;
}

async function finish(session: Session, held: Held, outcome: Reported): Promise<void> {
  if (outcome.kind === "deferred") promiseCallback(session, held);
  await report(session, held, outcome);
}

function callBack({ world, shape }: Session, held: Held, how: "early" | "in time" | "late"): void {
  world.callbacks.get(shape.namespace)?.later(held, how);
}

/** The remote service has accepted the work: it calls back later, or never. */
function promiseCallback(session: Session, held: Held): void {
  const { world, process } = session;
  const draw = world.faults.calm ? 1 : process.chance.fraction();
  if (draw < 0.15) {
    world.faults.count("callback never");
    return;
  }
  const how = draw < 0.3 ? "early" : draw < 0.55 ? "late" : "in time";
  if (how === "early") world.faults.count("callback early");
  if (how === "late") world.faults.count("callback late");
  callBack(session, held, how);
}

/** What a failure reports of the remote service holds for the key, whichever task used it. */
export function hasNoEffect({ world }: Session, { task, token }: Held): boolean {
  return token.task === "perform" && !world.remote.hasEffect(task.idempotencyKey);
}

function workMs({ world, process: { chance } }: Session, held: Held): number {
  if (world.faults.calm) return chance.between(4, 300);
  if (held.stuckAt !== undefined) return chance.between(1_000, 7_000);
  return chance.happens(0.12) ? chance.between(1_000, 6_000) : chance.between(4, 300);
}

type Slept = "done" | "cancelled" | "lease-over";

async function sleepOnTask(session: Session, held: Held, ms: number): Promise<Slept> {
  const { clock } = session.process;
  let deaf = false;
  for (let left = ms; left > 0; left -= SCAN_EVERY_MS) {
    await clock.sleep(Math.min(left, SCAN_EVERY_MS));
    if (held.instruction === "lost" || clock.monotonicMs() >= held.leaseUntilMs)
      return "lease-over";
    if (held.instruction === "cancel" && !deaf) {
      if (!session.world.faults.strikes("agent ignored a cancel")) return "cancelled";
      deaf = true;
    }
  }
  return "done";
}

/** Returns whether the remote service now has what the task was for. */
function act({ world, process }: Session, held: Held): boolean {
  if (held.instruction === "lost" || process.clock.monotonicMs() >= held.leaseUntilMs) return false;
  const { task, token } = held;
  if (token.task === "perform") world.remote.make(task.idempotencyKey, token);
  else if (token.task === "compensate") world.remote.undo(task.effectKey, token);
  return true;
}

interface Intent {
  /** A failure reports that the remote service refused: then nothing was done. */
  readonly acts: boolean;
  readonly outcome: Reported;
}

function intentOf(session: Session, held: Held): Intent {
  const { faults } = session.world;
  const { chance } = session.process;
  const output = { kind: "json", json: '{"done":true}' } as const;
  if (held.token.task === "verify" && faults.strikes("report inconclusive"))
    return { acts: false, outcome: UNKNOWN };
  if (faults.strikes("report released")) return { acts: false, outcome: { kind: "released" } };
  const special = specialIntent(session, held);
  if (special) return special;
  if (faults.strikes("report again")) return again(chance.between(30, 1_200), chance.happens(0.6));
  if (held.token.task === "perform" && faults.strikes("report deferred"))
    return { acts: chance.happens(0.75), outcome: { kind: "deferred" } };
  if (faults.strikes("report transient"))
    return { acts: false, outcome: randomFailure(session, held, "transient") };
  if (faults.strikes("report permanent"))
    return { acts: false, outcome: randomFailure(session, held, "permanent") };
  if (faults.strikes("report unknown")) return { acts: chance.happens(0.5), outcome: UNKNOWN };
  return { acts: true, outcome: { kind: "success", output } };
}

/**
 * A verify that goes well reports what the remote service knows when it is asked; a task that it
 * has refused meanwhile has failed.
 */
function foundOut({ world }: Session, { task, token }: Held, intended: Reported): Reported {
  if (intended.kind !== "success" || token.task === "compensate") return intended;
  if (token.task === "verify") return world.remote.hasEffect(task.effectKey) ? intended : NOT_THERE;
  return world.remote.hasEffect(task.idempotencyKey) ? intended : REFUSED;
}

const REFUSED = Object.freeze({
  ...({ kind: "failure", class: "transient", code: "odd", retryAfterMs: null } as const),
  message: "the remote service has refused it",
  noEffect: false,
});

const NOT_THERE = Object.freeze({
  ...({ kind: "failure", class: "permanent", code: "not-there", retryAfterMs: null } as const),
  message: "there is nothing under its key",
  noEffect: true,
});

const UNKNOWN = Object.freeze({ kind: "unknown", code: "", message: "no idea" } as const);

function again(afterMs: number, acts: boolean): Intent {
  return { acts, outcome: { kind: "again", afterMs } };
}

function specialIntent(session: Session, held: Held): Intent | null {
  const { chance } = session.process;
  if (held.token.task === "verify") return null;
  if (isHard(held, session, FAILING_TASK) && chance.happens(0.8))
    return { acts: false, outcome: randomFailure(session, held, "permanent") };
  if (isHard(held, session, VAGUE_TASK) && chance.happens(0.75))
    return { acts: chance.happens(0.5), outcome: UNKNOWN };
  if (isHard(held, session, LEFT_TASK)) return { acts: true, outcome: UNKNOWN };
  if (isHard(held, session, UNKNOWN_OUTCOME_TASK) && chance.happens(0.5))
    return { acts: false, outcome: UNKNOWN };
  if (isHard(held, session, VAGUE_UNDO_TASK) && chance.happens(0.75))
    return { acts: chance.happens(0.25), outcome: UNKNOWN };
  if (isHard(held, session, LATER_TASK) && chance.happens(0.7))
    return { acts: chance.happens(0.6), outcome: { kind: "deferred" } };
  if (SILENT_TASKS.includes(held.task.task) && !session.world.faults.calm && chance.happens(0.4))
    return { acts: chance.happens(0.5), outcome: UNKNOWN };
  return null;
}

export function randomFailure(
  session: Session,
  held: Held,
  failureClass: "transient" | "permanent",
): Reported {
  const { chance } = session.process;
  const code = failureClass === "permanent" ? "broken" : chance.pick(CODES);
  return {
    kind: "failure",
    class: failureClass,
    code,
    message: `it reported ${code}`,
    retryAfterMs: chance.happens(0.15) ? chance.between(1, 1_500) : null,
    noEffect: chance.happens(0.5) && hasNoEffect(session, held),
  };
}

/** The lease is over by its own clock: the agent stops, and may report so nevertheless. */
async function late(session: Session, held: Held): Promise<void> {
  const { world, process } = session;
  held.over = true;
  session.held.delete(held);
  if (!world.faults.strikes("report late")) return;
  await process.clock.sleep(process.chance.between(0, 2_500));
  await reportAgain(session, held, lateOutcome(session, held));
}

/** The outcome that the agent reports after it has checked again. */
export function lateOutcome(session: Session, held: Held): Reported {
  const { world, process } = session;
  const { task, token } = held;
  if (token.task === "verify")
    return world.remote.hasEffect(task.effectKey) ? { kind: "success", output: null } : NOT_THERE;
  const isDone =
    token.task === "perform"
      ? world.remote.hasEffect(task.idempotencyKey)
      : !world.remote.hasEffect(task.effectKey);
  if (isDone) return { kind: "success", output: null };
  return randomFailure(session, held, process.chance.happens(0.4) ? "permanent" : "transient");
}

/** It works or not, is silent until its lease has ended, and then reports what it did. */
async function fallSilent(session: Session, held: Held): Promise<void> {
  const { world, process } = session;
  const { clock, chance } = process;
  if (chance.happens(held.task.task === LOST_UNDO_TASK ? 0.1 : 0.5)) act(session, held);
  world.faults.count("agent stopped heartbeats");
  world.silentRuns.push(held.token.runId);
  if (held.task.task === LOST_UNDO_TASK) world.silentUndos.push(held.token.runId);
  session.silentUntilMs = clock.monotonicMs() + 2_600;
  await clock.sleep(chance.between(2_050, chance.happens(0.45) ? 8_000 : 3_300));
  held.over = true;
  session.held.delete(held);
  world.faults.count("report late");
  await reportAgain(session, held, lateOutcome(session, held));
}

/** True if the agent got no further: it crashed, or fell silent for longer than its lease. */
async function poisoned(session: Session, held: Held): Promise<boolean> {
  const { world, process } = session;
  const { clock, chance } = process;
  await clock.sleep(chance.between(1, 30));
  if (chance.happens(0.25)) {
    world.faults.count("agent crashed");
    world.recorder.fault({ kind: "process", did: "crash" }, process.name, false);
    process.crash();
    // No work of a dead process continues.
    return new Promise(() => undefined);
  }
  world.faults.count("agent stopped heartbeats");
  if (chance.happens(0.2)) act(session, held);
  session.silentUntilMs = clock.monotonicMs() + 3_500;
  await clock.sleep(chance.between(3_000, 4_500));
  held.over = true;
  session.held.delete(held);
  if (world.faults.calm || chance.happens(0.2)) return true;
  world.faults.count("report late");
  await reportAgain(session, held, lateOutcome(session, held));
  return true;
}
