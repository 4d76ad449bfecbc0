// How an agent performs a task, well or badly. It acts on the remote service only while its lease
// stands by its own clock; what it says later is true all the same.
import type { ReportedOutcome } from "../../server/rpc/convert-outcome.ts";
import type { Held, Session } from "./agent.ts";
import { report, reportAgain } from "./reports.ts";
import { POISON_TASK } from "./workload.ts";

/** An agent looks this often whether it should stop. */
const LOOK_EVERY_MS = 120;
/** Failed by chance although nothing was wrong with the agent. */
const CODES: readonly string[] = ["busy", "odd"];

export async function work(session: Session, held: Held): Promise<void> {
  const { world, process } = session;
  const { faults } = world;
  if (held.task.task === POISON_TASK && !faults.calm && (await poisoned(session, held))) return;
  if (faults.strikes("task forgotten")) {
    // It is still listed in beats, and nobody works on it.
    await process.clock.sleep(process.chance.between(500, 9_000));
    session.held.delete(held);
    return;
  }
  const before = faults.strikes("report released") ? 0 : workMs(session) / 2;
  const first = before === 0 ? "done" : await sleepOnTask(session, held, before);
  if (before === 0) return report(session, held, { kind: "released" });
  const made = first === "done" && act(session, held);
  const second = first === "done" ? await sleepOnTask(session, held, before) : first;
  switch (second) {
    case "done":
      return report(session, held, outcomeOf(session, made));
    case "cancelled":
      return report(session, held, { kind: "cancelled", noEffect: !made });
    case "lease-over":
      return late(session, held, made);
  }
}

function workMs({ world, process: { chance } }: Session): number {
  if (!world.faults.calm && chance.happens(0.12)) return chance.between(1_000, 6_000);
  return chance.between(4, 300);
}

type Slept = "done" | "cancelled" | "lease-over";

async function sleepOnTask(session: Session, held: Held, ms: number): Promise<Slept> {
  const { clock } = session.process;
  let deaf = false;
  for (let left = ms; left > 0; left -= LOOK_EVERY_MS) {
    await clock.sleep(Math.min(left, LOOK_EVERY_MS));
    if (held.told === "lost" || clock.monotonicMs() >= held.leaseUntilMs) return "lease-over";
    if (held.told === "cancel" && !deaf) {
      if (!session.world.faults.strikes("agent ignored a cancel")) return "cancelled";
      deaf = true;
    }
  }
  return "done";
}

/** Says whether the remote service now has what the task was for. */
function act({ world, process }: Session, held: Held): boolean {
  if (process.clock.monotonicMs() >= held.leaseUntilMs) return false;
  const { task, token } = held;
  if (token.task === "perform") world.remote.make(task.idempotencyKey, token);
  else world.remote.undo(task.effectKey, token);
  return true;
}

function outcomeOf({ world, process: { chance } }: Session, made: boolean): ReportedOutcome {
  const { faults } = world;
  if (!made || faults.strikes("report transient")) {
    const retryAfterMs = chance.happens(0.15) ? chance.between(1, 1_500) : null;
    return failureOf(chance.pick(CODES), "transient", retryAfterMs, made);
  }
  if (faults.strikes("report permanent")) return failureOf("broken", "permanent", null, made);
  if (faults.strikes("report unknown")) return { kind: "unknown", code: "", message: "no idea" };
  return { kind: "success", output: { kind: "json", json: '{"done":true}' } };
}

function failureOf(
  code: string,
  failureClass: "transient" | "permanent",
  retryAfterMs: number | null,
  made: boolean,
): ReportedOutcome {
  return {
    kind: "failure",
    class: failureClass,
    code,
    message: `it said ${code}`,
    retryAfterMs,
    noEffect: !made,
  };
}

/** The lease is over by its own clock: the agent stops, and may say so nevertheless. */
async function late(session: Session, held: Held, made: boolean): Promise<void> {
  const { world, process } = session;
  held.over = true;
  session.held.delete(held);
  if (!world.faults.strikes("report late")) return;
  await process.clock.sleep(process.chance.between(0, 2_500));
  await reportAgain(session, held, lateOutcome(session, made));
}

function lateOutcome({ process: { chance } }: Session, made: boolean): ReportedOutcome {
  if (made && chance.happens(0.6)) return { kind: "success", output: null };
  const failureClass = chance.happens(0.3) ? "permanent" : "transient";
  return failureOf(chance.pick(CODES), failureClass, null, made);
}

/** True if the agent got no further: it crashed, or fell silent for longer than its lease. */
async function poisoned(session: Session, held: Held): Promise<boolean> {
  const { world, process } = session;
  const { clock, chance } = process;
  if (chance.happens(0.2)) return false;
  await clock.sleep(chance.between(1, 30));
  if (chance.happens(0.4)) {
    world.faults.count("agent crashed");
    world.recorder.fault({ kind: "process", did: "crash" }, process.name, false);
    process.crash();
    // Nothing of a dead process goes on.
    return new Promise(() => undefined);
  }
  world.faults.count("agent stopped beating");
  const made = act(session, held);
  session.muteUntilMs = clock.monotonicMs() + 3_500;
  await clock.sleep(chance.between(3_000, 4_500));
  await late(session, held, made);
  return true;
}
