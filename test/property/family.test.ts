/**
 * A run, its children and theirs, with messages that come late and in any order but that of
 * each sender: no run ends before its children, none continues while its parent is paused or stops,
 * and once agents work again all of them end.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Definition } from "../../server/core/definition/definition.ts";
import type { Effect } from "../../server/core/model/effect.ts";
import type { ChildEnded, EndedChild, Message } from "../../server/core/model/message.ts";
import { isEnded, movingSide, type Parent } from "../../server/core/model/model.ts";
import { failure, success } from "../support/core-outcomes.ts";
import { createWorld, type World, workflow } from "../support/core-world.ts";

const SEED = 20_260_303;
const RUNS = 1_500;
const DEPTH_MAX = 3;

const undo = { task: "undo" };
const retry = [{ on: ["drover.child-failed"], attempts: 2, initialMs: 100, jitter: 0 }];

/** By their names; a run step names one of them. */
const WORKFLOWS: Readonly<Record<string, Definition>> = {
  leaf: workflow({ x: { compensate: undo, retry: [{ attempts: 1 }] }, y: { needs: ["x"] } }),
  pair: workflow({
    a: { kind: "run", workflow: "leaf", compensate: undo },
    b: { kind: "run", workflow: "leaf", retry },
  }),
  nest: workflow({
    x: { compensate: undo },
    a: { kind: "run", workflow: "pair", needs: ["x"], timeouts: { totalMs: 9_000 } },
    z: { kind: "run", workflow: "leaf", always: true, onFailure: "continue" },
  }),
  other: workflow({
    a: { kind: "run", workflow: "nest", fallback: [{ workflow: "leaf" }], onFailure: "continue" },
    b: { needs: ["a"] },
  }),
};

type Act =
  | { readonly kind: "work"; readonly of: number; readonly well: boolean }
  | { readonly kind: "deliver"; readonly of: number }
  | { readonly kind: "time"; readonly of: number }
  | { readonly kind: "cancel"; readonly of: number; readonly undo: boolean }
  | { readonly kind: "pause" | "resume"; readonly of: number };

const of = fc.nat({ max: 20 });
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("deliver" as const), of }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant("work" as const),
        of,
        well: fc.constantFrom(true, true, true, false),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("time" as const), of }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("cancel" as const), of, undo: fc.boolean() }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constantFrom("pause" as const, "resume" as const), of }),
    },
  ),
  { maxLength: 60 },
);

interface Member {
  readonly id: string;
  readonly world: World;
  readonly parent: Member | null;
  /** Effects that were handled. */
  seen: number;
}

interface QueuedMessage {
  readonly to: Member;
  readonly from: string;
  /** null: it is to begin. */
  readonly message: Message | null;
}

interface Family {
  readonly members: Map<string, Member>;
  queue: QueuedMessage[];
}

const childId = (parent: string, step: number, fence: number) => `${parent}/${step}.${fence}`;

function found(name: string): Family {
  const family: Family = { members: new Map(), queue: [] };
  const root = createWorld(WORKFLOWS[name] ?? workflow({ x: {} }));
  join(family, { id: name, world: root, parent: null, seen: 0 });
  return family;
}

function join(family: Family, member: Member): void {
  family.members.set(member.id, member);
  spread(family, member);
}

/** What the shell does after a pass: children are inserted, messages written. */
function spread(family: Family, member: Member): void {
  const fresh = member.world.effects.slice(member.seen);
  member.seen = member.world.effects.length;
  for (const effect of fresh) {
    if (effect.kind === "child-began") insertChild(family, member, effect);
    const queued = queuedMessageOf(family, member, effect);
    if (queued) family.queue.push(queued);
  }
  if (!isEnded(member.world.run().state)) return;
  for (const other of family.members.values())
    if (other.parent === member) expect(isEnded(other.world.run().state)).toBe(true);
}

function insertChild(
  family: Family,
  member: Member,
  { step, fence, workflow: name, until }: Extract<Effect, { kind: "child-began" }>,
): void {
  const depth = (member.world.run().parent?.depth ?? 0) + 1;
  const parent: Parent = { runId: member.id, step, fence, depth, until };
  const definition = WORKFLOWS[name] ?? workflow({ x: {} });
  const world = createWorld(definition, undefined, { parent, refused: depth > DEPTH_MAX });
  world.advance(member.world.now() - world.now());
  const child = { id: childId(member.id, step, fence), world, parent: member, seen: 0 };
  // What lets it begin is no message: it may come after the first of them.
  family.queue.push({ to: child, from: "the run that inserted it", message: null });
  join(family, child);
}

function queuedMessageOf(
  { members }: Family,
  member: Member,
  effect: Effect,
): QueuedMessage | null {
  const { id: from } = member;
  if (effect.kind === "child-messaged") {
    const to = members.get(childId(from, effect.step, effect.fence));
    return to ? { to, from, message: effect.message } : null;
  }
  if (effect.kind !== "message-sent" || !member.parent) return null;
  if (effect.message.kind !== "child-ended") return null;
  return { to: member.parent, from, message: withEnd(member, effect.message) };
}

