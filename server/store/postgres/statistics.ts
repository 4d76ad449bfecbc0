// Renews plans that were made while a table was empty, soon after it has filled. A vacuum of a
// table whose rows are deleted records that there are none. If an open snapshot kept the vacuum
// from giving the pages back, the planner goes on believing so as the table fills: it reads
// all leases for each report of a batch (a hundred milliseconds instead of three), on every
// connection, until the next round of autovacuum, a minute later. An ANALYZE corrects that, and
// makes every session plan again.
import type pg from "pg";
import type { Logger } from "pino";
import type { Clock } from "../../clock.ts";
import type { Query } from "./transaction.ts";

const CHECK_EVERY_MS = 3_000;
/** A session that falls idle reports the counts of its rows after ten seconds. */
const REPORTED_AFTER_MS = 12_000;

interface Statistics {
  /** Something is written: only then can a table grow, so an idle server reads nothing. */
  written(): void;
  /** Checks the tables if it is time, and never fails. */
  check(): Promise<void>;
}

export function createStatistics(
  query: Query,
  pool: pg.Pool,
  clock: Clock,
  log: Logger,
): Statistics {
  let writtenAtMs = Number.NEGATIVE_INFINITY;
  let checkedAtMs = Number.NEGATIVE_INFINITY;

  async function analyze(): Promise<void> {
    const grown = await query<{ name: string }>("grown_tables", {});
    if (grown.length === 0) return;
    const names = grown.map(({ name }) => name).join(", ");
    // skip_locked: if another session, as of another server, analyzes a table now, that is enough.
    await pool.query(`analyze (skip_locked) ${names}`);
    log.debug({ event: "store.analyzed", tables: names });
  }

  return Object.freeze({
    written() {
      writtenAtMs = clock.monotonicMs();
    },
    async check() {
      const now = clock.monotonicMs();
      if (now - writtenAtMs > REPORTED_AFTER_MS || now - checkedAtMs < CHECK_EVERY_MS) return;
      checkedAtMs = now;
      try {
        await analyze();
      } catch (error) {
        log.warn({ event: "store.not-analyzed", err: String(error) });
      }
    },
  });
}
