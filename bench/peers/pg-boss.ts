// pg-boss: jobs that do nothing, fetched in batches; in a chain each batch inserts the next jobs as
// its last act.
//   node pg-boss.ts load|work URL batches chain|alone
import { Client } from "pg";
import { PgBoss } from "pg-boss";
import { INPUT, STEPS, serve } from "./serve.ts";
import { createTally } from "./tally.ts";

const [role, connectionString = "", , shape] = process.argv.slice(2);
const steps = shape === "alone" ? 1 : STEPS;
const QUEUE = "nothing";
/** After a full batch comes the next one at once, after another one a notification or a pause. */
const WORK = {
  batchSize: 500,
  localConcurrency: 2,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  notifyPollingIntervalSeconds: 0.5,
};

interface Data {
  readonly run: number;
  readonly step: number;
}

const boss = new PgBoss({ connectionString, useListenNotify: role === "work" });
boss.on("error", (error) => void process.stderr.write(`${error.message}\n`));
await boss.start();

if (role === "load") {
  serve({
    load: {
      runsACall: 50,
      calls: 4,
      begin: (runs) =>
        boss.insert(
          QUEUE,
          runs.map((run) => ({ data: { run, step: 0, ...INPUT } })),
        ),
    },
  });
} else {
  const tally = createTally(steps);
  await boss.createQueue(QUEUE, { partition: true, notify: true });
  await boss.work<Data>(QUEUE, WORK, async (jobs) => {
    const next = jobs
      .filter(({ data }) => data.step + 1 < steps)
      .map(({ data }) => ({ data: { ...data, step: data.step + 1 } }));
    if (next.length > 0) await boss.insert(QUEUE, next);
    for (const { data } of jobs) tally.count(data.run, data.step);
  });
  const client = new Client({ connectionString });
  await client.connect();
  serve({
    work: {
      tally,
      async check(runs) {
        const { rows } = await client.query<{ done: number; left: number }>(
          `select count(*) filter (where state = 'completed')::int as done,
                  count(*) filter (where state <> 'completed')::int as left
           from pgboss.job where name = $1`,
          [QUEUE],
        );
        return [
          ["jobs completed", rows[0]?.done ?? Number.NaN, runs * steps],
          ["jobs in other states", rows[0]?.left ?? Number.NaN, 0],
        ];
      },
    },
  });
}
