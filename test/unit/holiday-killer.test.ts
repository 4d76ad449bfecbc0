/** The demo kills an agent at work, however little that holds at once. */
import { expect, test } from "vitest";
import { killWhileItWorks, type SeenRun } from "../../agents-examples/holiday/demo/kill.ts";

const RUNS = 25;
const PID = 7;
const nothing = () => undefined;

/** Its agent works on it, or it is over, or waits. */
function run(place: number, done: number): SeenRun {
  const attempt = { agentId: `hotel-${PID}`, startedTime: new Date(0), endedTime: null };
  const isOver = place < done;
  return {
    run: { ended: isOver, state: isOver ? "COMPLETED" : "RUNNING" },
    steps: [{ id: "hotel", state: isOver ? "SUCCEEDED" : "READY" }],
    attempts: place === done ? [attempt] : [],
  };
}

test("an agent that never holds two tasks at once is killed in the second half of its work", async () => {
  let [done, killedAfter] = [0, -1];
  const keys = Array.from({ length: RUNS }, (_, place) => `holiday-${place}`);
  const agent = {
    ...{ pid: PID, suspend: nothing, resume: nothing },
    kill: async () => {
      killedAfter = done;
    },
  };
  const killed = await killWhileItWorks({
    ...{ kind: "hotel", agent, startAnother: () => agent, onKilled: nothing, ledger: "/dev/null" },
    follow: {
      // From one look to the next it ends its task and takes another.
      details: () => {
        if (killedAfter < 0) done++;
        return new Map(keys.map((key, place) => [key, run(place, done)]));
      },
      look: async (key) => run(keys.indexOf(key), done),
    },
    signal: new AbortController().signal,
  });
  expect(killedAfter).toBeGreaterThan(RUNS / 2);
  expect(killed?.held).toEqual([`holiday-${killedAfter}`]);
});
