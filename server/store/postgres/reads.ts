// Plain reads of one run, each in one snapshot. Fixed statements are SQL in sql/reads.sql.
import { Kysely, PostgresDialect, sql } from "kysely";
import type pg from "pg";
import type { Reads } from "../reads.ts";
import type { StoreTimes } from "../store-times.ts";
import { hostsOf } from "./agents.ts";
import { throwReadFailure } from "./failure.ts";
import { databaseOf } from "./lists.ts";
import { runLiveness } from "./liveness.ts";
import { createNamespaceReads } from "./namespace-reads.ts";
import { changedInputsOf } from "./people.ts";
import { runDetailOf, runItemsOf } from "./run-detail.ts";
import { type RunRow, runRecord, selectRuns, type Tables } from "./run-records.ts";
import { tracedRuns } from "./trace-columns.ts";
import { inSnapshot, queryOn } from "./transaction.ts";

export function createReads(pool: pg.Pool, schema: string, times: StoreTimes): Reads {
  const reads = unguardedReads(pool, schema, times);
  return Object.freeze({
    findRun: (...of) => reads.findRun(...of).catch(throwReadFailure),
    runDetail: (...of) => reads.runDetail(...of).catch(throwReadFailure),
    runItems: (...of) => reads.runItems(...of).catch(throwReadFailure),
    changedInputs: (...of) => reads.changedInputs(...of).catch(throwReadFailure),
    tracedRuns: (...of) => reads.tracedRuns(...of).catch(throwReadFailure),
    runLiveness: (...of) => reads.runLiveness(...of).catch(throwReadFailure),
    hosts: (...of) => reads.hosts(...of).catch(throwReadFailure),
  } satisfies Reads);
}

function unguardedReads(pool: pg.Pool, schema: string, times: StoreTimes): Reads {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
  const query = queryOn(pool, schema);
  const reads = createNamespaceReads(pool, schema);

  return Object.freeze({
    async findRun(namespaceId, by) {
      const own = databaseOf(reads, namespaceId, schema);
      const found =
        "runId" in by
          ? selectRuns(own).where("r.id", "=", by.runId)
          : selectRuns(own).where("r.id", "=", (from) =>
              from
                .selectFrom(
                  sql<{
                    run_id: string;
                    namespace_id: number;
                    key: string;
                  }>`${sql.table(`${schema}.idempotency`)}`.as("i"),
                )
                .select("i.run_id")
                .where("i.namespace_id", "=", namespaceId)
                .where("i.key", "=", by.key),
            );
      const row = await found.where("r.namespace_id", "=", namespaceId).executeTakeFirst();
      return row ? runRecord(row) : null;
    },

    runDetail(runId, wanted) {
      const { sql: text, parameters } = selectRuns(db).where("r.id", "=", runId).compile();
      return inSnapshot(pool, async (client) => {
        const [row] = (await client.query<RunRow>(text, [...parameters])).rows;
        if (!row) return null;
        return {
          run: runRecord(row),
          ...(await runDetailOf(queryOn(client, schema), runId, wanted)),
        };
      });
    },

    runItems: (runId, page) =>
      inSnapshot(pool, (client) => runItemsOf(queryOn(client, schema), runId, page)),

    changedInputs: (runId) => changedInputsOf(query, runId),
    tracedRuns: (of) => tracedRuns(query, of),
    runLiveness: (runId) => runLiveness(query, runId, times),
    hosts: (sessions) => hostsOf(query, sessions),
  } satisfies Reads);
}
