// The fault matrix, F1 to F32: which faults of this runner are of a row, or why it has none. It is
// printed with each report, so that nothing is left out silently.
import { FAULTS } from "./fault-plan.ts";

interface Row {
  readonly row: string;
  readonly what: string;
  /** Why it is not injected here, or only in part; null: it is, by the faults that name the row. */
  readonly lacks: string | null;
}

export const MATRIX: readonly Row[] = [
  { row: "F1", what: "a server is killed", lacks: null },
  {
    row: "F2",
    what: "a process is killed at a named point of the code",
    lacks: "only around COMMIT, which the proxy sees; the other points are the simulator's",
  },
  { row: "F3", what: "supervisors are killed, one or all", lacks: null },
  { row: "F4", what: "an agent is killed", lacks: null },
  { row: "F5", what: "a process is frozen for 0.5, 1 or 3 leases", lacks: null },
  { row: "F6", what: "backends, the checkpointer or the WAL sender are frozen", lacks: null },
  { row: "F7", what: "PostgreSQL is killed, stopped, restarted", lacks: null },
  { row: "F8", what: "PostgreSQL is killed while it recovers", lacks: null },
  { row: "F9", what: "failover to the synchronous standby", lacks: null },
  { row: "F10", what: "partitions, in both and one direction, flapping", lacks: null },
  { row: "F11", what: "a slow network", lacks: null },
  { row: "F12", what: "answers are lost after the commit", lacks: null },
  { row: "F13", what: "calls come twice, late, in another order", lacks: null },
  { row: "F14", what: "the clock of a node jumps", lacks: null },
  { row: "F15", what: "the clock of the database jumps", lacks: null },
  { row: "F16", what: "the disk is full", lacks: null },
  { row: "F17", what: "a slow or failing disk", lacks: null },
  { row: "F18", what: "no connection is left", lacks: null },
  {
    row: "F19",
    what: "each SQLSTATE at each statement",
    lacks: "only 57P01 and 57014, at random; each statement in turn is the simulator's",
  },
  { row: "F20", what: "an old transaction holds back vacuum", lacks: null },
  { row: "F21", what: "notifications are lost", lacks: null },
  { row: "F22", what: "10,000 idle pollers", lacks: "npm run bench -- idle" },
  {
    row: "F23",
    what: "all callers come back at once",
    lacks: "here with six agents; with 10,000 polls: npm run bench -- idle",
  },
  { row: "F24", what: "a task that kills its agents, or hangs", lacks: null },
  { row: "F25", what: "an agent that sends heartbeats and does no work", lacks: null },
  { row: "F26", what: "a migration while all runs", lacks: "test/e2e/rolling-upgrade.test.ts" },
  { row: "F27", what: "two versions side by side", lacks: "test/e2e/rolling-upgrade.test.ts" },
  { row: "F28", what: "malformed calls", lacks: "test/e2e/bad-input.test.ts and its neighbours" },
  { row: "F29", what: "an event loop is blocked", lacks: null },
  { row: "F30", what: "everything restarts with work under way", lacks: null },
  { row: "F31", what: "processes drain under load", lacks: null },
  { row: "F32", what: "two or three of these at once", lacks: null },
];

/** `counts`: how often each fault happened, by its name, or by its row if it is of the workload. */
export function matrixText(counts: ReadonlyMap<string, number>): string {
  return MATRIX.map(({ row, what, lacks }) => {
    const names = [...FAULTS.filter((one) => one.of.includes(row)).map(({ name }) => name), row];
    const times = names.reduce((total, name) => total + (counts.get(name) ?? 0), 0);
    const why = lacks === null ? "" : `; ${lacks}`;
    return `  ${row.padEnd(4)}${String(times).padStart(4)} times  ${what}${why}`;
  }).join("\n");
}
