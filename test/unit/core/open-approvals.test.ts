/** Which approvals of a run are open, for whom, and until when. */
import { expect, test } from "vitest";
import type { ApprovalWork } from "../../../server/core/definition/definition.ts";
import {
  type Approver,
  approvalSteps,
  openApprovals,
  waitsForPerson,
} from "../../../server/core/explain/open-approvals.ts";
import { createWorld, START, type World, workflow } from "../../support/core-world.ts";

const HOUR_MS = 3_600_000;

function worldOf(steps: Readonly<Record<string, Partial<ApprovalWork>>>): World {
  const works = Object.entries(steps).map(([id, more]) => {
    return [id, { kind: "approval", approvers: [], ...more }] as const;
  });
  return createWorld(workflow({ ...Object.fromEntries(works), task: {} }));
}

function openOf(world: World, who: Approver | null = null, requester: string | null = null) {
  const steps = new Map(world.steps().map((step) => [step.no, step]));
  const decisions = world.effects.filter((effect) => effect.kind === "decision-stored");
  return openApprovals(approvalSteps(world.plan, who), steps, decisions).filter(
    (one) => who === null || waitsForPerson(one, who, requester),
  );
}

const idsFor = (world: World, name: string | null, roles: readonly string[] = []) =>
  openOf(world, { name, roles }).map(({ stepId }) => stepId);

test("an open approval has who approved so far, since when it waits, and its deadline", () => {
  const world = worldOf({ a: { approvers: ["ada", "bob"], need: 2, withinMs: HOUR_MS } });
  world.decide("a", "bob", true);
  expect(openOf(world)).toEqual([
    {
      step: 0,
      stepId: "a",
      work: expect.objectContaining({ approvers: ["ada", "bob"], need: 2, onExpiry: "escalate" }),
      approvedBy: ["bob"],
      since: START,
      deadlineAt: START + HOUR_MS,
    },
  ]);
});

test("an approval is open until enough people have approved, or one has rejected", () => {
  const world = worldOf({ a: {}, b: { need: 2 }, c: {} });
  expect(openOf(world).map(({ stepId }) => stepId)).toEqual(["a", "b", "c"]);
  world.decide("a", "ada", true);
  world.decide("b", "ada", true);
  expect(openOf(world).map(({ stepId }) => stepId)).toEqual(["b", "c"]);
  world.decide("c", "ada", false);
  expect(openOf(world)).toEqual([]);
});

test("a person has the approvals that name them, one of their roles, or no one", () => {
  const world = worldOf({ a: { approvers: ["ada"] }, t: { approvers: ["treasury"] }, any: {} });
  expect(idsFor(world, "ada")).toEqual(["a", "any"]);
  expect(idsFor(world, "ada", ["treasury"])).toEqual(["a", "t", "any"]);
  expect(idsFor(world, "zorro")).toEqual(["any"]);
  expect(idsFor(world, null, ["treasury"])).toEqual(["t", "any"]);
});

test("an approval does not wait for a person who has given theirs", () => {
  const world = worldOf({ a: { need: 2 } });
  world.decide("a", "ada", true);
  expect(idsFor(world, "ada")).toEqual([]);
  expect(idsFor(world, "bob")).toEqual(["a"]);
});

test("an approval does not wait for the person who started the run, where the step says so", () => {
  const world = worldOf({ a: {}, b: { notRequester: true } });
  const of = (name: string) =>
    openOf(world, { name, roles: [] }, "ada").map(({ stepId }) => stepId);
  expect(of("ada")).toEqual(["a"]);
  expect(of("bob")).toEqual(["a", "b"]);
});
