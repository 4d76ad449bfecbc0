/**
 * The handlers that run. Each occupies a slot until its outcome is known.
 *
 *   running -> ending (its details are sent first) -> ended
 *      '----> lost (it ignores that it must stop) ----^  only when the agent drains
 *
 * The outcome of a lost handler is not reported before all others have ended: the server verifies
 * or retries a reported task at once, and a lost handler may still act until its process ends.
 */
import type { Outcome } from "@drover/proto/drover/v1/task_pb.ts";
import type { AgentSettings } from "./agent-options.ts";
import { sleep, within } from "./clock.ts";
import { attempt, type Handler } from "./handler.ts";
import type { Heartbeats } from "./heartbeats.ts";
import type { HeldTask } from "./held-task.ts";
import { attemptFields } from "./logger.ts";
import { handlerLost } from "./outcomes.ts";
import type { TaskLogs } from "./task-logs.ts";

export interface AttemptsOptions {
  readonly settings: AgentSettings;
  readonly heartbeats: Heartbeats;
  readonly logs: TaskLogs;
  /** The outcome of the task is known, and its slot is free. */
  readonly onEnded: (held: HeldTask, outcome: Outcome) => void;
  /** A handler has ignored for `cancelGrace` that it must stop; the error says which. */
  readonly onLost: (error: Error) => void;
}

export interface Attempts {
  run(held: HeldTask, handler: Handler): void;
  /** Number of handlers that run, lost ones included. */
  running(): number;
  /** Lets all handlers finish within `grace`, then stops them, then gives up the lost ones. */
  finish(): Promise<void>;
}

interface State extends AttemptsOptions {
  readonly running: Set<HeldTask>;
  /** Of the running ones: their outcome is known. */
  readonly ending: Set<HeldTask>;
  /** Of the running ones: their handlers ignore that they must stop. */
  readonly lost: Set<HeldTask>;
  /** Resolved when all handlers that still run are lost. */
  idle: PromiseWithResolvers<void>;
}

/** How long a report waits for the details that are sent before it. */
const detailsMs = 2_000;
/** Between two tries to send details for which a handler waits. */
const detailsRetryMs = 500;

export function createAttempts(options: AttemptsOptions): Attempts {
  const state: State = {
    ...options,
    running: new Set(),
    ending: new Set(),
    lost: new Set(),
    idle: Promise.withResolvers(),
  };
  return Object.freeze({
    run: (held: HeldTask, handler: Handler) => void run(state, held, handler),
    running: () => state.running.size,
    finish: () => finish(state),
  });
}

async function run(state: State, held: HeldTask, handler: Handler): Promise<void> {
  const { codec, log } = state.settings;
  state.running.add(held);
  const end = Promise.withResolvers<Outcome>();
  held.signal.addEventListener("abort", () => void expectEnd(state, held, end.promise), {
    once: true,
  });
  const { heartbeats, logs } = state;
  const stored = () => untilStored(state, held);
  end.resolve(attempt({ handler, held, codec, log, logs, noted: heartbeats.hurry, stored }));
  await conclude(state, held, await end.promise);
}

/** A heartbeat that fails is repeated until the task must stop, as without a lease. */
async function untilStored({ settings, heartbeats }: State, held: HeldTask): Promise<void> {
  for (;;) {
    await heartbeats.sendDetails(held);
    held.signal.throwIfAborted();
    if (held.notes().details === undefined) return;
    await sleep(settings.clock, detailsRetryMs, held.signal);
  }
}

/** Only the first outcome counts: a handler that was given up as lost may still return one. */
async function conclude(state: State, held: HeldTask, outcome: Outcome): Promise<void> {
  const { settings, heartbeats, running, lost, ending } = state;
  if (!running.has(held) || ending.has(held)) return;
  ending.add(held);
  // After a success no later attempt needs the details.
  if (outcome.kind.case !== "success")
    await within(settings.clock, detailsMs, heartbeats.sendDetails(held));
  for (const tasks of [running, lost, ending]) tasks.delete(held);
  held.end();
  state.logs.end(held.task);
  state.onEnded(held, outcome);
  checkIdle(state);
}

/** Waits for a handler that must stop. One that does not would occupy its slot for ever. */
async function expectEnd(state: State, held: HeldTask, end: Promise<Outcome>): Promise<void> {
  const { clock, log, cancelGraceMs } = state.settings;
  if (await within(clock, cancelGraceMs, end)) return;
  if (!state.running.has(held) || state.ending.has(held)) return;
  const { runId, stepId, task } = held.task;
  const message = `a handler has ignored for ${cancelGraceMs} ms that it must stop`;
  const fields = { ...attemptFields(held.task), task };
  log.error(fields, `${message}; the agent drains without waiting for it`);
  state.lost.add(held);
  checkIdle(state);
  state.onLost(new Error(`${message}: task ${task} of run ${runId}, step ${stepId}`));
}

async function finish(state: State): Promise<void> {
  const { settings, running, lost } = state;
  const { clock, log, graceMs } = settings;
  if (!(await within(clock, graceMs, untilIdle(state)))) {
    log.warn({ running: running.size }, "grace is over, the agent stops its handlers");
    for (const task of running) task.stop("agent-stopped");
    // Each handler has ended by then, or is lost when its own grace is over.
    await untilIdle(state);
  }
  const left = [...lost];
  lost.clear();
  for (const held of left) void conclude(state, held, handlerLost);
  await untilIdle(state);
}

function untilIdle(state: State): Promise<void> {
  state.idle = Promise.withResolvers();
  checkIdle(state);
  return state.idle.promise;
}

function checkIdle({ running, lost, idle }: State): void {
  if (running.size === lost.size) idle.resolve();
}
