// How often each step of each run was done, which must be once.
const FIRST_ROOM = 1 << 20;

export interface Tally {
  count(run: number, step: number): void;
  done(): number;
  /** When the last of them was, by this process's clock. */
  lastMs(): number;
  /** Of so many runs: the first that is wrong, or null. */
  fault(runs: number): string | null;
}

export function createTally(stepsARun: number): Tally {
  let times = new Uint8Array(FIRST_ROOM);
  let done = 0;
  let lastMs = 0;
  return Object.freeze({
    count(run, step) {
      const at = run * stepsARun + step;
      if (at >= times.length) {
        const more = new Uint8Array(Math.max(at + 1, times.length * 2));
        more.set(times);
        times = more;
      }
      times[at] = (times[at] ?? 0) + 1;
      done++;
      lastMs = performance.now();
    },
    done: () => done,
    lastMs: () => lastMs,
    fault(runs) {
      const wrong = times.subarray(0, runs * stepsARun).findIndex((count) => count !== 1);
      const run = Math.floor(wrong / stepsARun);
      const step = wrong % stepsARun;
      if (wrong >= 0) return `step ${step} of run ${run} was done ${times[wrong]} times`;
      const all = runs * stepsARun;
      return done === all ? null : `${done} steps were done of ${all}`;
    },
  } satisfies Tally);
}
