/** What a scenario is, and short functions that many of them call. */
import assert from "node:assert/strict";
import type { RunDetails } from "../../sdk/typescript/run-queries.ts";
import type { Stage } from "./stage.ts";

export interface Scenario {
  /** For `--only`, and the head of its column. */
  readonly name: string;
  /** What holds, in one sentence. */
  readonly guarantee: string;
  /** Why it is not asked of an agent with generated stubs only; absent: it is. */
  readonly notForStubs?: string;
  readonly play: (stage: Stage) => Promise<void>;
}

interface AttemptSeen {
  /** SUCCESS, UNKNOWN and so on; of a failure its class, TRANSIENT or PERMANENT. */
  readonly outcome: string;
  readonly code?: string;
  readonly agentId?: string;
}

/** The attempts that the server has on record, of one kind, in their order. */
export function assertAttempts(
  { attempts }: RunDetails,
  expected: readonly AttemptSeen[],
  kind: "PERFORM" | "VERIFY" | "COMPENSATE" = "PERFORM",
): void {
  const seen = attempts
    .filter((attempt) => attempt.kind === kind)
    .map(({ outcome, failure, agentId }) => ({
      outcome: outcome === "FAILURE" ? failure?.class : outcome,
      code: failure?.code,
      agentId,
    }));
  const compared = seen.map((one, at) => ({
    outcome: one.outcome,
    ...(expected[at]?.code !== undefined && { code: one.code }),
    ...(expected[at]?.agentId !== undefined && { agentId: one.agentId }),
  }));
  assert.deepEqual(compared, expected);
}

/** Completed, and the step `work` with this output. */
export function assertOutput({ run, steps }: RunDetails, output: unknown): void {
  assert.equal(run.state, "COMPLETED");
  assert.deepEqual(steps.find(({ id }) => id === "work")?.output, output);
}
