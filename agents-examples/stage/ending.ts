/**
 * The one way in which a story may be cut short: a signal, the total limit, or a process that
 * ended though it was not stopped. Everything that waits takes `signal`; whatever comes first is
 * the reason.
 */

export class CutShort extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.name = "CutShort";
    this.exitCode = exitCode;
  }
}

export interface Ending {
  readonly signal: AbortSignal;
  readonly cutShort: (message: string, exitCode: number) => void;
  /** What has not happened yet, for a reader who learns that the limit is over. */
  readonly waitFor: (stillOpen: () => string) => void;
  /** From now on it may take as long as it likes. */
  readonly lift: () => void;
  /** Rejects when the story is cut short. */
  readonly never: () => Promise<never>;
}

const failed = 1;
const endedBySignal = 130;

export function createEnding(limitMs: number): Ending {
  const ending = new AbortController();
  let stillOpen = () => "not everything has started";
  const cutShort = (message: string, exitCode: number) =>
    ending.abort(new CutShort(message, exitCode));

  const limit = setTimeout(() => {
    cutShort(`not done after ${limitMs / 1000} s, the most it may take; ${stillOpen()}`, failed);
  }, limitMs);
  limit.unref();

  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      // The second one does not wait: the children end by themselves when we are gone.
      if (ending.signal.aborted) process.exit(endedBySignal);
      cutShort(`stopped by ${name}`, endedBySignal);
    });
  }
  // The reader of the output has closed the pipe, as `head` does.
  process.stdout.on("error", () => cutShort("the reader of the output has closed it", failed));

  return Object.freeze({
    signal: ending.signal,
    cutShort,
    waitFor(next: () => string) {
      stillOpen = next;
    },
    lift: () => clearTimeout(limit),
    never: () =>
      new Promise<never>((_, reject) => {
        const end = () => reject(ending.signal.reason);
        if (ending.signal.aborted) end();
        else ending.signal.addEventListener("abort", end, { once: true });
      }),
  });
}
