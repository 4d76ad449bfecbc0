// DBOS Transact: workflows of three steps that do nothing, started in the process that performs
// them, or put into a queue by another one.
//   node dbos.ts load|work URL direct|queue
import { DBOS, DBOSClient } from "@dbos-inc/dbos-sdk";
import { Client } from "pg";
import { INPUT, STEPS, serve } from "./serve.ts";
import { createTally } from "./tally.ts";

const [role, systemDatabaseUrl = "", how] = process.argv.slice(2);
const APPLICATION = "peer";
const QUEUE = "chain";
/** Under way in the process at a time, from the queue; by default there is no limit. */
const CONCURRENT = 500;
const POLL_MS = 50;

if (role === "load") {
  const client = await DBOSClient.create({ systemDatabaseUrl, applicationName: APPLICATION });
  const enqueue = (run: number) =>
    client.enqueue({ queueName: QUEUE, workflowName: "chain" }, run, INPUT);
  serve({
    load: { runsACall: 10, calls: 4, begin: (runs) => Promise.all(runs.map(enqueue)) },
  });
} else {
  const tally = createTally(STEPS);
  const steps = Array.from({ length: STEPS }, (_, step) => ({ step, name: `step-${step}` }));
  const chain = DBOS.registerWorkflow(
    async (run: number, _input: typeof INPUT) => {
      for (const { step, name } of steps)
        await DBOS.runStep(async () => tally.count(run, step), { name });
    },
    { name: "chain" },
  );
  DBOS.setConfig({ name: APPLICATION, systemDatabaseUrl, logLevel: "error" });
  await DBOS.launch();
  if (how === "queue")
    await DBOS.registerQueue(QUEUE, {
      workerConcurrency: CONCURRENT,
      minPollingIntervalMs: POLL_MS,
    });
  const begin = (run: number) => DBOS.startWorkflow(chain)(run, INPUT);
  const client = new Client({ connectionString: systemDatabaseUrl });
  await client.connect();
  const count = async (sql: string) => {
    const { rows } = await client.query<{ count: number }>(`select count(*)::int from ${sql}`);
    return rows[0]?.count ?? Number.NaN;
  };
  serve({
    ...(how === "queue"
      ? {}
      : {
          load: { runsACall: 10, calls: 4, begin: (runs) => Promise.all(runs.map(begin)) },
        }),
    work: {
      tally,
      check: async (runs) => [
        ["workflows", await count("dbos.workflow_status where status = 'SUCCESS'"), runs],
        ["others", await count("dbos.workflow_status where status <> 'SUCCESS'"), 0],
        ["steps", await count("dbos.operation_outputs"), runs * STEPS],
      ],
    },
  });
}
