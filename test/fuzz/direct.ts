// Reads random texts in a worker, within a time and a memory.
import { Worker } from "node:worker_threads";
import type { DirectResult, DirectWork } from "./direct-worker.ts";
import type { TextKind } from "./texts.ts";

const SHARED_BYTES = 4 * 1024 * 1024;
const HEAP_MB = 512;
/** No text at all may be read for so long, whatever else the machine does. */
const HANGS_MS = 120_000;

export type DirectWorks = (work: Omit<DirectWork, "shared">) => Promise<DirectResult>;

export const readDirectly: DirectWorks = (work) => {
  const shared = new SharedArrayBuffer(SHARED_BYTES);
  const worker = new Worker(new URL("./direct-worker.ts", import.meta.url), {
    workerData: { ...work, shared } satisfies DirectWork,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const textNow = () => {
    const length = new Int32Array(shared, 0, 1)[0] ?? 0;
    return Buffer.from(shared, 4, length).toString("utf8");
  };
  return new Promise<DirectResult>((resolve) => {
    const broken = (why: string) =>
      resolve({ done: 0, slowestMs: 0, slowest: "", failed: { text: textNow(), why } });
    const timer = setTimeout(() => {
      broken(`did not end within ${HANGS_MS} ms`);
      void worker.terminate();
    }, HANGS_MS);
    worker.once("message", resolve);
    worker.once("error", (error) => broken(String(error)));
    worker.once("exit", () => {
      clearTimeout(timer);
      broken("the worker ended without a result");
    });
  });
};

export const TEXT_KINDS: readonly TextKind[] = ["expressions", "yaml", "schema", "cron", "filter"];
