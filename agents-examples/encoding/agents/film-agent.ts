/** The film agent: runs an encoder for each chunk, reports how far it is, ends it when asked to. */
import { createAgent, type Task } from "@drover/sdk";
import { readAgentSettings } from "../../stage/agent-settings.ts";
import { startEncoder } from "../encode.ts";

const { address, remote, seed } = readAgentSettings();

function chunkOf(task: Task) {
  const { ref: film, chunk, preset } = task.input((value: unknown) => Object(value));
  return { film, chunk, preset, ref: `${film}/${chunk}` };
}

createAgent({
  address,
  id: `film-${process.pid}`,
  queues: ["films"],
  slots: 3,
  handleSignals: true,
  handlers: {
    async "encode-chunk"(task, { signal, progress }) {
      const { ref, ...chunk } = chunkOf(task);
      const { preset } = chunk;
      // A seat for each try, since a try that was given up may still hold its own.
      const key = `${task.idempotencyKey}/${task.fence}`;
      await remote("licence/take", { key, body: { ref, preset }, signal });
      const encoder = startEncoder({ ...chunk, seed }, signal, (percent) =>
        progress({ fraction: percent / 100 }),
      );
      try {
        const checksum = await encoder.checksum;
        const body = { ref, preset, checksum };
        await remote("store/put", { key: task.idempotencyKey, body, signal });
        return { checksum };
      } finally {
        await remote("licence/return", { key, body: { ref, how: await encoder.ended } });
      }
    },

    async "delete-chunk"(task, { signal }) {
      const { ref } = chunkOf(task);
      await remote("store/delete", { key: task.effectKey, body: { ref }, signal });
    },

    async "join-chunks"(task, { signal }) {
      const body = task.input((value: unknown) => Object(value));
      await remote("store/join", { key: task.idempotencyKey, body, signal });
    },
  },
}).start();
