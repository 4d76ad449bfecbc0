/** Plays a random life (random-acts.ts) of a run, and then lets the run end. */
import type { RunEvent } from "../../server/core/model/event.ts";
import type { OpenEscalation } from "../../server/core/model/history.ts";
import type { ChildEnded } from "../../server/core/model/message.ts";
import { type End, isEnded, movingSide, type Step } from "../../server/core/model/model.ts";
import type { Payload } from "../../server/core/model/payload.ts";
import type { TypicalDuration } from "../../server/core/model/typical-duration.ts";
import { deferred, success } from "../support/core-outcomes.ts";
import type { Held } from "../support/core-rows.ts";
import type { World } from "../support/core-world.ts";
import { type Act, type Input, SESSIONS } from "./random-acts.ts";
import { STEPS_MAX } from "./random-run.ts";

const SUSPECT: TypicalDuration = { samples: 30, p99Ms: 200, slowAfterMs: 300 };

export function live(world: World, acts: readonly Act[]): void {
  for (const next of acts) perform(world, next);
}

function retryWhilePaused(world: World): void {
  const asked = world.escalations().filter(({ closedBy }) => closedBy === null);
  if (asked.length > 0) world.pause();
  for (const { n } of asked) world.answer(n, "retry");
}

function perform(world: World, next: Act): void {
  switch (next.kind) {
    case "claim":
      claimAny(world, next.pick, next.session);
      return;
    case "try": {
      const held = claimAny(world, next.pick, 0) ?? pickOf(leased(world), next.pick);
      if (held) world.report(held, next.outcome);
      return;
    }
    case "lose":
      lose(world, next.pick, next.times);
      if (next.retries) retryWhilePaused(world);
      return;
    case "late": {
      const held = lose(world, next.pick, next.times);
      if (next.pauses) world.pause();
      if (held) world.report(held, next.outcome);
      return;
    }
    case "defer":
      defer(world, next);
      return;
    case "overrun":
      overrun(world, next);
      return;
    case "cancel":
      world.cancel(next.undo);
      if (next.outcome) for (const held of leased(world)) world.report(held, next.outcome);
      if (next.givesUp) world.cancel(false);
      return;
    case "heartbeat":
      world.heartbeat(`s${next.session}`);
      return;
    case "wait":
      world.advance(next.ms);
      return;
    case "next-timer": {
      const due = world.nextTimer();
      if (!due) return;
      world.advance(Math.max(0, due.at - world.now()) + next.lateMs);
      if (due.step === null) world.fireRun();
      else world.fire(due.step, { polled: next.polled });
      return;
    }
    case "pass": {
      const events = next.inputs.flatMap((one) => eventOf(world, one) ?? []);
      if (events.length > 0) world.pass(events, next.draw);
    }
  }
}

/**
 * Agents fall silent, one after the other, with a task: each of its leases ends as lost. Returns
 * the last of them.
 */
function lose(world: World, which: number, times: number): Held | undefined {
  let held = claimAny(world, which, which) ?? pickOf(leased(world), which);
  let last = held;
  for (let time = 1; held; time++) {
    world.advance(31_000);
    world.fire(held.step);
    last = held;
    held = time < times ? world.tryClaim(held.step, `s${(which + time) % SESSIONS}`) : undefined;
  }
  return last;
}

function defer(world: World, { pick: which, pauses, called }: Extract<Act, { kind: "defer" }>) {
  const held = claimAny(world, which, 0) ?? pickOf(leased(world), which);
  if (!held) return;
  world.report(held, deferred);
  if (pauses) world.pause();
  if (called && held.task === "perform") world.callback(held, called);
  const { forward } = world.step(held.step);
  if (called || forward.kind !== "WAITING") return;
  world.advance(Math.max(0, forward.wakeAt - world.now()));
  world.fire(held.step);
}

/** An agent sends heartbeats past its time; though it knows that it should stop, it does not. */
function overrun(
  world: World,
  { pick: which, heartbeats, outcome }: Extract<Act, { kind: "overrun" }>,
): void {
  const held = claimAny(world, which, 1) ?? pickOf(leased(world), which);
  const lease = held ? leaseOf(world, held.step) : null;
  if (!held || !lease) return;
  // Others of its step take far less: it is suspect before its time is over.
  world.advance(Math.max(0, Math.min(SUSPECT.slowAfterMs, lease.attemptBy - world.now() - 1)));
  world.heartbeat(held.session);
  world.fire(held.step, { typical: SUSPECT });
  if (!leaseOf(world, held.step)) return;
  world.advance(Math.max(0, lease.attemptBy - world.now()));
  world.heartbeat(held.session);
  world.fire(held.step);
  if (heartbeats) world.heartbeat(held.session);
  world.advance(heartbeats ? lease.cancelMs : lease.heartbeatMs);
  // No server could have received its heartbeat until now: it is checked again.
  if (!heartbeats && leaseOf(world, held.step))
    world.fire(held.step, { watchingSince: world.now() - 1 });
  if (leaseOf(world, held.step)) world.fire(held.step);
  if (outcome) world.report(held, outcome);
}

function claimAny(world: World, which: number, sessionNo: number): Held | undefined {
  const ready = world.steps().filter((step) => movingSide(step)?.state.kind === "READY");
  const step = pickOf(ready, which);
  return step ? world.tryClaim(step.no, `s${sessionNo % SESSIONS}`) : undefined;
}

