// The result of one run of faults, and whether it proves anything: one in which too little happened
// is void, not passed.
import type { Violation } from "../simulation/checker/violation.ts";
import type { History } from "../simulation/history.ts";
import type { Fault } from "./fault.ts";
import { matrixText } from "./matrix.ts";

export interface Report {
  readonly seed: number;
  readonly seconds: number;
  readonly counts: Counts;
  readonly faults: ReadonlyMap<string, number>;
  readonly violations: readonly string[];
  /** Why the run proves nothing; none if it does. */
  readonly void: readonly string[];
}

export interface Counts {
  readonly calls: number;
  readonly unknownAnswers: number;
  readonly effects: number;
  readonly runs: number;
  readonly completed: number;
  readonly compensated: number;
  readonly cancelled: number;
  readonly retries: number;
  readonly lost: number;
  readonly verifies: number;
  readonly escalations: number;
  readonly interventions: number;
  readonly stepsPerSecondBefore: number;
  /** Of the machine, for each processor. */
  readonly load: number;
}

/** Of a run of a minute of faults; the longer ones have more. */
const LEAST: Readonly<Partial<Record<keyof Counts, number>>> = {
  stepsPerSecondBefore: 3,
  runs: 60,
  completed: 30,
  compensated: 3,
  cancelled: 1,
  retries: 20,
  lost: 3,
  verifies: 2,
  unknownAnswers: 10,
};

export function countsOf(history: History, stepsPerSecondBefore: number): Counts {
  const { records, final, meta } = history;
  const attempts = final.runs.flatMap((run) => run.attempts);
  const inState = (state: string): number => final.runs.filter((run) => run.state === state).length;
  const sum = (of: (run: (typeof final.runs)[number]) => number): number =>
    final.runs.reduce((total, run) => total + of(run), 0);
  return {
    calls: records.filter(({ kind }) => kind === "call").length,
    unknownAnswers: records.filter(
      (record) => record.kind === "answer" && record.answer.kind === "unknown",
    ).length,
    effects: records.filter(({ kind }) => kind === "effect").length,
    runs: final.runs.length,
    completed: inState("COMPLETED"),
    compensated: inState("COMPENSATED"),
    cancelled: final.runs.filter(({ reason }) => reason === "CANCELLED_BY_USER").length,
    retries: attempts.filter(({ kind, fence }) => kind === "perform" && fence > 1).length,
    lost: attempts.filter(
      ({ outcome }) => outcome.kind === "unknown" && outcome.code === "drover.lost",
    ).length,
    verifies: attempts.filter(({ kind }) => kind === "verify").length,
    escalations: sum((run) => run.escalations.length),
    interventions: sum((run) => run.interventions.length),
    stepsPerSecondBefore,
    load: meta.load ?? 1,
  };
}

export function voidsOf(
  counts: Counts,
  planned: readonly Fault[],
  faults: ReadonlyMap<string, number>,
): readonly string[] {
  const few = Object.entries(LEAST).flatMap(([what, least]) => {
    const number = counts[what as keyof Counts];
    return number < least ? [`${what}: ${number}, ${least} are the least`] : [];
  });
  const missing = planned
    .filter(({ name }) => !faults.get(name))
    .map(({ name }) => `"${name}" never happened`);
  return [...few, ...missing];
}

export function violationText({ promise, text }: Violation): string {
  return `${promise}: ${text}`;
}

/** Of the program: 0 only where nothing is violated and the run is not void. */
export function exitCodeOf({ violations, void: voids }: Report): 0 | 1 {
  return violations.length === 0 && voids.length === 0 ? 0 : 1;
}

const VIOLATIONS_PRINTED = 40;

export function reportText({ seed, seconds, counts, faults, violations, void: voids }: Report) {
  return [
    "fault matrix:",
    matrixText(faults),
    ...Object.entries(counts).map(([what, number]) => `  ${what}: ${Number(number.toFixed(1))}`),
    `seed ${seed}, ${seconds.toFixed(0)} s`,
    `violations: ${violations.length}`,
    ...violations.slice(0, VIOLATIONS_PRINTED).map((text) => `  ${text}`),
    ...voids.map((why) => `void: ${why}`),
  ].join("\n");
}
