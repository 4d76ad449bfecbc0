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

/** Runs of an agent that ends its task between two polls of the test, and takes another. */
async function killed(knownAt: (polls: number) => number) {
  let done = 0;
  let polls = 0;
  let killedAfter = -1;
  const keys = Array.from({ length: RUNS }, (_, place) => `holiday-${place}`);
  const agent = {
    pid: PID,
    suspend: nothing,
    resume: nothing,
    kill: async () => {
      killedAfter = done;
    },
  };
  const found = await killWhileItWorks({
    kind: "hotel",
    agent,
    startAnother: () => agent,
    onKilled: nothing,
    ledger: "/dev/null",
    runs: RUNS,
    follow: {
      details: () => {
        if (killedAfter < 0) done++;
        const known = keys.slice(0, knownAt(++polls));
        return new Map(known.map((key, place) => [key, run(place, done)]));
      },
      look: async (key) => run(keys.indexOf(key), done),
    },
    signal: new AbortController().signal,
  });
  return { found, killedAfter };
}

test("an agent that never holds two tasks at once is killed in the second half of its work", async () => {
  const { found, killedAfter } = await killed(() => RUNS);
  expect(killedAfter).toBeGreaterThan(RUNS / 2);
  expect(found?.held).toEqual([`holiday-${killedAfter}`]);
});

test("it is killed also where one run was over before anything was known of the others", async () => {
  const { found } = await killed((polls) => (polls === 1 ? 1 : RUNS));
  expect(found?.held).toHaveLength(1);
});
