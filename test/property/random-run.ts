/**
 * Random workflows and random lives of their runs, as data that fast-check can shrink.
 *
 * A life is a list of acts of agents, of the supervisor and of people. An act that has nothing to
 * act on does nothing. Numbers named `pick` choose among what there is, modulo its count.
 */
import fc from "fast-check";
import type {
  CompensateDefinition,
  Definition,
  RetryPolicy,
  StepDefinition,
} from "../../server/core/definition.ts";
import type { RunEvent } from "../../server/core/event.ts";
import { isEnded, movingSide } from "../../server/core/model.ts";
import {
  cancelled,
  failure,
  type Held,
  type ReportedOutcome,
  released,
  success,
  unknown,
  type World,
} from "../support/core-world.ts";

export type Act =
  | { readonly kind: "claim"; readonly pick: number; readonly session: number }
  | { readonly kind: "try"; readonly pick: number; readonly outcome: ReportedOutcome }
  | { readonly kind: "lose"; readonly pick: number; readonly times: number }
  | { readonly kind: "overrun"; readonly pick: number; readonly hears: boolean }
  | { readonly kind: "beat"; readonly session: number }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "next-moment"; readonly lateMs: number; readonly polled: boolean }
  | { readonly kind: "pass"; readonly says: readonly Said[]; readonly draw: number };

/** An event of a pass, before it is known which task or step it is about. */
export type Said =
  | {
      readonly kind: "report";
      readonly of: "anything" | "current" | "open";
      readonly pick: number;
      readonly outcome: ReportedOutcome;
      readonly token: "right" | "wrong-secret" | "other-fence" | "other-step" | "other-task";
    }
  | { readonly kind: "undelivered"; readonly pick: number }
  | {
      readonly kind: "moment";
      readonly pick: number;
      readonly polled: boolean;
      readonly gapMs: number;
    }
  | { readonly kind: "run-moment" }
  | { readonly kind: "cancel"; readonly undo: boolean };

const STEPS_MAX = 12;
const SESSIONS = 3;

const policies: fc.Arbitrary<readonly Partial<RetryPolicy>[]> = fc.constantFrom(
  [{ attempts: 1 }],
  [{ attempts: 2, initialMs: 500 }],
  [{ on: ["busy"], attempts: 3, initialMs: 100 }, { attempts: 2 }],
  [
    { on: ["busy"], attempts: 3 },
    { on: ["drover.timeout", "drover.unknown"], attempts: 4 },
  ],
  [{ attempts: 6, maxMs: 3_000 }],
  [],
);

const timeouts = fc.constantFrom(
  {},
  { heartbeatMs: 2_000, attemptMs: 5_000 },
  { heartbeatMs: 4_000, attemptMs: 3_000, totalMs: 8_000, pickupMs: 1_000 },
  { totalMs: 400, pickupMs: 1_000 },
);

const compensate: fc.Arbitrary<CompensateDefinition> = fc.record(
  { task: fc.constant("undo"), retry: policies, timeouts },
  { requiredKeys: ["task"] },
);

function stepAt(no: number): fc.Arbitrary<StepDefinition> {
  const earlier = Array.from({ length: no }, (_, index) => `s${index}`);
  return fc.record(
    {
      id: fc.constant(`s${no}`),
      task: fc.constant("work"),
      needs: fc.subarray(earlier, { maxLength: Math.min(3, no) }),
      retry: policies,
      timeouts,
      compensate,
      onFailure: fc.constantFrom("compensate" as const, "fail" as const),
    },
    { requiredKeys: ["id", "task", "needs"] },
  );
}

export const definitions: fc.Arbitrary<Definition> = fc
  .integer({ min: 1, max: STEPS_MAX })
  .chain((count) =>
    fc.record(
      {
        workflow: fc.constant("random"),
        timeoutMs: fc.constantFrom(20_000, 3_600_000),
        steps: fc.tuple(...Array.from({ length: count }, (_, no) => stepAt(no))),
      },
      { requiredKeys: ["workflow", "steps"] },
    ),
  );

const outcomes: fc.Arbitrary<ReportedOutcome> = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(success(), success('"other"')) },
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      failure("busy"),
      failure("busy", { retryAfterMs: 3_000, noEffect: true }),
      failure("odd"),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      failure("broken", { permanent: true }),
      failure("broken", { permanent: true, noEffect: true }),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(unknown(), released, cancelled(), cancelled({ noEffect: true })),
  },
);

const pick = fc.nat({ max: 30 });
const session = fc.nat({ max: SESSIONS - 1 });

