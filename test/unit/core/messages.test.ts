/** Messages of other runs are applied in their order, and each once. */
import { describe, expect, test } from "vitest";
import type { Message } from "../../../server/core/model/message.ts";
import { success } from "../../support/core-outcomes.ts";
import { createWorld, type World, workflow } from "../../support/core-world.ts";

const compensate = { task: "undo" };

/** One pass applies all of it. */
const receive = (world: World, ...messages: readonly Message[]) =>
  world.pass([world.messagesEvent(...messages)])[0];

const appliedBy = (world: World): readonly number[] =>
  world.effects.flatMap((effect) => (effect.kind === "message-applied" ? [effect.no] : []));

/** a has succeeded and can be undone; b is leased. */
function underWay(): World {
  const world = createWorld(workflow({ a: { compensate }, b: { needs: ["a"] } }));
  world.report(world.claim("a"), success());
  world.claim("b");
  return world;
}

describe("a run with a message of another one", () => {
  test("to cancel stops as if a person had cancelled it, undoing or leaving what was done", () => {
    for (const undo of [true, false]) {
      const world = underWay();
      expect(receive(world, { kind: "cancel", undo })).toEqual({ kind: "done" });
      const stopReason = { reason: "CANCELLED_BY_USER", undo };
      expect(world.run().state).toMatchObject({ kind: "STOPPING", stopReason });
    }
  });

  test("to pause and then to resume does both, in this order", () => {
    const world = createWorld(workflow({ a: {} }));
    receive(world, { kind: "pause" });
    expect(world.run().state.kind).toBe("PAUSED");
    expect(world.step("a").forward.kind).toBe("HELD");
    receive(world, { kind: "resume" }, { kind: "pause" }, { kind: "resume" });
    expect(world.run().state.kind).toBe("RUNNING");
    expect(world.step("a").forward.kind).toBe("READY");
    expect(appliedBy(world)).toEqual([1, 2, 3, 4]);
  });

  test("what it cannot do any more takes the message and stays as it is", () => {
    const world = createWorld(workflow({ a: {} }));
    world.report(world.claim("a"), success());
    const before = world.run();
    receive(world, { kind: "cancel", undo: true }, { kind: "pause" });
    expect(world.run()).toEqual(before);
    expect(appliedBy(world)).toEqual([1, 2]);
  });

  test("nothing, since a pass before has applied it all, changes nothing", () => {
    const world = underWay();
    const before = world.run();
    expect(receive(world)).toEqual({ kind: "done" });
    expect(world.run()).toEqual(before);
  });
});
