/**
 * The runtime of an agent: polls for tasks, runs their handlers in parallel, renews their leases
 * with heartbeats, reports their outcomes, and drains when it is stopped.
 *
 *   created -> running -> draining -> stopped
 *
 * The agent survives restarts of the server: it polls again, continues its heartbeats, and repeats
 * reports until they are answered. It ends when `stop` is called, or when a handler ignores
 * cancellation (see `cancelGrace`).
 */
import type { CompleteResponse } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { type Task, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { type AgentCalls, createAgentCalls } from "./agent-calls.ts";
import { type AgentOptions, type AgentSettings, checkAgentOptions } from "./agent-options.ts";
import { type Attempts, createAttempts } from "./attempts.ts";
import { DroverCallError } from "./call-error.ts";
import { fromDuration } from "./duration.ts";
import { createHeartbeats, type Heartbeats } from "./heartbeats.ts";
import { type HeldTask, holdTask } from "./held-task.ts";
import { released } from "./outcomes.ts";
import { createPolling, type Polling } from "./polling.ts";
import { createPolls, type Polls } from "./polls.ts";
import { createReports, type Reports, type Result, withinLeases } from "./reports.ts";
import { createTaskLogs, type TaskLogs } from "./task-logs.ts";

export type { AgentOptions };

export interface Agent {
  /** Starts to poll. May be called twice, but not after `stop`. */
  start(): void;
  /**
   * Drains the agent: it takes no further task, releases tasks that it has not started, lets
   * handlers finish within `grace` and then stops them, reports, and closes. May be called twice.
   */
  stop(): Promise<void>;
  /**
   * Resolves when the agent has stopped; rejects if a handler ignored cancellation, see
   * `cancelGrace`.
   */
  readonly done: Promise<void>;
}

/** With more reports than this waiting for their answer, the agent takes no further task. */
const reportsWaitingMax = 1_000;
/** Time for reports to be answered when the agent stops, even if their leases have ended. */
const stopMs = 5_000;
/** Timeout of the heartbeat that only names lost polls. */
const farewellMs = 2_000;
/** Time for the last lines of handlers to be stored when the agent stops. */
const lastLinesMs = 2_000;
/** A newer server may send other kinds, for newer agents. */
const knownKinds: readonly TaskKind[] = [TaskKind.PERFORM, TaskKind.VERIFY, TaskKind.COMPENSATE];

interface State {
  readonly settings: AgentSettings;
  readonly calls: AgentCalls;
  /** From the answer that brought them to the answer to their report. */
  readonly held: Set<HeldTask>;
  readonly attempts: Attempts;
  readonly polls: Polls;
  readonly polling: Polling;
  readonly heartbeats: Heartbeats;
  readonly reports: Reports;
  readonly logs: TaskLogs;
  phase: "created" | "running" | "draining";
  /** Why the agent stops by itself; null: it does not. */
  failure: Error | null;
  readonly ended: PromiseWithResolvers<void>;
  readonly onSignal: () => void;
}

export function createAgent(options: AgentOptions): Agent {
  const settings = checkAgentOptions(options);
  const { clock, log } = settings;
  const polls = createPolls(clock);
  const calls = createAgentCalls(settings, polls);
  const heartbeats = createHeartbeats({
    clock,
    log,
    send: calls.heartbeat,
    endedTo: polls.endedTo,
  });
  const logs = createTaskLogs({ clock, log, send: calls.appendLogs });
  const attempts = createAttempts({
    settings,
    heartbeats,
    logs,
    onEnded(task, outcome): void {
      reports.add(task, outcome);
      polling.wake();
    },
    onLost: (error) => fail(state, error),
  });
  const reports = createReports({
    clock,
    log,
    send: (results) => complete(state, results),
    onAnswered: (task) => letGo(state, task),
  });
  const polling = createPolling({
    clock,
    log,
    polls,
    waitMs: settings.pollWaitMs,
    queues: settings.queues,
    tasks: [...settings.handlers.keys()],
    free: () => freeSlots(state),
    reporting: reports.pending,
    send: calls.poll,
    receive: (tasks, sentMs, waitedMs) => receive(state, tasks, sentMs, waitedMs),
  });
  const state: State = {
    settings,
    calls,
    held: new Set(),
    attempts,
    polls,
    polling,
    heartbeats,
    reports,
    logs,
    phase: "created",
    failure: null,
    ended: Promise.withResolvers(),
    onSignal: () => void stop(state),
  };
  return Object.freeze({
    start: () => start(state),
    stop: () => stop(state),
    done: state.ended.promise,
  });
}

function start(state: State): void {
  const { settings, polling, onSignal } = state;
  if (state.phase === "draining") throw new Error("This agent was stopped; create another one.");
  if (state.phase === "running") return;
  state.phase = "running";
  if (settings.handleSignals) {
    process.once("SIGTERM", onSignal);
    process.once("SIGINT", onSignal);
  }
  const { log, id, handlers, slots } = settings;
  log.info({ id, tasks: [...handlers.keys()], slots }, "agent started");
  polling.wake();
}

function freeSlots({ settings, held, attempts }: State): number {
  const running = attempts.running();
  return held.size - running > reportsWaitingMax ? 0 : settings.slots - running;
}

function receive(state: State, tasks: readonly Task[], sentMs: number, waitedMs: number): void {
  const { settings, held, attempts, heartbeats, reports } = state;
  for (const task of tasks) {
    const taken = holdTask(settings.clock, task, sentMs, waitedMs);
    held.add(taken);
    heartbeats.add(taken);
    const handler = knownKinds.includes(task.kind) ? settings.handlers.get(task.task) : undefined;
    // The task came too late, or while draining: it was not started, so another agent can take it
    // at once.
    if (handler === undefined || state.phase === "draining" || taken.leftMs() === 0) {
      taken.end();
      reports.add(taken, released);
    } else {
      attempts.run(taken, handler);
    }
  }
}

async function complete({ calls, polling }: State, results: Result[]): Promise<CompleteResponse> {
  const poll = polling.carry(results.length);
  try {
    const answer = await calls.complete(results, poll?.next);
    poll?.answered(answer.tasks, fromDuration(answer.waited));
    return answer;
  } catch (error) {
    poll?.failed(error);
    throw error;
  }
}

function letGo({ held, heartbeats, polling }: State, task: HeldTask): void {
  held.delete(task);
  task.close();
  heartbeats.remove(task);
  polling.wake();
}

function fail(state: State, error: Error): void {
  state.failure ??= error;
  void stop(state);
}

function stop(state: State): Promise<void> {
  const { ended, onSignal } = state;
  if (state.phase === "draining") return ended.promise;
  state.phase = "draining";
  process.off("SIGTERM", onSignal);
  process.off("SIGINT", onSignal);
  drain(state).then(ended.resolve, ended.reject);
  return ended.promise;
}

async function drain(state: State): Promise<void> {
  const { settings, calls, held, attempts, polling, heartbeats, reports } = state;
  const { clock, log } = settings;
  log.info({ running: attempts.running() }, "agent draining");
  await polling.stop();
  await nameLostPolls(state);
  await attempts.finish();
  if (!(await withinLeases(clock, stopMs, held, reports.flushed())))
    log.error({ reports: held.size }, "agent stops with reports unanswered: no lease lasts");
  await nameLostPolls(state);
  await state.logs.stop(lastLinesMs);
  reports.stop();
  heartbeats.stop();
  for (const task of held) task.close();
  calls.close();
  log.info({}, "agent stopped");
  if (state.failure !== null) throw state.failure;
}

/** When no further poll can name the lost polls, a heartbeat names them. */
async function nameLostPolls({ settings, calls, polls }: State): Promise<void> {
  if (polls.lostPolls().length === 0) return;
  try {
    await calls.heartbeat([], 0n, farewellMs);
  } catch (error) {
    if (!(error instanceof DroverCallError)) throw error;
    const message = `lost polls could not be named: ${error.message}`;
    settings.log.warn({ code: error.code }, message);
  }
}
