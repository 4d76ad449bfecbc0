// The load of `chain`: a process of its own that starts the runs. Its parent sends how many there
// may be in all, and it schedules up to that, in calls of 50 runs and four calls at a time.
//   node chain-load.ts ADDRESS STEPS [NAMESPACE]
import { createClient } from "../sdk/typescript/index.ts";

const [address = "", steps = "3", namespace = "default"] = process.argv.slice(2);
const RUNS_A_CALL = 50;
const CALLS = 4;

const client = createClient({ address, namespace });
await client.registerWorkflow({
  workflow: "chain",
  steps: Array.from({ length: Number(steps) }, (_, no) => ({
    id: `step-${no}`,
    task: "nothing",
    ...(no === 0 ? {} : { needs: [`step-${no - 1}`] }),
  })),
});
const spec = { workflow: "chain", input: { order: 4711, to: "Lisbon", seats: 2 } };

let allowed = 0;
let begun = 0;
let calls = 0;

async function begin(): Promise<void> {
  calls++;
  begun += RUNS_A_CALL;
  const results = await client.scheduleBatch(Array.from({ length: RUNS_A_CALL }, () => spec));
  const refused = results.find((result) => "error" in result);
  if (refused) throw new Error(`a run was refused: ${JSON.stringify(refused)}`);
  calls--;
  goOn();
}

function goOn(): void {
  while (calls < CALLS && begun + RUNS_A_CALL <= allowed) void begin();
}

process.on("message", (runs) => {
  allowed = Number(runs);
  goOn();
});
process.send?.("ready");
