/** A run of the suite: which agents, which scenarios, how each went. */

import { isRequired } from "../support/required-tools.ts";
import type { AgentUnderTest } from "./agents.ts";
import { play } from "./play.ts";
import type { Scenario } from "./scenario.ts";
import type { Servers } from "./stage.ts";

export type Mark =
  | { readonly kind: "passed"; readonly ms: number }
  | { readonly kind: "failed"; readonly why: string }
  /** It is not asked of agents of this kind. */
  | { readonly kind: "not-asked"; readonly why: string };

export interface Result {
  readonly agent: string;
  /** By name of the scenario, as far as it was to be played. */
  readonly marks: ReadonlyMap<string, Mark>;
  /** Why nothing was played; null: it was. */
  readonly skipped: string | null;
  /** The lack of what it needs is a failure here. */
  readonly required: boolean;
}

export interface SuiteOptions {
  readonly servers: Servers;
  readonly scenarios: readonly Scenario[];
  /** Scenarios at a time: they wait more than they work. */
  readonly jobs: number;
  readonly report: (agent: string, scenario: string, mark: Mark) => void;
}

export async function putToTheTest(agent: AgentUnderTest, options: SuiteOptions): Promise<Result> {
  const { servers, scenarios, jobs, report } = options;
  const ready = await agent.prepare();
  if (ready.kind === "missing") {
    const required = isRequired(ready.tool, process.env);
    return { agent: agent.name, marks: new Map(), skipped: ready.why, required };
  }
  const marks = new Map<string, Mark>();
  const left = [...scenarios];
  const player = async (): Promise<void> => {
    for (let scenario = left.shift(); scenario; scenario = left.shift()) {
      const why = agent.kind === "stub" ? scenario.notForStubs : undefined;
      const mark: Mark =
        why === undefined
          ? await play(scenario, ready.command, servers)
          : { kind: "not-asked", why };
      marks.set(scenario.name, mark);
      report(agent.name, scenario.name, mark);
    }
  };
  await Promise.all(Array.from({ length: jobs }, player));
  return { agent: agent.name, marks, skipped: null, required: false };
}

export function isGood({ marks, skipped, required }: Result): boolean {
  if (skipped !== null) return !required;
  return [...marks.values()].every(({ kind }) => kind !== "failed");
}
