// The load of `latency`: a process of its own that starts the runs, at a rate that does not wait
// for any other. Its parent sends how many runs a second; a negative number means one at a time,
// the next as soon as the parent sends that again.
//   node latency-load.ts ADDRESS [NAMESPACE]
import { createClient } from "../sdk/typescript/index.ts";
import { nowMs } from "./shared-clock.ts";

const [address = "", namespace = "default"] = process.argv.slice(2);
const TURN_MS = 1;
const client = createClient({ address, namespace });
await client.registerWorkflow({
  workflow: "latency",
  steps: [
    { id: "step-0", task: "nothing" },
    { id: "step-1", task: "nothing", needs: ["step-0"] },
    { id: "step-2", task: "nothing", needs: ["step-1"] },
  ],
});

let runsPerS = 0;
let begunAtMs = nowMs();
let begun = 0;

function schedule(): void {
  client.schedule({ workflow: "latency", input: { at: nowMs() } }).catch((error: unknown) => {
    throw error;
  });
}

process.on("message", (asked) => {
  if (Number(asked) < 0) return schedule();
  runsPerS = Number(asked);
  begunAtMs = nowMs();
  begun = 0;
});
setInterval(() => {
  const wanted = ((nowMs() - begunAtMs) / 1_000) * runsPerS;
  for (; begun < wanted; begun++) schedule();
}, TURN_MS);
process.send?.("ready");
