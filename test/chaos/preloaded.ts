// What is preloaded into the database, the servers and the supervisors (preload/faults.c): it fails
// their disk and moves their wall clock, as their orders say. Needs Linux and a C compiler.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { madeOnce } from "../support/made-once.ts";

const run = promisify(execFile);
const source = join(import.meta.dirname, "preload/faults.c");
const library = join(import.meta.dirname, "../../.drover/chaos-faults.so");

/** The library; or why there is none, and so no fault that needs it. */
export type Preload =
  | { readonly kind: "ready"; readonly library: string }
  | { readonly kind: "missing"; readonly why: string };

export async function preparePreload(): Promise<Preload> {
  if (process.platform !== "linux") return { kind: "missing", why: "needs Linux" };
  try {
    await run("cc", ["--version"]);
  } catch {
    return { kind: "missing", why: "needs a C compiler: cc is not on this machine" };
  }
  const digest = createHash("sha256").update(readFileSync(source)).digest("hex");
  const made = `${library}.${digest.slice(0, 12)}`;
  await madeOnce(made, async (building) => {
    await run("cc", ["-shared", "-fPIC", "-O2", "-Wall", "-o", building, source, "-ldl"]);
  });
  return { kind: "ready", library: made };
}

export interface Orders {
  /** Added to the wall clock, in whole seconds. */
  readonly clockMs: number;
  /** How long a sync takes longer. */
  readonly syncMs: number;
  readonly syncFails: boolean;
  /** Whether no file can grow. */
  readonly isFull: boolean;
}

const NONE: Orders = { clockMs: 0, syncMs: 0, syncFails: false, isFull: false };

/** The orders of one process, which it has from its start, and after each restart. */
export interface Preloaded {
  readonly env: Readonly<Record<string, string>>;
  /** What is not named is as without a fault. */
  order(orders: Partial<Orders>): void;
}

/** `file` is made, and may be read by any account. */
export function preloadedWith(library: string, file: string): Preloaded {
  writeFileSync(file, bytesOf(NONE), { mode: 0o644 });
  return Object.freeze({
    env: { LD_PRELOAD: library, DROVER_CHAOS_ORDERS: file },
    order(orders: Partial<Orders>) {
      // In place: the process has mapped this file.
      const fd = openSync(file, "r+");
      writeSync(fd, bytesOf({ ...NONE, ...orders }), 0);
      closeSync(fd);
    },
  });
}

function bytesOf({ clockMs, syncMs, syncFails, isFull }: Orders): Uint8Array {
  const error = syncFails ? constants.errno.EIO : 0;
  return new Uint8Array(
    BigInt64Array.from([clockMs, syncMs, error, Number(isFull)].map(BigInt)).buffer,
  );
}
