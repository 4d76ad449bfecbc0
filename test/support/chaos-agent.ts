// An agent for the chaos test: books and cancels in a ledger file of its own making, one line an
// effect, and is as unreliable as its seed makes it.
import { appendFileSync } from "node:fs";
import { createAgent } from "../../sdk/typescript/agent.ts";
import { PermanentError, TransientError, UnknownError } from "../../sdk/typescript/task-errors.ts";

const [address = "", ledger = "", seedText = "1", fate = "lives"] = process.argv.slice(2);
let state = Number(seedText) >>> 0;

/** Mulberry32: the same seed gives the same moods. */
function draw(): number {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
}

function note(op: "book" | "cancel", key: string): void {
  appendFileSync(ledger, `${op} ${key}\n`);
}

const agent = createAgent({
  address,
  id: `chaos-${process.pid}`,
  slots: 20,
  handlers: {
    book: async (task, { signal }) => {
      await new Promise((resolve) => setTimeout(resolve, draw() * 40));
      signal.throwIfAborted();
      const mood = draw();
      if (mood < 0.1) throw new TransientError("busy", "try later");
      const doomed = JSON.stringify(task.input()).includes("doomed");
      if (doomed && task.stepId === "c") throw new PermanentError("no-room", "never");
      note("book", task.idempotencyKey);
      if (mood < 0.15) throw new UnknownError("broken", "the line broke after the booking");
      if (mood < 0.17 && fate === "dies") process.kill(process.pid, "SIGKILL");
      return { key: task.idempotencyKey };
    },
    cancel: async (task) => {
      if (draw() < 0.1) throw new TransientError("busy", "try later");
      note("cancel", task.effectKey);
    },
  },
});
agent.start();
await agent.done;
