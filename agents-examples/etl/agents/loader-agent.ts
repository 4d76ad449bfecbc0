/** The loader: reads a partition page by page, loads each page, and reports how far it has come. */
import { setTimeout as sleep } from "node:timers/promises";
import { createAgent } from "@drover/sdk";
import { readAgentSettings } from "../../stage/agent-settings.ts";
import { centsOf, type Row } from "../orders.ts";

const { address, remote } = readAgentSettings();
/** What it takes to transform a page. */
const pageMs = 100;

/** What is loaded already, and where the next page starts. */
interface Loaded {
  readonly next: number | null;
  readonly rows: number;
  readonly cents: number;
}

const nothing: Loaded = { next: 0, rows: 0, cents: 0 };

createAgent({
  address,
  id: `loader-${process.pid}`,
  queues: ["etl"],
  slots: 2,
  handleSignals: true,
  handlers: {
    async "list-partitions"(task, { signal }) {
      return remote("source/list", { key: task.idempotencyKey, body: {}, signal });
    },

    async "load-partition"(task, { signal, progress, details }) {
      const ref = task.input(String);
      let loaded = task.lastDetails((value: unknown): Loaded => ({ ...nothing, ...Object(value) }));
      while (loaded.next !== null) {
        const from = loaded.next;
        // A page that was loaded, and could not be reported, is loaded under the same key again.
        const key = `${task.idempotencyKey}/${from}`;
        const body = { ref, from, by: process.pid };
        const { rows, next } = readPage(await remote("source/read", { key, body, signal }));
        await sleep(pageMs, undefined, { signal });
        await remote("warehouse/load", { key, body: { ref, rows }, signal });
        const cents = loaded.cents + centsOf(rows);
        loaded = { next, rows: loaded.rows + rows.length, cents };
        details(loaded);
        progress({ counter: loaded.rows });
      }
      return { rows: loaded.rows, cents: loaded.cents };
    },

    async publish(task, { signal }) {
      const body = task.input((value: unknown) => Object(value));
      await remote("warehouse/publish", { key: task.idempotencyKey, body, signal });
    },
  },
}).start();

function readPage(page: unknown): { readonly rows: readonly Row[]; readonly next: number | null } {
  return Object(page);
}
