// Callers that start runs by keys of their own without a pause, whatever fails meanwhile, and that
// remember what was acknowledged.
import { expect } from "vitest";
import type { Client } from "../../sdk/typescript/client.ts";
import { until } from "./until.ts";

const CALLERS = 8;
const START_MS = 3_000;
const REPEATED_START_MS = 30_000;
const END_MS = 120_000;

export interface KeyedLoad {
  /** Of the runs that were acknowledged in this phase. */
  runs(phase: string): readonly string[];
  /** Keys begin with the name of the phase. */
  enter(phase: string): void;
  /** Resolves when so many runs of the phase were acknowledged that pass the filter. */
  enough(phase: string, wanted: number, of?: (runId: string) => boolean): Promise<void>;
  /** Resolves when no call is under way. */
  end(): Promise<void>;
  /** The database may have lost all other runs: their keys may be answered with new ones. */
  onlyKnows(runs: ReadonlySet<string>): void;
  /** Repeats all calls, and returns the run of each key. */
  repeat(): Promise<readonly string[]>;
}

/** A call that names a key again must be answered with the same run. */
export function startKeyedLoad(client: Client, workflow: string, first: string): KeyedLoad {
  /** By key; null: not answered yet. */
  const started = new Map<string, string | null>();
  let phase = first;
  let isOver = false;
  const start = async (key: string, ms: number): Promise<string> => {
    const { runId } = await client.schedule({ workflow, key }, { signal: AbortSignal.timeout(ms) });
    const before = started.get(key);
    if (before) expect(runId, `${key} has started two runs`).toBe(before);
    started.set(key, runId);
    return runId;
  };
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    for (let n = 0; !isOver; n++) {
      const key = `${phase}-${caller}-${n}`;
      started.set(key, null);
      await start(key, START_MS).catch(() => null);
    }
  });
  const runs = (of: string) =>
    [...started].flatMap(([key, runId]) =>
      key.startsWith(`${of}-`) && runId !== null ? [runId] : [],
    );
  return {
    runs,
    enter(next) {
      phase = next;
    },
    async enough(of, wanted, passes = () => true) {
      const isEnough = () => runs(of).filter(passes).length >= wanted || null;
      await until(`${wanted} runs ${of}`, isEnough, 60_000);
    },
    async end() {
      isOver = true;
      await Promise.all(callers);
    },
    onlyKnows(known) {
      for (const [key, runId] of started)
        if (runId !== null && !known.has(runId)) started.set(key, null);
    },
    async repeat() {
      const ids: string[] = [];
      for (const key of started.keys()) ids.push(await start(key, REPEATED_START_MS));
      return ids;
    },
  };
}

/** The states in which these runs have ended. */
export async function endsOf(
  client: Client,
  runs: readonly string[],
): Promise<ReadonlySet<string>> {
  const signal = AbortSignal.timeout(END_MS);
  const ended = await Promise.all(runs.map((runId) => client.waitRun(runId, { signal })));
  return new Set(ended.map(({ state }) => state));
}
