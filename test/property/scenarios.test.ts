// A scenario with random agents has the same timeline each time, and its run ends or waits for a
// person; the remaining effects are those that the steps record.
import fc from "fast-check";
import { expect, test } from "vitest";
import { lines, played } from "../support/play-scenario.ts";

const WORKFLOW = `
workflow: w
timeout: 1h
steps:
  - id: a
    task: t
    effects: verifiable
    verify: { task: v, retry: { attempts: 2 } }
    retry: { attempts: 4, initial: 1s, jitter: 0.5 }
    timeouts: { heartbeat: 2s, attempt: 20s, stall: 5s, callback: 1m, settle: 2s }
    compensate: { task: u, retry: { attempts: 3, initial: 1s } }
  - { id: b, needs: [a], task: t, compensate: { task: u }, timeouts: { heartbeat: 2s } }
`;

const act = fc.constantFrom(
  "succeed",
  "lose-answer",
  "lose-request",
  "hang",
  "stall",
  "freeze",
  "freeze: 9s",
  "crash",
  "answer-late",
  "fail: X",
  "defer: 5s",
  "defer: never",
  "again: 3s",
  "release",
  "fail: { code: X, permanent: true }",
  "crash: { after: 1s, effect: true }",
);
const acts = fc.array(act, { minLength: 1, maxLength: 4 });
const event = fc.constantFrom(
  "",
  "{ at: 3s, cancel: compensate }",
  "{ at: 2s, kill_server: 4s }",
  "{ when: a SUCCEEDED, cancel: leave }",
);

test("the same scenario has the same timeline", async () => {
  await fc.assert(
    fc.asyncProperty(acts, acts, event, fc.nat(1_000), async (perform, undo, more, seed) => {
      const items = (of: readonly string[]) =>
        `[${of.map((one) => (one.includes(": ") ? `{ ${one} }` : one)).join(", ")}]`;
      const text = `scenarios:
  - scenario: s
    seed: ${seed}
    agents: { t: ${items([...perform, "succeed"])}, "u": ${items(undo.filter((one) => !one.startsWith("defer")).concat("succeed"))} }
    events: [${more}]
    expect: { within: 2d }
`;
      const first = await played(WORKFLOW, text);
      const second = await played(WORKFLOW, text);
      expect(lines(second.came)).toEqual(lines(first.came));
      expect(first.came.troubles.filter((one) => one.includes("defect"))).toEqual([]);
      expect(["RUNNING", "STOPPING", "PAUSED"]).not.toContain(first.came.run);
    }),
    { numRuns: 15 },
  );
}, 120_000);
