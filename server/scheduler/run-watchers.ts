// Callers that wait for a run to change: WatchRun and WaitRun. A change in this process wakes them
// at once. The poll tick finds the changes of other servers: it reads all watched runs in one
// statement a second.
import type { RunRef, WatchedRun } from "../store/store.ts";

export interface RunWatchers {
  change(run: RunRef, version: number, signal: AbortSignal): Promise<void>;
  /** Runs that a caller waits for. */
  watched(): readonly RunRef[];
  changed(run: WatchedRun): void;
  /** The answer of the poll query about watched runs. Runs that are left out have ended. */
  polled(asked: readonly RunRef[], open: readonly WatchedRun[]): void;
}

interface Watcher {
  readonly run: RunRef;
  readonly version: number;
  readonly wake: () => void;
}

export function createRunWatchers(): RunWatchers {
  const watchers = new Map<string, Set<Watcher>>();

  const wake = (runId: string, isPast: (watcher: Watcher) => boolean): void => {
    for (const watcher of watchers.get(runId) ?? []) if (isPast(watcher)) watcher.wake();
  };

  return Object.freeze({
    change(run: RunRef, version: number, signal: AbortSignal): Promise<void> {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const of = watchers.get(run.runId) ?? new Set();
        watchers.set(run.runId, of);
        const watcher: Watcher = {
          run,
          version,
          wake() {
            of.delete(watcher);
            if (of.size === 0) watchers.delete(run.runId);
            signal.removeEventListener("abort", watcher.wake);
            resolve();
          },
        };
        of.add(watcher);
        signal.addEventListener("abort", watcher.wake, { once: true });
      });
    },
    watched: () =>
      [...watchers.values()].flatMap((of) => {
        const [first] = of;
        return first ? [first.run] : [];
      }),
    changed: ({ runId, version }: WatchedRun) =>
      wake(runId, (watcher) => version > watcher.version),
    polled(asked: readonly RunRef[], open: readonly WatchedRun[]) {
      const versions = new Map(open.map(({ runId, version }) => [runId, version]));
      for (const { runId } of asked) {
        const version = versions.get(runId);
        wake(runId, (watcher) => version === undefined || version > watcher.version);
      }
    },
  });
}
