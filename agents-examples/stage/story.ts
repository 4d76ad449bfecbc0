/**
 * A story: what is wanted, how Drover and its agents bring it about, how a naive caller would, and
 * what has to be in the ledgers in the end. The same check reads the ledgers of both.
 */
import type { Client, ScheduleSpec } from "@drover/sdk";
import type { Fact } from "./books.ts";
import type { Follow } from "./follow.ts";
import type { Child } from "./processes.ts";
import type { Remote } from "./remote.ts";

export interface Problem {
  readonly run: string;
  readonly message: string;
}

export interface RunSpec extends Pick<ScheduleSpec, "labels" | "concurrency"> {
  /** Key of the run. */
  readonly run: string;
  readonly input: unknown;
}

/** What the command line sets of the cases of a story. */
export interface StoryParameters {
  readonly seed: number;
  /** How many; null: as many as the story wants. Most stories have a fixed number. */
  readonly runs: number | null;
}

/** What a story may do while it is played. */
export interface Stage extends StoryParameters {
  /** Without a token: of no use to a story that requires them. */
  readonly client: Client;
  /** Of the Drover server: host:port. */
  readonly address: string;
  /** Of its database. */
  readonly connectionString: string;
  /** Aborted when the story is cut short. */
  readonly signal: AbortSignal;
  /** Starts `agents/NAME-agent.ts` of the story, or another program that works with Drover. */
  readonly start: (name: string, program?: string, token?: string) => Child;
  /** Registers workflow.yaml, schedules the runs and follows them, each on the timeline. */
  readonly schedule: (runs: readonly RunSpec[]) => Promise<Follow>;
  /** Follows runs that the story itself has started, by their keys, with a client of its own. */
  readonly follow: (runs: readonly string[], client: Client) => Follow;
  /** A line of the timeline. */
  readonly act: (text: string, actor?: string) => void;
  readonly facts: () => readonly Fact[];
}

/** What the naive caller has: the same services, with the same faults. */
export interface NaiveStage extends StoryParameters {
  readonly remote: Remote;
  readonly signal: AbortSignal;
  readonly act: (text: string, actor?: string) => void;
}

export interface Story {
  /** What is wanted, and what is in the way. */
  readonly intro: string;
  /** What a right ledger means, in one sentence. */
  readonly right: string;
  /** The server takes no call without a token. */
  readonly requireTokens?: boolean;
  /** Names of failures by their codes, for the summary. */
  readonly meanings: Readonly<Record<string, string>>;
  /** Returns when every run has ended. */
  readonly play: (stage: Stage) => Promise<void>;
  readonly naive: (stage: NaiveStage) => Promise<void>;
  /** What is wrong in the ledgers, or with the ends of runs; `states` is null after `naive`. */
  readonly check: (
    facts: readonly Fact[],
    states: ReadonlyMap<string, string> | null,
    parameters: StoryParameters,
  ) => readonly Problem[];
  /** The naive caller runs too, with services of its own, and the failures are compared. */
  readonly compares?: boolean;
}

/** Runs that did not end as they had to; the naive caller has none. */
export function checkEnds(
  wanted: readonly { readonly run: string; readonly end: string }[],
  states: ReadonlyMap<string, string> | null,
): readonly Problem[] {
  if (states === null) return [];
  return wanted.flatMap(({ run, end }) => {
    const state = states.get(run);
    return state === end ? [] : [{ run, message: `the run is ${state}; it had to end ${end}` }];
  });
}