const said: fc.Arbitrary<Said> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("report" as const),
      of: fc.constantFrom("anything" as const, "current" as const, "open" as const),
      pick,
      outcome: outcomes,
      token: fc.oneof(
        { weight: 8, arbitrary: fc.constant("right" as const) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            "wrong-secret" as const,
            "other-fence" as const,
            "other-step" as const,
            "other-task" as const,
          ),
        },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("undelivered" as const), pick }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("moment" as const),
      pick,
      polled: fc.boolean(),
      gapMs: fc.constantFrom(0, 0, 1_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("run-moment" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("cancel" as const), undo: fc.boolean() }),
  },
);

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("claim" as const), pick, session }) },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("try" as const), pick, outcome: outcomes }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("lose" as const),
      pick,
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("overrun" as const), pick, hears: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("beat" as const), session }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1, 100, 1_500, 2_000, 30_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("next-moment" as const),
      lateMs: fc.constantFrom(0, 0, 1_000, 60_000),
      polled: fc.boolean(),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      says: fc.array(said, { minLength: 1, maxLength: 4 }),
      draw: fc.constantFrom(0, 0.5, 0.999),
    }),
  },
);

export const lives: fc.Arbitrary<readonly Act[]> = fc.array(act, { maxLength: 45, size: "max" });

export function live(world: World, acts: readonly Act[]): void {
  for (const next of acts) perform(world, next);
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
      return;
    case "overrun":
      overrun(world, next.pick, next.hears);
      return;
    case "beat":
      world.beat(`s${next.session}`);
      return;
    case "wait":
      world.advance(next.ms);
      return;
    case "next-moment": {
      const due = world.nextMoment();
      if (!due) return;
      world.advance(Math.max(0, due.at - world.now()) + next.lateMs);
      if (due.step === null) world.fireRun();
      else world.fire(due.step, { polled: next.polled });
      return;
    }
    case "pass": {
      const events = next.says.flatMap((one) => eventOf(world, one) ?? []);
      if (events.length > 0) world.pass(events, next.draw);
    }
  }
}

/** Agents fall silent, one after the other, with a task: each of its leases ends as lost. */
function lose(world: World, which: number, times: number): void {
  let held = claimAny(world, which, which) ?? pickOf(leased(world), which);
  for (let time = 1; held; time++) {
    world.advance(31_000);
    world.fire(held.step);
    held = time < times ? world.tryClaim(held.step, `s${(which + time) % SESSIONS}`) : undefined;
  }
}

/** An agent keeps beating past its time; having heard that it should stop, it does not. */
function overrun(world: World, which: number, hears: boolean): void {
  const held = claimAny(world, which, 1) ?? pickOf(leased(world), which);
  if (!held) return;
  const lease = leaseOf(world, held.step);
  if (!lease) return;
  world.advance(Math.max(0, lease.attemptBy - world.now()));
  world.beat(held.session);
  world.fire(held.step);
  if (hears) world.beat(held.session);
  world.advance(hears ? lease.cancelMs : lease.heartbeatMs);
  if (leaseOf(world, held.step)) world.fire(held.step);
}

function claimAny(world: World, which: number, sessionNo: number): Held | undefined {
  const ready = world.steps().filter((step) => movingSide(step)?.state.kind === "READY");
  const step = pickOf(ready, which);
  return step ? world.tryClaim(step.no, `s${sessionNo % SESSIONS}`) : undefined;
}

function eventOf(world: World, one: Said): RunEvent | null {
  switch (one.kind) {
    case "report": {
      const among = { anything: world.handedOut, current: leased(world), open: open(world) }[
        one.of
      ];
      const held = pickOf(among, one.pick);
      return held ? world.reportOf(disguise(held, one.token), one.outcome) : null;
    }
    case "undelivered": {
      const held = pickOf(leased(world), one.pick);
      if (!held) return null;
      const { step, fence, secret } = held;
      return { kind: "undelivered", step, fence, secret };
    }
    case "moment": {
      const step = pickOf(world.steps(), one.pick);
      if (!step) return null;
      const watchingSince = one.gapMs === 0 ? 0 : world.now() - one.gapMs;
      return world.momentOf(step.no, { polled: one.polled, watchingSince });
    }
    case "run-moment":
      return { kind: "run-moment" };
    case "cancel":
      return { kind: "cancel", undo: one.undo, note: "" };
  }
}

function disguise(held: Held, token: Extract<Said, { kind: "report" }>["token"]): Held {
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

/** Tasks that ended, though nobody knows how, and were not handed out again. */
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
 * From here on agents do their work and every moment fires in time: the run must come to its end,
 * or wait for a person. Tells how many events it took.
 */
export function heal(world: World, eventsMax: number): number {
  let events = 0;
  const count = (): void => {
    events++;
    if (events > eventsMax) throw new Error(`not at rest after ${events} events`);
  };
  for (;;) {
    const { state } = world.run();
    if (isEnded(state) || state.kind === "ESCALATED") return events;
    const ready = world.steps().find((step) => movingSide(step)?.state.kind === "READY");
    // A session of its own for each task: none is kept waiting for another agent.
    const held = ready && world.tryClaim(ready.no, `healer ${events}`);
    count();
    if (held) world.report(held, success());
    else world.fireNext({ polled: false });
  }
}
