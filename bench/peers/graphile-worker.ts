// graphile-worker: jobs that do nothing; in a chain each adds the next one as its last act.
//   node graphile-worker.ts load|work URL plain|batches chain|alone
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { Client } from "pg";
import { INPUT, STEPS, serve } from "./serve.ts";
import { createTally } from "./tally.ts";

const [role, connectionString = "", how, shape] = process.argv.slice(2);
const steps = shape === "alone" ? 1 : STEPS;
/** All three as its page on performance has them. */
const CONCURRENT = { concurrentJobs: 24, maxPoolSize: 25 };
const BATCHES = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

interface Payload {
  readonly run: number;
  readonly step: number;
}

/** It prints a line for every job unless it is asked not to. */
const logger = new Logger(() => (level, message) => {
  if (level === "error") process.stderr.write(`${message}\n`);
});

const jobOf = (run: number) => ({ identifier: "nothing", payload: { run, step: 0, ...INPUT } });

if (role === "load") {
  const utils = await makeWorkerUtils({ connectionString, logger });
  serve({
    load: { runsACall: 50, calls: 4, begin: (runs) => utils.addJobs(runs.map(jobOf)) },
  });
} else {
  const tally = createTally(steps);
  await run({
    preset: {
      worker: { connectionString, logger, ...CONCURRENT, ...(how === "batches" ? BATCHES : {}) },
    },
    taskList: {
      async nothing(payload, { addJob }) {
        const { run, step } = payload as Payload;
        if (step + 1 < steps) await addJob("nothing", { run, step: step + 1, ...INPUT });
        tally.count(run, step);
      },
    },
  });
  const client = new Client({ connectionString });
  await client.connect();
  serve({
    work: {
      tally,
      async check() {
        const { rows } = await client.query<{ left: number }>(
          "select count(*)::int as left from graphile_worker._private_jobs",
        );
        return [["jobs in its table", rows[0]?.left ?? Number.NaN, 0]];
      },
    },
  });
}
