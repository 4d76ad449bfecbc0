// A session of the test's own in the database, beside those of Drover.
import pg from "pg";
import { expect } from "vitest";

/** A session of the test's own. */
export interface Hand {
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /**
   * Resolves once `count` sessions of Drover wait for a lock in a statement that contains `text`.
   */
  untilWaiting(text: string, count?: number): Promise<void>;
  /** Ends the session of a transaction that is suspended, once its last statements are over. */
  endIdleTransaction(): Promise<void>;
  leases(): Promise<{ run_id: string; step_no: number; fence: number; session: string }[]>;
  close(): Promise<void>;
}

export async function openHand(connectionString: string): Promise<Hand> {
  const client = new pg.Client({ connectionString, application_name: "test-hand" });
  client.on("error", () => undefined);
  await client.connect();
  const query: Hand["query"] = async <Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ) => (await client.query<Row>(text, [...values])).rows;
  return {
    query,
    async untilWaiting(text, count = 1) {
      const waiting = async () => {
        const rows = await query(
          `select pid from pg_stat_activity
           where datname = current_database() and application_name like 'drover-%'
             and wait_event_type = 'Lock' and position($1 in query) > 0`,
          [text],
        );
        return rows.length;
      };
      await expect.poll(waiting, { interval: 10, timeout: 5_000 }).toBe(count);
    },
    async endIdleTransaction() {
      const end = async () => {
        const ended = await query(
          `select pg_terminate_backend(pid, 10000) from pg_stat_activity
           where datname = current_database() and state = 'idle in transaction'`,
        );
        return ended.length;
      };
      await expect.poll(end, { interval: 10, timeout: 5_000 }).toBeGreaterThan(0);
    },
    leases: () =>
      query(
        `select run_id, step_no, fence, encode(session, 'hex') as session
         from drover.lease order by run_id, step_no`,
      ),
    close: () => client.end(),
  };
}
