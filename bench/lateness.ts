// From due to done: what an intervention records as due, and when its transaction committed.
import type pg from "pg";
import { spreadOf } from "./profile.ts";

export interface Lateness {
  readonly what: string;
  readonly load: string;
  readonly samples: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Needs `track_commit_timestamp`. Empty while nothing of these runs has been acted on. */
export async function latenessOf(
  db: pg.Client,
  {
    what,
    load,
    rule,
    runs,
  }: Pick<Lateness, "what" | "load"> & {
    readonly rule: string;
    readonly runs: readonly string[];
  },
): Promise<readonly Lateness[]> {
  const { rows } = await db.query<{ late: number }>(
    `select extract(epoch from pg_xact_commit_timestamp(i.xmin) - v.due_at)::float8 * 1000 as late
     from drover.intervention as i
     join drover.intervention_view as v using (run_id, fence, n, acted_at)
     where v.rule = $1 and i.run_id = any ($2::uuid[])`,
    [rule, runs],
  );
  const late = rows.map((row) => row.late);
  if (late.length === 0) return [];
  const tenths = (ms: number): number => Math.round(ms * 10) / 10;
  const { p50, p99, max } = spreadOf(late);
  return [
    { what, load, samples: late.length, p50: tenths(p50), p99: tenths(p99), max: tenths(max) },
  ];
}

export function printLateness(figures: readonly Lateness[]): void {
  const head = ["what", "load", "samples", "p50 ms", "p99 ms", "max ms"];
  const rows = figures.map(({ what, load, samples, p50, p99, max }) =>
    [what, load, samples, p50, p99, max].map(String),
  );
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  for (const row of [head, ...rows])
    process.stdout.write(`${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ")}\n`);
}
