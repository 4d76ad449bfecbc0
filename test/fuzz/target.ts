// What is fuzzed, and what gives a fault away: a real server on a real PostgreSQL, the logs of
// both, the longest time for which the server's thread was blocked, its memory, and the consistency
// of its store.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import pino from "pino";
import { createEmbeddedPostgres } from "../../dev-postgres/postgres.ts";
import { partitionsOf } from "../../server/store/partition.ts";
import { createPostgresStore } from "../../server/store/postgres/postgres-store.ts";
import type { RunRef } from "../../server/store/store.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { at } from "../support/json-call.ts";

export interface Target {
  readonly address: string;
  /** What was found since the last time: log lines, statement errors, an end of the process. */
  faults(): string[];
  /** The longest block of the server's thread since the last time, in milliseconds. */
  blockedMs(): number;
  /** Bytes in use after a collection. */
  memoryBytes(): Promise<number>;
  /** Runs whose derived rows differ from their pages, twice in a row. */
  inconsistentRuns(): Promise<readonly string[]>;
  sql(statement: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * What a server expects of PostgreSQL: serialization failures, deadlocks and lock timeouts, which
 * it repeats; DR001, its own word for an outdated plan; 25P02, the rest of such a transaction;
 * 25P03, the end of a transaction whose server is kept busy by several bombs in a row; 57P05, the
 * end of an idle session.
 */
const EXPECTED = new Set(["40001", "40P01", "55P03", "DR001", "25P02", "25P03", "57P01", "57P05"]);
/** Of errors: as pino numbers it. */
const LEVEL_ERROR = 50;
const PROGRAM = fileURLToPath(new URL("./server-process.ts", import.meta.url));

export async function startTarget(): Promise<Target> {
  const folder = makeTestFolder();
  const dataDir = join(folder, "data");
  const postgres = createEmbeddedPostgres({
    dataDir,
    durable: false,
    log: () => undefined,
    settings: { log_checkpoints: "off", log_line_prefix: "%e|" },
  });
  const { connectionString } = await postgres.start();
  const child = spawn(process.execPath, ["--expose-gc", PROGRAM, connectionString], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const heard = listenTo(child);
  const address = await heard.address;
  const logFile = join(dataDir, "postgres", "log");
  let read = statSync(logFile).size;
  const store = createPostgresStore({ connectionString, log: pino({ level: "silent" }) });
  const db = new Client({ connectionString });
  await db.connect();

  async function differing(): Promise<readonly string[]> {
    const regions = await store.lists.regions();
    const runs: string[] = [];
    const partitions = regions.flatMap(({ id }) => partitionsOf(id));
    for (let after: RunRef | null = null, more = true; more; ) {
      const found = await store.differingRuns(partitions, after, 1_000);
      runs.push(...found.runs.map(({ runId }) => runId));
      after = found.last;
      more = after !== null;
    }
    return runs;
  }

  return Object.freeze({
    address,
    faults() {
      const { text, end } = tail(logFile, read);
      read = end;
      return [...heard.faults.splice(0), ...statementErrors(text)];
    },
    blockedMs() {
      return heard.blockedMs.splice(0).reduce((most, ms) => Math.max(most, ms), 0);
    },
    memoryBytes: () => heard.memoryBytes(),
    async inconsistentRuns() {
      const first = new Set(await differing());
      if (first.size === 0) return [];
      await delay(500);
      return (await differing()).filter((run) => first.has(run));
    },
    async sql(statement: string) {
      await db.query(statement);
    },
    async stop() {
      await db.end();
      await store.close();
      heard.mayEnd();
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        const slow = setTimeout(() => child.kill("SIGKILL"), 20_000);
        await once(child, "exit");
        clearTimeout(slow);
      }
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  });
}

/** The bytes of a file from a place on. */
function tail(file: string, from: number): { readonly text: string; readonly end: number } {
  const { size } = statSync(file);
  const bytes = Buffer.alloc(Math.max(0, size - from));
  const open = openSync(file, "r");
  readSync(open, bytes, 0, bytes.length, from);
  closeSync(open);
  return { text: bytes.toString("utf8"), end: size };
}

/** Errors of statements in PostgreSQL's log, with the statement of each. */
function statementErrors(text: string): readonly string[] {
  const found: string[] = [];
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    const [, code = "", what = ""] = /^(\w{5})\|(?:ERROR|FATAL|PANIC): +(.*)$/.exec(line) ?? [];
    if (what === "" || EXPECTED.has(code)) continue;
    const more = lines
      .slice(index + 1, index + 6)
      .join(" ")
      .slice(0, 400);
    found.push(`PostgreSQL: ${code} ${what}: ${more}`);
  }
  return found;
}

function listenTo(child: ChildProcess) {
  const faults: string[] = [];
  const blockedMs: number[] = [];
  const address = Promise.withResolvers<string>();
  let memory = Promise.withResolvers<number>();
  let ends = false;
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error("the server process has no pipes");
  // After the end of the process there is nobody to ask: its end is the fault.
  stdin.on("error", () => undefined);
  createInterface({ input: stdout }).on("line", (line) => {
    const message: unknown = JSON.parse(line);
    const [where, ms, bytes] = [
      at(message, "address"),
      at(message, "blockedMs"),
      at(message, "memoryBytes"),
    ];
    if (typeof where === "string") address.resolve(where);
    if (typeof ms === "number") blockedMs.push(ms);
    if (typeof bytes === "number") memory.resolve(bytes);
  });
  createInterface({ input: stderr }).on("line", (line) => {
    if (isFault(line)) faults.push(`log: ${line.slice(0, 2_000)}`);
  });
  child.once("exit", (code, signal) => {
    if (ends) return;
    faults.push(`the server ended: ${signal ?? code}`);
    address.reject(new Error("the server ended before it listened"));
    memory.reject(new Error("the server ended"));
  });
  return {
    faults,
    blockedMs,
    address: address.promise,
    memoryBytes(): Promise<number> {
      memory = Promise.withResolvers<number>();
      stdin.write("memory\n");
      return memory.promise;
    },
    mayEnd() {
      ends = true;
    },
  };
}

/** A line at level error, or one that is none of the log's own: a crash writes plain text. */
function isFault(line: string): boolean {
  try {
    return Number(at(JSON.parse(line), "level")) >= LEVEL_ERROR;
  } catch {
    return line.trim() !== "" && !/Warning|node --trace/.test(line);
  }
}
