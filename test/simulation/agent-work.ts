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
  const intent = intentOf(session, held);
  if (intent.outcome.kind === "released") return report(session, held, intent.outcome);
  const halfMs = workMs(session) / 2;
  let slept = await sleepOnTask(session, held, halfMs);
  if (slept === "done" && intent.acts)
    slept = act(session, held) ? await sleepOnTask(session, held, halfMs) : "lease-over";
  switch (slept) {
    case "done":
      return report(session, held, intent.outcome);
    case "cancelled":
      return report(session, held, { kind: "cancelled", noEffect: hasNoEffect(session, held) });
    case "lease-over":
      return late(session, held);
  }
}

/** What a failure says of the remote service is true of the key, whoever acted under it. */
export function hasNoEffect({ world }: Session, { task, token }: Held): boolean {
  return token.task === "perform" && !world.remote.stands(task.idempotencyKey);
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
  if (held.told === "lost" || process.clock.monotonicMs() >= held.leaseUntilMs) return false;
  const { task, token } = held;
  if (token.task === "perform") world.remote.make(task.idempotencyKey, token);
  else world.remote.undo(task.effectKey, token);
  return true;
}

interface Intent {
  /** A failure says that the remote service refused: then nothing was done. */
  readonly acts: boolean;
  readonly outcome: ReportedOutcome;
}

function intentOf(session: Session, held: Held): Intent {
  const { faults } = session.world;
  const { chance } = session.process;
  if (faults.strikes("report released")) return { acts: false, outcome: { kind: "released" } };
  if (faults.strikes("report transient"))
    return { acts: false, outcome: randomFailure(session, held, "transient") };
  if (faults.strikes("report permanent"))
    return { acts: false, outcome: randomFailure(session, held, "permanent") };
  if (faults.strikes("report unknown")) {
    const outcome = { kind: "unknown", code: "", message: "no idea" } as const;
    return { acts: chance.happens(0.5), outcome };
  }
  const output = { kind: "json", json: '{"done":true}' } as const;
  return { acts: true, outcome: { kind: "success", output } };
}

export function randomFailure(
  session: Session,
  held: Held,
  failureClass: "transient" | "permanent",
): ReportedOutcome {
  const { chance } = session.process;
  const code = failureClass === "permanent" ? "broken" : chance.pick(CODES);
  return {
    kind: "failure",
    class: failureClass,
    code,
    message: `it said ${code}`,
    retryAfterMs: chance.happens(0.15) ? chance.between(1, 1_500) : null,
    noEffect: chance.happens(0.5) && hasNoEffect(session, held),
  };
}

/** The lease is over by its own clock: the agent stops, and may say so nevertheless. */
async function late(session: Session, held: Held): Promise<void> {
  const { world, process } = session;
  held.over = true;
  session.held.delete(held);
  if (!world.faults.strikes("report late")) return;
  await process.clock.sleep(process.chance.between(0, 2_500));
  await reportAgain(session, held, lateOutcome(session, held));
}

/** What it turned out to be, when the agent has looked again. */
export function lateOutcome(session: Session, held: Held): ReportedOutcome {
  const { world, process } = session;
  const { task, token } = held;
  const isDone =
    token.task === "perform"
      ? world.remote.stands(task.idempotencyKey)
      : !world.remote.stands(task.effectKey);
  if (isDone) return { kind: "success", output: null };
  return randomFailure(session, held, process.chance.happens(0.4) ? "permanent" : "transient");
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
    // Nothing of a dead process goes on.
    return new Promise(() => undefined);
  }
  world.faults.count("agent stopped beating");
  if (chance.happens(0.2)) act(session, held);
  session.muteUntilMs = clock.monotonicMs() + 3_500;
  await clock.sleep(chance.between(3_000, 4_500));
  held.over = true;
  session.held.delete(held);
  if (world.faults.calm || chance.happens(0.2)) return true;
  world.faults.count("report late");
  await reportAgain(session, held, lateOutcome(session, held));
  return true;
}
