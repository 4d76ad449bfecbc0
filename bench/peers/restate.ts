// Restate: a service whose handler does three durable steps that do nothing; its server has a log
// of its own, and nothing in PostgreSQL.
//   node restate.ts load|work INGRESS ADMIN      both as host:port
import { type Context, endpoint, service } from "@restatedev/restate-sdk";
import { INPUT, STEPS, serve } from "./serve.ts";
import { createTally } from "./tally.ts";

const [role, ingress = "", admin = ""] = process.argv.slice(2);

interface Input {
  readonly run: number;
}

/** The answer comes when the run is in the server's log, not when it has ended. */
async function begin(runs: readonly number[]): Promise<void> {
  await Promise.all(
    runs.map((run) => call(`${ingress}/chain/run/send`, JSON.stringify({ run, ...INPUT }))),
  );
}

async function call(at: string, body: string): Promise<unknown> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const answer = await fetch(`http://${at}`, { method: "POST", headers, body });
  if (!answer.ok) throw new Error(`${at}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

const load = { runsACall: 10, calls: 8, begin };
if (role === "load") serve({ load });
else {
  const tally = createTally(STEPS);
  const steps = Array.from({ length: STEPS }, (_, step) => ({ step, name: `step-${step}` }));
  const chain = service({
    name: "chain",
    handlers: {
      async run(context: Context, { run }: Input) {
        for (const { step, name } of steps) await context.run(name, () => tally.count(run, step));
      },
    },
  });
  const port = await endpoint()
    .bind(chain)
    .setLogger(() => undefined)
    .listen(0);
  await call(`${admin}/deployments`, JSON.stringify({ uri: `http://127.0.0.1:${port}` }));
  serve({
    load,
    work: {
      tally,
      async check() {
        const query = "select count(*) as n from sys_invocation where status <> 'completed'";
        const answer = await call(`${admin}/query`, JSON.stringify({ query }));
        return [["invocations that have not ended", countOf(answer), 0]];
      },
    },
  });
}

function countOf(answer: unknown): number {
  if (typeof answer !== "object" || answer === null || !("rows" in answer)) return Number.NaN;
  const [row]: readonly unknown[] = Array.isArray(answer.rows) ? answer.rows : [];
  return typeof row === "object" && row !== null && "n" in row ? Number(row.n) : Number.NaN;
}