function eventOf(world: World, one: Input): RunEvent | null {
  switch (one.kind) {
    case "report": {
      const among = { anything: world.handedOut, current: leased(world), open: open(world) }[
        one.of
      ];
      const held = pickOf(among, one.pick);
      return held ? world.reportOf(disguise(held, one.token), one.outcome) : null;
    }
    case "undelivered":
    case "forgotten": {
      const held = pickOf(leased(world), one.pick);
      if (!held) return null;
      const { step, fence, secret } = held;
      return { kind: one.kind, step, fence, secret };
    }
    case "timer": {
      const step = pickOf(world.steps(), one.pick);
      if (!step) return null;
      const watchingSince = one.gapMs === 0 ? 0 : world.now() - one.gapMs;
      return world.timerEventOf(step.no, { polled: one.polled, watchingSince, typical: SUSPECT });
    }
    case "callback": {
      const held = pickOf(one.of === "open" ? open(world) : world.handedOut, one.pick);
      return held?.task === "perform" ? world.callbackOf(held, one.outcome) : null;
    }
    case "signal":
      return { kind: "signal", id: `${one.id}`, name: one.name, payload: null };
    case "decide": {
      const waits = world.steps().filter((step) => step.forward.kind === "WAITING");
      const step = pickOf(waits, one.pick) ?? pickOf(world.steps(), one.pick);
      if (!step) return null;
      const { approver, approved } = one;
      const about = { step: step.no, roles: [], comment: "", form: null, requester: null };
      return { kind: "decide", approver, approved, ...about };
    }
    case "answer": {
      const asked = pickOf(questions(world, one.pick % 4 === 0), one.pick);
      if (!asked) return null;
      const payload: Payload = { kind: "json", json: "{}" };
      return { kind: "answer", n: asked.n, answer: one.answer, by: "ada", why: "", payload };
    }
    case "pause":
      return { kind: "pause", note: "" };
    case "resume":
      return { kind: "resume", note: "" };
    case "message":
      return world.messagesEvent(one.message);
    case "child": {
      const step = pickOf(withChildren(world), one.pick);
      return step ? world.messagesEvent(childEnded(step, one.end, one.output)) : null;
    }
    case "run-timer":
      return { kind: "run-timer" };
    case "cancel":
      return { kind: "cancel", undo: one.undo, note: "" };
  }
}

function withChildren(world: World): readonly Step[] {
  return world
    .steps()
    .filter(({ forward }) => forward.kind === "WAITING" && forward.on.startsWith("child"));
}

function childEnded({ no: step, fence }: Step, end: End | null, json = "{}"): ChildEnded {
  const output = end?.kind === "COMPLETED" ? ({ kind: "json", json } as const) : null;
  const child = { runId: `child ${fence}`, end, createdAt: null, output, why: "" };
  return { kind: "child-ended", step, fence, child };
}

function questions(world: World, answeredToo: boolean): readonly OpenEscalation[] {
  return world.escalations().filter(({ closedBy }) => answeredToo || closedBy === null);
}

function disguise(held: Held, token: Extract<Input, { kind: "report" }>["token"]): Held {
  switch (token) {
    case "right":
      return held;
    case "wrong-secret":
      return { ...held, secret: "guessed" };
    case "other-fence":
      return { ...held, fence: held.fence + 7 };
    case "other-step":
      return { ...held, step: held.step + STEPS_MAX };
    case "other-task":
      return { ...held, task: held.task === "perform" ? "compensate" : "perform" };
  }
}

function leaseOf(world: World, no: number) {
  const moving = movingSide(world.step(no))?.state;
  return moving?.kind === "LEASED" ? moving : null;
}

function leased(world: World): readonly Held[] {
  return world.handedOut.filter((held) => leaseOf(world, held.step)?.secret === held.secret);
}

/** Tasks that ended with an unknown outcome, and were not handed out again. */
function open(world: World): readonly Held[] {
  return world.handedOut.filter((held) => {
    const step = world.step(held.step);
    return step.fence === held.fence && leaseOf(world, held.step) === null;
  });
}

function pickOf<T>(among: readonly T[], which: number): T | undefined {
  return among[which % Math.max(1, among.length)];
}

/**
 * From here on agents do their work and every timer fires in time: the run must come to its end,
 * or wait for a person. Returns how many events it took.
 */
export function heal(world: World, eventsMax: number): number {
  let events = 0;
  const count = (): void => {
    events++;
    if (events > eventsMax) throw new Error(`not ended after ${events} events`);
  };
  for (;;) {
    const { state } = world.run();
    if (isEnded(state) || state.kind === "ESCALATED") return events;
    if (state.kind === "PAUSED") {
      world.resume();
      continue;
    }
    if (state.kind === "PENDING" && state.on === "permit") {
      world.pass([world.messagesEvent({ kind: "permit" })]);
      continue;
    }
    const [parent] = withChildren(world);
    if (parent) {
      count();
      world.pass([world.messagesEvent(childEnded(parent, { kind: "COMPLETED", reason: "DONE" }))]);
      continue;
    }
    const ready = world.steps().find((step) => movingSide(step)?.state.kind === "READY");
    // A session of its own for each task: none waits for another agent.
    const held = ready && world.tryClaim(ready.no, `healer ${events}`);
    count();
    if (held) world.report(held, success());
    else world.fireNext({ polled: false });
  }
}
