/**
 * Whatever happens to a run, the store gives back the very view that the rules have made, after
 * each act, and at the end the very history. Passes load as little as a server would. All from
 * one seed.
 */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { test } from "vitest";
import type { Outcome } from "../../server/core/model/attempt.ts";
import type { RunEvent } from "../../server/core/model/event.ts";
import type { AnswerKind } from "../../server/core/model/history.ts";
import { movingSide, type Step } from "../../server/core/model/model.ts";
import type { EngineStore, Granted } from "../../server/store/store.ts";
import { beginnings, definitions } from "../property/random-run.ts";
import { hex, json, type Opened, permanent, report, silence, success } from "./fixture.ts";
import {
  claimStep,
  expectHistory,
  expectMirrored,
  type Life,
  leasesOf,
  passOver,
  sendHeartbeats,
  startLife,
} from "./random-life.ts";

const SEED = 20_260_102;
const ACTS_MAX = 40;
const SESSIONS = [hex(16), hex(16), hex(16)];

type Act =
  | { readonly kind: "claim"; readonly pick: number; readonly session: number }
  | { readonly kind: "try"; readonly pick: number; readonly outcome: Outcome }
  | { readonly kind: "lose"; readonly pick: number; readonly times: number }
  | { readonly kind: "heartbeat"; readonly session: number }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "pass"; readonly inputs: readonly Input[]; readonly draw: number };

type Input =
  | { readonly kind: "report"; readonly pick: number; readonly outcome: Outcome; held: boolean }
  | { readonly kind: "undelivered" | "forgotten"; readonly pick: number }
  | { readonly kind: "timer"; readonly pick: number; readonly polled: boolean }
  | { readonly kind: "run-timer" }
  | { readonly kind: "cancel"; readonly undo: boolean }
  | { readonly kind: "pause" | "resume" }
  | { readonly kind: "callback"; readonly pick: number; readonly works: boolean }
  | { readonly kind: "signal"; readonly pick: number; readonly id: number }
  | { readonly kind: "decide"; readonly pick: number; readonly approved: boolean }
  | { readonly kind: "answer"; readonly pick: number; readonly answer: AnswerKind };

const busy: Outcome = {
  kind: "failure",
  class: "transient",
  code: "busy",
  message: "try later",
  retryAfterMs: 3_000,
  noEffect: false,
};
const bytes: Outcome = {
  kind: "success",
  output: { kind: "data", contentType: "x/y", data: Uint8Array.of(1, 0, 255) },
};
const outcomes = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Outcome>(success, bytes) },
  { weight: 3, arbitrary: fc.constantFrom<Outcome>(busy, permanent) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Outcome>(
      { kind: "unknown", code: "drover.unknown", message: "the outcome is unknown" },
      { kind: "released" },
      { kind: "cancelled", noEffect: true },
      { kind: "cancelled", noEffect: false },
      { kind: "again", afterMs: 2_000 },
      { kind: "deferred" },
    ),
  },
);

const pick = fc.nat({ max: 30 });
const session = fc.nat({ max: SESSIONS.length - 1 });

const anyInput: fc.Arbitrary<Input> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("report" as const),
      pick,
      outcome: outcomes,
      held: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, fc.constant(false)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("undelivered" as const, "forgotten"), pick }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("timer" as const), pick, polled: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("run-timer" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("cancel" as const), undo: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("pause" as const, "resume" as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("callback" as const), pick, works: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("signal" as const), pick, id: fc.nat({ max: 5 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("decide" as const), pick, approved: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("answer" as const),
      pick,
      answer: fc.constantFrom<AnswerKind>(
        ...(["retry", "retry-changed", "succeed", "skip"] as const),
        ...(["compensate", "fail", "acknowledge"] as const),
      ),
    }),
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
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("heartbeat" as const), session }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(100, 2_000, 31_000, 400_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      inputs: fc.array(anyInput, { minLength: 1, maxLength: 3 }),
      draw: fc.constantFrom(0, 0.5, 0.999),
    }),
  },
);

const lives = fc.array(act, { maxLength: ACTS_MAX, size: "max" });

export type AfterLife<S> = (store: S, namespaceId: number) => Promise<void>;

/** `afterEach`: what a store has to show beside, after each life in its namespace. */
export function describeRandomRuns<S extends EngineStore>(
  opened: Opened<S>,
  count: number,
  afterEach: AfterLife<S> = async () => undefined,
): void {
  test("the store shows the view of the rules after each act of any life, and its history", async () => {
    await fc.assert(
      fc.asyncProperty(definitions, beginnings, lives, async (definition, begins, acts) => {
        const life = await startLife(opened().store, definition, begins);
        for (const next of acts) {
          await perform(life, next);
          await expectMirrored(life);
        }
        await expectHistory(life);
        await afterEach(opened().store, life.scheduled.namespaceId);
      }),
      { seed: SEED, numRuns: count },
    );
  });
}

