/**
 * A person, played by a program: polls every 100 ms what is asked, reads the bank's statement, and
 * answers.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@drover/sdk";
import { readAgentSettings } from "../stage/agent-settings.ts";

const { address, remote } = readAgentSettings();
const client = createClient({ address });
const pollEveryMs = 100;
const going = new AbortController();
process.once("SIGTERM", () => going.abort());
const { signal } = going;

async function answerAll(): Promise<void> {
  const { escalations } = await client.escalations.list({ signal });
  for (const { runId, id } of escalations) {
    const { run } = await client.escalations.get(runId, id, { signal });
    const { captures } = await remote("card/statement", {
      key: id,
      body: { ref: run.key },
      signal,
    });
    const by = "Olga";
    if (captures === 1) {
      const why = "it is on the bank's statement";
      const payload = { captured: run.key };
      await client.escalations.resolve(runId, id, { answer: "succeed", by, why, payload });
    } else {
      const why = "the bank's statement does not show it";
      await client.escalations.resolve(runId, id, { answer: "retry", by, why });
    }
  }
}

try {
  for (;;) {
    await answerAll();
    await sleep(pollEveryMs, undefined, { signal });
  }
} catch (error) {
  if (!signal.aborted) throw error;
} finally {
  client.close();
}
