/** Every event is played to a run in every state: what is answered, and where it leads. */
import { describe, expect, test } from "vitest";
import {
  EVENT_TABLE,
  type EventState,
  eventStateOf,
  type TableEvent,
} from "../../../server/core/events/event-table.ts";
import type { RunEvent } from "../../../server/core/model/event.ts";
import { movingSide } from "../../../server/core/model/model.ts";
import {
  again,
  broken,
  calledBack,
  deferred,
  failure,
  success,
  unknown,
} from "../../support/core-outcomes.ts";
import type { Held } from "../../support/core-rows.ts";
import {
  createWorld,
  lastQuestion,
  lose,
  poison,
  START,
  type StepOptions,
  succeed,
  type World,
  workflow,
} from "../../support/core-world.ts";

/** A run in a state, with what events may be about. */
interface Played {
  readonly world: World;
  /** A task that its agent may still report, where one can be. */
  readonly held: Held;
  /** A perform task that may be called back, where one can be. */
  readonly called?: Held;
  /** Its steps `leased`, `ready` and `due` have a row of that kind. */
  readonly moves?: true;
}

const compensate = { task: "undo" };
const approval: StepOptions = { kind: "approval", approvers: [] };
const signal = { kind: "signal", name: "go" } as const;
const once: StepOptions = { effects: "once" };

/** Steps of every kind, each in a state of its own; the first can be undone. */
function busy(more: { timeoutMs?: number } = {}): Played {
  const world = createWorld(
    workflow(
      {
        done: { compensate },
        leased: {},
        deferred: {},
        due: {},
        ready: {},
        signal,
        approval: { kind: "approval", approvers: [], need: 2 },
        asked: { onFailure: "escalate" },
        last: { needs: ["leased"] },
      },
      more,
    ),
  );
  succeed(world, "done");
  const held = world.claim("leased");
  const called = world.claim("deferred");
  world.report(called, deferred);
  world.report(world.claim("due"), failure("busy"));
  world.report(world.claim("asked"), broken);
  return { world, held, called, moves: true };
}

function paused(): Played {
  const played = busy();
  played.world.pause();
  return played;
}

/**
 * The run is to stop: two tasks are leased, one verify is ready and one settles, and a person
 * is asked.
 */
function stopping(): Played {
  const verifiable = { effects: "verifiable", verify: { task: "find" }, compensate } as const;
  const world = createWorld(
    workflow({
      done: { compensate },
      leased: {},
      other: {},
      ready: verifiable,
      due: verifiable,
      asked: once,
      approval,
      signal,
    }),
  );
  succeed(world, "done");
  lose(world, "due", "s9");
  const held = world.claim("leased");
  const called = world.claim("other");
  world.report(world.claim("ready"), unknown());
  world.report(world.claim("asked"), unknown());
  world.cancel(true);
  return { world, held, called, moves: true };
}

/** One undo is with an agent, one ready, one backs off, and one asks a person. */
function compensating(): Played {
  const world = createWorld(
    workflow({
      leased: { compensate },
      ready: { compensate },
      due: { compensate },
      asked: { compensate },
      deferred: {},
      approval,
      signal,
      bad: {},
    }),
  );
  succeed(world, "leased", "ready", "due", "asked");
  const called = world.claim("deferred");
  world.report(called, deferred);
  world.report(world.claim("bad"), broken);
  const held = world.claim("leased");
  world.report(world.claim("due"), failure("busy"));
  world.report(world.claim("asked"), broken);
  return { world, held, called, moves: true };
}

/** Always steps of every kind, each in a state of its own. */
function finishing(): Played {
  const always = { always: true };
  const world = createWorld(
    workflow({
      done: {},
      leased: always,
      deferred: always,
      ready: always,
      due: always,
      asked: always,
      signal: { ...always, ...signal },
      approval: { ...always, kind: "approval", approvers: [] },
    }),
  );
  succeed(world, "done");
  const held = world.claim("leased");
  const called = world.claim("deferred");
  world.report(called, deferred);
  world.report(world.claim("due"), again());
  world.report(world.claim("asked"), broken);
  return { world, held, called, moves: true };
}

function askedInRunning(): Played {
  const world = createWorld(
    workflow({
      approval,
      done: { compensate },
      a: { compensate },
      signal: { ...signal, needs: ["a"] },
    }),
  );
  world.decide("approval", "bob", true);
  succeed(world, "done");
  return { world, held: poison(world, "a") };
}

function askedInStopping(): Played {
  const world = createWorld(
    workflow({ approval, signal, done: { compensate }, a: once, b: { needs: ["a"] }, c: {} }),
  );
  succeed(world, "done");
  const held = world.claim("a");
  world.report(world.claim("c"), broken);
  world.report(held, unknown());
  return { world, held };
}

function askedInCompensating(): Played {
  const world = createWorld(
    workflow({
      approval,
      signal,
      done: { compensate },
      a: { compensate, needs: ["done"] },
      b: {},
      c: {},
    }),
  );
  succeed(world, "done", "a");
  const called = world.claim("b");
  world.report(called, deferred);
  world.report(world.claim("c"), broken);
  return { world, held: poison(world, "a"), called };
}

function askedInFinishing(): Played {
  const world = createWorld(workflow({ approval, signal, a: { always: true } }));
  world.signal("go", "early");
  world.decide("approval", "bob", true);
  return { world, held: poison(world, "a") };
}

/** A run that ended so; its first attempt was lost, and its last question is answered. */
function ended(end: (world: World) => void): Played {
  const world = createWorld(
    workflow({ approval, a: { compensate }, b: {}, asked: { onFailure: "escalate" } }),
  );
  world.decide("approval", "bob", true);
  world.report(world.claim("asked"), broken);
  world.answer(lastQuestion(world).n, "skip");
  const held = lose(world, "a", "s9");
  end(world);
  return { world, held };
}