async function perform(life: Life, next: Act): Promise<void> {
  switch (next.kind) {
    case "claim": {
      await claimAny(life, next.pick, next.session);
      return;
    }
    case "try": {
      const held = await claimAny(life, next.pick, 0);
      if (held) await passOver(life, [report(held, next.outcome)], 0.5);
      return;
    }
    case "lose":
      for (let time = 0; time < next.times; time++) await lose(life, next.pick + time);
      return;
    case "heartbeat":
      return sendHeartbeats(life, sessionOf(life, next.session));
    case "wait":
      life.aheadMs += next.ms;
      return;
    case "pass": {
      const events = next.inputs.flatMap((one) => eventOf(life, one) ?? []);
      if (events.length > 0) await passOver(life, events, next.draw);
    }
  }
}

/** A session belongs to one namespace, and each life has its own. */
function sessionOf({ scheduled: { namespaceId } }: Life, no: number): string {
  return `${namespaceId.toString(16).padStart(8, "0")}${SESSIONS[no]?.slice(8)}`;
}

/** A task that was ready, or else one that is out. */
async function claimAny(life: Life, which: number, sessionNo: number): Promise<Granted | null> {
  const ready = [...life.steps.values()].filter((step) => movingSide(step)?.state.kind === "READY");
  const step = pickOf(ready, which);
  const claimed = step ? await claimStep(life, step, sessionOf(life, sessionNo)) : null;
  return claimed ?? pickOf(heldIn(life), which) ?? null;
}

function heldIn(life: Life): readonly Granted[] {
  const out = new Set(leasesOf(life).map(({ lease }) => lease.secret));
  return life.handedOut.filter(({ secret }) => out.has(secret));
}

/** An agent falls silent with a task, and the supervisor finds it. */
async function lose(life: Life, which: number): Promise<void> {
  const held = await claimAny(life, which, which % SESSIONS.length);
  if (!held) return;
  life.aheadMs += 31_000;
  await passOver(life, [silence(held)], 0.5);
}

function eventOf(life: Life, one: Input): RunEvent | null {
  switch (one.kind) {
    case "report": {
      const granted = pickOf(one.held ? heldIn(life) : life.handedOut, one.pick);
      return granted ? report(granted, one.outcome) : null;
    }
    case "undelivered":
    case "forgotten": {
      const found = pickOf(leasesOf(life), one.pick);
      if (!found) return null;
      const { fence, secret } = found.lease;
      return { kind: one.kind, step: found.step.no, fence, secret };
    }
    case "timer":
      return timerEventOf(pickOf([...life.steps.values()], one.pick), one.polled);
    case "run-timer":
      return { kind: "run-timer" };
    case "cancel":
      return { kind: "cancel", undo: one.undo, note: "enough" };
    case "pause":
    case "resume":
      return { kind: one.kind, note: "for now" };
    default:
      return outsideEventOf(life, one);
  }
}

/** An event from outside: it may be about nothing that is there. */
function outsideEventOf(
  life: Life,
  one: Extract<Input, { kind: "callback" | "signal" | "decide" | "answer" }>,
): RunEvent | null {
  const { steps } = life.scheduled.plan;
  switch (one.kind) {
    case "callback": {
      const granted = pickOf(life.handedOut, one.pick);
      return granted ? callbackOf(granted, one.works ? success : busy) : null;
    }
    case "signal": {
      const names = steps.flatMap(({ work }) => (work.kind === "signal" ? [work.name] : []));
      const name = pickOf([...names, "unheard"], one.pick) ?? "unheard";
      return { kind: "signal", id: `signal ${one.id}`, name, payload: json(`${one.pick}`) };
    }
    case "decide": {
      const asked = pickOf(
        steps.flatMap(({ no, work }) => (work.kind === "approval" ? [{ no, work }] : [])),
        one.pick,
      );
      if (!asked) return null;
      const approver = pickOf([...asked.work.approvers, "anna", "zoe"], one.pick) ?? "anna";
      const given = { roles: [approver], comment: "seen", form: json("{}"), requester: "zoe" };
      return { kind: "decide", step: asked.no, approver, approved: one.approved, ...given };
    }
    case "answer": {
      const n = 1 + (one.pick % Math.max(1, life.escalations.size));
      const given = { by: "Maria", why: "I checked", payload: json('{"by":"hand"}') };
      return { kind: "answer", n, answer: one.answer, ...given };
    }
  }
}

function callbackOf({ ready, secret }: Granted, outcome: Outcome): RunEvent | null {
  if (outcome.kind !== "success" && outcome.kind !== "failure") return null;
  const secretDigest = createHash("sha256").update(Buffer.from(secret, "hex")).digest("hex");
  const { step, fence } = ready;
  return { kind: "callback", step, fence, secretDigest, secret, outcome, digest: hex(32) };
}

function timerEventOf(step: Step | undefined, polled: boolean): RunEvent | null {
  const moving = step && movingSide(step)?.state;
  if (!moving) return null;
  const { no } = step;
  switch (moving.kind) {
    case "HELD":
      return null;
    case "BACKOFF":
      return { kind: "due-timer", step: no, on: "backoff" };
    case "WAITING":
      return { kind: "due-timer", step: no, on: moving.on };
    case "READY":
      return { kind: "ready-timer", step: no, fence: moving.fence, polled };
    case "LEASED": {
      const { fence } = moving;
      return { kind: "lease-timer", step: no, fence, lastHeartbeatAt: null, watchingSince: 0 };
    }
  }
}

function pickOf<T>(among: readonly T[], which: number): T | undefined {
  return among[which % Math.max(1, among.length)];
}
