// How the program of a peer exchanges lines with its parent: it prints `ready`, then what it has
// done so far, and at the end whether each step was done exactly once.
//   allow N   at most N runs may start
//   stop      begin no more; answered by `begun N`
//   check N   check the steps of so many runs; answered by `right`, or `wrong` and what is
//   alone N   so many runs of three steps, the next when the last one has ended; answered by
//             `alone P50 P99`, in ms from the call to the last step; only if it can do both
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import type { Tally } from "./tally.ts";

export const STEPS = 3;
/** What each job or run is given beside its own number. */
export const INPUT = { order: 4711, to: "Lisbon", seats: 2 };
const REPORT_MS = 20;
/** A product may write down the end of a run after its last step, with others. */
const SETTLE = { polls: 50, everyMs: 200 };

/** The side that begins runs: so many in a call, so many calls at a time. */
export interface Load {
  readonly runsACall: number;
  readonly calls: number;
  begin(runs: readonly number[]): Promise<unknown>;
}

/** The side that performs them. */
export interface Work {
  readonly tally: Tally;
  /** What the product's own tables have, once so many runs have ended: what it is, and is to be. */
  check(runs: number): Promise<readonly (readonly [what: string, is: number, toBe: number])[]>;
}

export function serve({ load, work }: { load?: Load; work?: Work }): void {
  const loading = load && createLoading(load);
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  const answer: Readonly<Record<string, (count: number) => void>> = {
    allow: (count) => loading?.allow(count),
    stop: async () => print(`begun ${await loading?.stop()}`),
    check: async (runs) => print(work ? await checked(work, runs) : "wrong: nobody to ask"),
    alone: async (runs) => load && work && print(`alone ${await aloneOf({ load, work }, runs)}`),
  };
  createInterface({ input: process.stdin }).on("line", (line) => {
    const [order = "", count] = line.split(" ");
    answer[order]?.(Number(count));
  });
  // Its parent is gone.
  process.stdin.on("end", () => process.exit(1));
  print("ready");
  if (work) setInterval(() => print(`done ${work.tally.done()}`), REPORT_MS);
}

async function checked({ tally, check }: Work, runs: number): Promise<string> {
  for (let poll = 1; ; poll++) {
    const wrong = (await check(runs)).filter(([, is, toBe]) => is !== toBe);
    if (wrong.length === 0) break;
    if (poll === SETTLE.polls)
      return `wrong: ${wrong.map(([what, is, toBe]) => `${is} ${what}, not ${toBe}`).join(", ")}`;
    await wait(SETTLE.everyMs);
  }
  const fault = tally.fault(runs);
  return fault === null ? "right" : `wrong: ${fault}`;
}

async function aloneOf({ load, work: { tally } }: { load: Load; work: Work }, runs: number) {
  const took: number[] = [];
  const first = tally.done() / STEPS;
  for (let run = first; run < first + runs; run++) {
    const startedAt = performance.now();
    const all = (run + 1) * STEPS;
    await load.begin([run]);
    while (tally.done() < all) await wait(1);
    took.push(tally.lastMs() - startedAt);
  }
  took.sort((a, b) => a - b);
  return [0.5, 0.99].map((share) => took[Math.ceil(runs * share) - 1]).join(" ");
}

function createLoading({ runsACall, calls, begin }: Load) {
  let allowed = 0;
  let begun = 0;
  const flights = new Set<Promise<unknown>>();
  const goOn = () => {
    while (flights.size < calls && begun + runsACall <= allowed) {
      const from = begun;
      begun += runsACall;
      const flight = begin(Array.from({ length: runsACall }, (_, at) => from + at)).then(() => {
        flights.delete(flight);
        goOn();
      });
      flights.add(flight);
    }
  };
  return {
    allow(runs: number) {
      allowed = runs;
      goOn();
    },
    async stop() {
      allowed = 0;
      await Promise.all(flights);
      return begun;
    },
  };
}