function withEnd({ id, world }: Member, message: ChildEnded): Message {
  const { state } = world.run();
  const end = isEnded(state) ? state : null;
  const child: EndedChild = { runId: id, end, createdAt: null, output: null, why: "" };
  return { ...message, child };
}

/** Those of one run to another are in their order; between others there is none. */
function deliver(family: Family, which: number): void {
  const first = family.queue.filter((queued, at) =>
    family.queue.slice(0, at).every(({ to, from }) => to !== queued.to || from !== queued.from),
  );
  const queued = pickOf(first, which);
  if (!queued) return;
  family.queue = family.queue.filter((other) => other !== queued);
  const { to, message } = queued;
  to.world.pass([message ? to.world.messagesEvent(message) : { kind: "messages" }]);
  spread(family, to);
}

function pickOf<T>(among: readonly T[], which: number): T | undefined {
  return among[which % Math.max(1, among.length)];
}

function ready({ world }: Member) {
  return world.steps().filter((step) => movingSide(step)?.state.kind === "READY");
}

function act(family: Family, next: Act): void {
  if (next.kind === "deliver") {
    deliver(family, next.of);
    return;
  }
  const open = [...family.members.values()].filter(({ world }) => !isEnded(world.run().state));
  const member = pickOf(open, next.of);
  if (!member) return;
  const { world } = member;
  if (next.kind === "work") work(member, next.of, next.well);
  else if (next.kind === "time") fire(family, member);
  else if (next.kind === "cancel") world.cancel(next.undo);
  else if (next.kind === "pause") world.pause();
  else if (member.parent === null) world.resume();
  spread(family, member);
}

function work(member: Member, which: number, well: boolean): void {
  const step = pickOf(ready(member), which);
  const held = step && member.world.tryClaim(step.no, `s${member.world.handedOut.length}`);
  const outcome = well ? success() : failure("declined", { permanent: true });
  if (held) member.world.report(held, outcome);
}

/** Time passes for all of them alike. */
function fire(family: Family, { world }: Member): void {
  const due = world.nextTimer();
  if (!due) return;
  const now = Math.max(world.now(), due.at);
  for (const one of family.members.values()) one.world.advance(Math.max(0, now - one.world.now()));
  if (due.step === null) world.fireRun();
  else world.fire(due.step);
}

/** All messages are delivered, agents succeed, and people resume or answer every run. */
function heal(family: Family): void {
  for (let events = 0; events < 3_000; events++) {
    if (family.queue.length > 0) {
      deliver(family, 0);
      continue;
    }
    const open = [...family.members.values()].filter(({ world }) => !isEnded(world.run().state));
    if (open.length === 0) return;
    const paused = open.find(({ world }) => world.run().state.kind === "PAUSED");
    const working = open.find((member) => ready(member).length > 0);
    const asked = open.find(({ world }) => world.run().state.kind === "ESCALATED");
    const member = paused ?? working ?? asked ?? earliest(open);
    if (member === paused) member.world.resume();
    else if (member === working) work(member, 0, true);
    else if (member === asked) member.world.cancel(false);
    else fire(family, member);
    spread(family, member);
  }
  throw new Error("the family has not come to an end");
}

function earliest(open: readonly Member[]): Member {
  const at = ({ world }: Member) => world.nextTimer()?.at ?? Number.POSITIVE_INFINITY;
  const [first] = [...open].sort((a, b) => at(a) - at(b));
  if (!first) throw new Error("no run is open");
  return first;
}

/** Once all is delivered, a child does what its parent was commanded to do. */
function expectObedient(family: Family): void {
  while (family.queue.length > 0) deliver(family, 0);
  for (const { id, parent, world } of family.members.values()) {
    const above = parent?.world.run().state.kind;
    const { kind } = world.run().state;
    const heldBack = above !== "PAUSED" || kind !== "RUNNING";
    const stopped = above !== "STOPPING" || !["PENDING", "RUNNING", "PAUSED"].includes(kind);
    if (!heldBack || !stopped) throw new Error(`${id} is ${kind}, and its parent is ${above}`);
  }
}

const roots = fc.constantFrom("pair", "nest", "other");

test("children do as their parent does, and end before it; once agents work again all of them end", () => {
  const ends = new Set<string>();
  fc.assert(
    fc.property(roots, acts, (root, life) => {
      const family = found(root);
      for (const next of life) act(family, next);
      expectObedient(family);
      heal(family);
      for (const { world, parent } of family.members.values()) {
        const { state } = world.run();
        if (parent) ends.add(state.kind);
      }
    }),
    { seed: SEED, numRuns: RUNS },
  );
  expect([...ends].sort()).toEqual(["CANCELLED", "COMPENSATED", "COMPLETED", "FAILED"]);
});
