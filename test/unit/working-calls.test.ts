/** Calls in progress: first come while there is plenty, and by weight when there is little room. */
import { expect, test } from "vitest";
import { createWorkingCalls } from "../../server/api/calls/working-calls.ts";
import { DroverError } from "../../server/errors.ts";

const WEIGHTS: Readonly<Record<string, number>> = { big: 300, small: 100 };

function callsOf(callsMax: number) {
  const calls = createWorkingCalls(callsMax, (name) => WEIGHTS[name] ?? 100);
  const open = new Map<string, (() => void)[]>();
  /** How many of them are admitted. */
  const enter = (name: string, count: number): number => {
    let admitted = 0;
    for (; admitted < count; admitted++) {
      try {
        open.set(name, [...(open.get(name) ?? []), calls.enter(name)]);
      } catch (error) {
        expect(error).toMatchObject({ reason: "OVERLOADED" });
        break;
      }
    }
    return admitted;
  };
  /** Ends calls of the namespace, as long as it has some. */
  const leave = (name: string, count = 1): void => {
    for (const end of (open.get(name) ?? []).splice(0, count)) end();
  };
  const held = (name: string) => open.get(name)?.length ?? 0;
  return { calls, enter, leave, held };
}

test("a namespace that is alone may have all calls of a server, and not one more", () => {
  const { enter, leave } = callsOf(80);
  expect(enter("small", 100)).toBe(80);
  leave("small");
  expect(enter("small", 2)).toBe(1);
});

test("a namespace that fills the server leaves the last eighth to others", () => {
  const { enter } = callsOf(80);
  expect(enter("small", 70)).toBe(70);
  expect(enter("other", 100)).toBe(10);
});

test("namespaces that want more than there is end up with parts by their weights", () => {
  const { enter, leave, held } = callsOf(80);
  enter("small", 70);
  for (let turn = 0; turn < 500; turn++) {
    enter("big", 5);
    enter("small", 50);
    leave(turn % 2 === 0 ? "small" : "big");
  }
  enter("big", 80);
  enter("small", 80);
  expect([held("big"), held("small")]).toEqual([60, 20]);
});

test("a refusal names the part of the namespace, and what to do", () => {
  const { calls, enter } = callsOf(8);
  enter("other", 1);
  enter("small", 6);
  const refused = (() => {
    try {
      return calls.enter("small");
    } catch (error) {
      return error;
    }
  })();
  if (!(refused instanceof DroverError)) throw new Error("it was admitted");
  expect(refused.message).toBe(
    'This server is processing 7 of 8 calls that it may, and the namespace "small" has its part, 4: repeat it later, or on another.',
  );
  expect(refused.metadata).toEqual({ limit: "calls", most: "4" });
});

test("a call counts out once", () => {
  const { calls, enter } = callsOf(2);
  const leave = calls.enter("small");
  leave();
  leave();
  expect(enter("small", 5)).toBe(2);
});
