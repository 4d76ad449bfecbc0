/**
 * Where a scenario plays: a queue of its own on the shared servers, a wire before them, and the
 * program under test, as often as it is started.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "../../sdk/typescript/client.ts";
import type { RunDetails } from "../../sdk/typescript/run-queries.ts";
import type { StepSpec, TimeoutsSpec } from "../../sdk/typescript/workflow.ts";
import { until } from "../support/until.ts";
import type { Script } from "./acts.ts";
import { type Command, type Program, startProgram } from "./program.ts";
import { openWire, TOKEN, type Wire } from "./wire.ts";

/** Two servers on one database. */
export interface Servers {
  readonly first: string;
  readonly second: string;
  readonly connectionString: string;
}

export interface StartOptions {
  /** Default: that of the wire. */
  readonly address?: string;
  /** Default 1. */
  readonly slots?: number;
  /** Default 10 s. */
  readonly graceMs?: number;
  /** Default 10 s. */
  readonly cancelGraceMs?: number;
  /** 64 hexadecimal digits. */
  readonly codecKey?: string;
}

export interface BeginOptions {
  readonly timeouts?: TimeoutsSpec;
  /** What else the step has. */
  readonly step?: Record<string, unknown>;
}

export interface Stage {
  readonly servers: Servers;
  readonly wire: Wire;
  readonly client: Client;
  readonly queue: string;
  /** A file that is never made. */
  readonly never: string;
  /** A file that a handler waits for. */
  file(name: string): string;
  /** Makes it. */
  open(file: string): void;
  /** Another process of the program; resolves when it is ready. */
  start(options?: StartOptions): Promise<Program>;
  /** A run of one step, `work`, with this script. */
  begin(script: Script, options?: BeginOptions): Promise<string>;
  /** A run of these steps; what a step does not set is as in `begin`. */
  beginSteps(steps: readonly StepSpec[], input?: unknown): Promise<string>;
  /** A step of the task `work` with this script; `more`: what else it has. */
  step(id: string, script: Script, more?: Record<string, unknown>): StepSpec;
  /** The same, with the run's input as its own. */
  bareStep(id: string, more?: Record<string, unknown>): StepSpec;
  /** The run when it has ended, with all that happened. */
  end(runId: string): Promise<RunDetails>;
  get(runId: string): Promise<RunDetails>;
  /** The run, once this is so. */
  when(runId: string, what: string, so: (run: RunDetails) => boolean): Promise<RunDetails>;
}

/** No lease ends by mere slowness of the machine. */
const calmLease = "15s";
/** Where a scenario waits for heartbeats, which come every third of it. */
export const heartbeatLease = "6s";
/** Where a lease is meant to end. */
export const shortLease = "3s";
/** What a scenario waits for at most. */
const patienceMs = 60_000;
const everything = { attempts: true, interventions: true, escalations: true };

export interface OpenedStage extends Stage {
  readonly programs: readonly Program[];
  close(): Promise<void>;
}

export async function openStage(
  name: string,
  command: Command,
  servers: Servers,
): Promise<OpenedStage> {
  const queue = `${name}-${randomBytes(4).toString("hex")}`;
  const folder = mkdtempSync(join(tmpdir(), "drover-conformance-"));
  const wire = await openWire(servers.first);
  const client = createClient({ address: servers.first });
  const programs: Program[] = [];
  let closed = false;
  const get = (runId: string) => client.getRun(runId, everything);
  const timeouts: TimeoutsSpec = { heartbeat: calmLease, settle: "1s", total: "1m" };

  const bareStep = (id: string, more: Record<string, unknown> = {}): StepSpec => ({
    id,
    task: "work",
    queue,
    timeouts,
    retry: { attempts: 5, initial: "10ms", max: "50ms" },
    ...more,
  });
  const step = (id: string, script: Script, more: Record<string, unknown> = {}): StepSpec =>
    bareStep(id, { input: script, ...more });

  async function beginSteps(steps: readonly StepSpec[], input?: unknown): Promise<string> {
    const workflow = { workflow: name, timeout: "2m", steps } as const;
    const { runId } = await client.schedule({
      workflow,
      ...(input !== undefined && { input }),
    });
    return runId;
  }

  return Object.freeze({
    servers,
    wire,
    client,
    queue,
    programs,
    never: join(folder, "never"),
    file: (of: string) => join(folder, of),
    open: (file: string) => writeFileSync(file, ""),
    async start(options: StartOptions = {}): Promise<Program> {
      if (closed) throw new Error("the scenario is over");
      const { slots = 1, graceMs = 10_000, cancelGraceMs = 10_000, codecKey } = options;
      const id = `${queue}-${programs.length + 1}`;
      const program = startProgram(id, command, {
        DROVER_ADDRESS: options.address ?? wire.address,
        DROVER_NAMESPACE: "default",
        DROVER_TOKEN: TOKEN,
        DROVER_QUEUE: queue,
        DROVER_AGENT: id,
        DROVER_SLOTS: String(slots),
        DROVER_POLL_WAIT_MS: "2000",
        DROVER_GRACE_MS: String(graceMs),
        DROVER_CANCEL_GRACE_MS: String(cancelGraceMs),
        // What one that is killed leaves behind goes with the rest.
        TMPDIR: folder,
        ...(codecKey !== undefined && { DROVER_CODEC_KEY: codecKey }),
      });
      programs.push(program);
      await program.line("ready");
      return program;
    },
    begin: (script: Script, { timeouts: given, step: more }: BeginOptions = {}) =>
      beginSteps([step("work", script, { ...more, timeouts: { ...timeouts, ...given } })]),
    beginSteps,
    step,
    bareStep,
    async end(runId: string): Promise<RunDetails> {
      for await (const { run } of client.watchRun(runId))
        assert.notEqual(run.state, "ESCALATED", "the run asks a person");
      return get(runId);
    },
    get,
    when: (runId: string, what: string, so: (run: RunDetails) => boolean) =>
      until(
        what,
        async () => {
          const run = await get(runId);
          return so(run) ? run : null;
        },
        patienceMs,
      ),
    async close(): Promise<void> {
      closed = true;
      await Promise.all(programs.map((program) => program.end()));
      client.close();
      await wire.close();
      rmSync(folder, { recursive: true, force: true });
    },
  });
}