/** It is to start later: an event about a task of it is about none. */
function pending(): Played {
  const definition = workflow({ approval, signal });
  const world = createWorld(definition, undefined, { startAt: START + 60_000 });
  const stale = { secret: "unknown", session: "s9", grantedAt: world.now() };
  return { world, held: { step: 0, task: "perform", fence: 1, attempt: 1, ...stale } };
}

const SITUATIONS: Readonly<Record<EventState, () => Played>> = {
  PENDING: pending,
  RUNNING: busy,
  PAUSED: paused,
  STOPPING: stopping,
  COMPENSATING: compensating,
  FINISHING: finishing,
  "ESCALATED in RUNNING": askedInRunning,
  "ESCALATED in STOPPING": askedInStopping,
  "ESCALATED in COMPENSATING": askedInCompensating,
  "ESCALATED in FINISHING": askedInFinishing,
  COMPLETED: () => ended((world) => succeed(world, "a", "b")),
  FAILED: () =>
    ended((world) => {
      world.report(world.claim("a"), failure("full", { permanent: true, noEffect: true }));
      world.fireNext();
    }),
  COMPENSATED: () =>
    ended((world) => {
      succeed(world, "a");
      world.report(world.claim("b"), broken);
      world.fireNext();
      succeed(world, "a");
    }),
  CANCELLED: () => ended((world) => world.cancel(false)),
};

const PLAYS: Readonly<Record<TableEvent, (played: Played) => RunEvent>> = {
  report: ({ world, held }) => world.reportOf(held, success()),
  callback: ({ world, held, called }) => world.callbackOf(called ?? held, calledBack.success),
  undelivered: ({ held: { step, fence, secret } }) => ({
    kind: "undelivered",
    step,
    fence,
    secret,
  }),
  forgotten: ({ held: { step, fence, secret } }) => ({
    kind: "forgotten",
    step,
    fence,
    secret,
  }),
  signal: () => ({ kind: "signal", id: "one", name: "go", payload: null }),
  decide: ({ world }) => ({
    kind: "decide",
    step: world.step("approval").no,
    approver: "ada",
    roles: [],
    approved: true,
    comment: "",
    form: null,
    requester: null,
  }),
  answer: ({ world }) => {
    const { state, escalations: n } = world.run();
    const answer = eventStateOf(state).includes("STOPPING") ? "fail" : "retry";
    return { kind: "answer", n, answer, by: "ada", why: "", payload: null };
  },
  "cancel UNDO": () => ({ kind: "cancel", undo: true, note: "" }),
  "cancel LEAVE": () => ({ kind: "cancel", undo: false, note: "" }),
  pause: () => ({ kind: "pause", note: "" }),
  resume: () => ({ kind: "resume", note: "" }),
  messages: ({ world }) => world.messagesEvent({ kind: "pause" }),
  "lease-timer": (played) =>
    timerEventOf(played, "leased") ?? {
      kind: "lease-timer",
      step: 0,
      fence: 1,
      lastHeartbeatAt: null,
      watchingSince: 0,
    },
  "ready-timer": (played) =>
    timerEventOf(played, "ready") ?? { kind: "ready-timer", step: 0, fence: 1, polled: false },
  "due-timer": (played) =>
    timerEventOf(played, "due") ?? { kind: "due-timer", step: 0, on: "backoff" },
  "escalation-timer": ({ world }) => {
    const asked = world.escalations().findLast(({ closedBy }) => closedBy === null);
    if (asked?.wakeAt) world.advance(Math.max(0, asked.wakeAt - world.now()));
    return { kind: "escalation-timer", n: asked?.n ?? 1 };
  },
  "run-timer": ({ world }) => {
    const { state } = world.run();
    if (state.kind === "PENDING") world.advance(state.until - world.now());
    if (state.kind === "RUNNING" && state.deadline !== null)
      world.advance(state.deadline - world.now());
    return { kind: "run-timer" };
  },
};

/** The timer of the step, when its time has come; null: it has none. */
function timerEventOf({ world, moves }: Played, id: "leased" | "ready" | "due"): RunEvent | null {
  const moving = moves ? movingSide(world.step(id))?.state : undefined;
  if (!moving || moving.kind === "HELD") return null;
  world.advance(Math.max(0, moving.wakeAt - world.now()));
  return world.timerEventOf(id);
}

describe.each(Object.entries(SITUATIONS))("a run that is %s", (state, play) => {
  const mine = EVENT_TABLE.filter((row) => row.state === state);

  test("has one row for each event", () => {
    expect(mine.map(({ event }) => event).sort()).toEqual(Object.keys(PLAYS).sort());
    expect(mine.filter(({ does }) => does.length < 10)).toEqual([]);
  });

  test.each(mine.map((row) => [row.event, row.answer, row.does, row] as const))(
    "%s: %s, %s",
    (event, kind, does, { to }) => {
      const played = play();
      const { world } = played;
      expect(eventStateOf(world.run().state)).toBe(state);
      const before = world.run().version;
      const [answer] = world.pass([PLAYS[event](played)]);
      const after = eventStateOf(world.run().state);
      expect({ answer: answer?.kind, to: after }).toEqual({
        answer: kind,
        to: to === "same" ? state : to,
      });
      const changed = world.run().version > before;
      if (kind === "done") expect(changed).toBe(!does.startsWith("nothing:"));
      if (kind === "refused") expect(changed).toBe(false);
    },
  );
});
