/**
 * The runtime of an agent: polls for tasks, runs their handlers in parallel, renews their leases
 * with heartbeats, reports their outcomes, and drains when it is told to stop.
 *
 *   created -> running -> draining -> stopped
 *
 * The agent survives restarts of the server: it polls again, continues its heartbeats, and repeats
 * reports until they are answered. It ends when `stop` is called, or when a handler ignores
 * cancellation (see `cancelGrace`).
 */
import { AgentService, type CompleteResponse } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { type Outcome, type Task, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { type AgentOptions, checkAgentOptions } from "./agent-options.ts";
import { DroverCallError } from "./call-error.ts";
import { openChannel } from "./channel.ts";
import { within } from "./clock.ts";
import { fromDuration, toDuration } from "./duration.ts";
import { attempt, type Handler } from "./handler.ts";
import { createHeartbeats, type HeartbeatReport } from "./heartbeats.ts";
import { type HeldTask, holdTask } from "./held-task.ts";
import { attemptFields } from "./logger.ts";
import { handlerLost, released } from "./outcomes.ts";
import { createPolling, type PollCall } from "./polling.ts";
import { createPolls } from "./polls.ts";
import { createReports, type Result, withinLeases } from "./reports.ts";

export type { AgentOptions };

export interface Agent {
  /** Starts to poll. May be called twice, but not after `stop`. */
  start(): void;
  /**
   * Drains the agent: it takes no further task, releases tasks that it has not begun, lets handlers
   * finish within `grace` and then stops them, reports, and closes. May be called twice.
   */
  stop(): Promise<void>;
  /**
   * Resolves when the agent has stopped; rejects if a handler ignored cancellation, see
   * `cancelGrace`.
   */
  readonly done: Promise<void>;
}

/** Timeout of one Heartbeat or Complete. */
const callMs = 10_000;
/** The server answers a poll at the latest a second before its deadline. */
const pollMarginMs = 10_000;
/** With more reports than this waiting for their answer, the agent takes no further task. */
const reportsWaitingMax = 1_000;
/** Time for reports to be answered when the agent stops, even if their leases have ended. */
const stopMs = 5_000;
const farewellMs = 2_000;
/** How long a report waits for the details that are sent before it. */
const detailsMs = 2_000;
/** A newer server may send other kinds, for newer agents. */
const knownKinds: readonly TaskKind[] = [TaskKind.PERFORM, TaskKind.VERIFY, TaskKind.COMPENSATE];

export function createAgent(options: AgentOptions): Agent {
  const settings = checkAgentOptions(options);
  const { clock, log, namespace, handlers, slots } = settings;
  const channel = openChannel(settings.address, settings.token);
  const rpc = AgentService.method;
  const session = crypto.getRandomValues(new Uint8Array(16));
  const agent = { id: settings.id, session, version: settings.version, labels: settings.labels };

  const held = new Set<HeldTask>();
  const running = new Set<HeldTask>();
  const lost = new Set<HeldTask>(); // of those that run: their handlers ignore that they must stop
  const ending = new Set<HeldTask>(); // of those that run: their outcome is known
  const ended = Promise.withResolvers<void>();
  let state: "created" | "running" | "draining" = "created";
  /** Why the agent stops by itself; null: it does not. */
  let deaf: Error | null = null;
  /** Resolved when all handlers that still run are lost. */
  let idle = Promise.withResolvers<void>();

  const polls = createPolls(clock);
  const heartbeats = createHeartbeats({
    clock,
    log,
    send: (reports, listsAllTo) => heartbeat(reports, callMs, listsAllTo),
    endedTo: polls.endedTo,
  });
  const reports = createReports({
    clock,
    log,
    send: complete,
    onAnswered(task): void {
      held.delete(task);
      task.close();
      heartbeats.remove(task);
      polling.wake();
    },
  });

  const polling = createPolling({
    clock,
    log,
    polls,
    waitMs: settings.pollWaitMs,
    queues: settings.queues,
    tasks: [...handlers.keys()],
    free: () => (held.size - running.size > reportsWaitingMax ? 0 : slots - running.size),
    reporting: reports.pending,
    send: poll,
    receive,
  });

  function poll({ seq, maxTasks, waitMs, signal }: PollCall) {
    const request = {
      namespace,
      agent,
      pollSeq: seq,
      queues: [...settings.queues],
      tasks: [...handlers.keys()],
      maxTasks,
      wait: toDuration(waitMs),
      lostPolls: polls.lostPolls(),
    };
    return channel.unary(rpc.pollTask, request, { timeoutMs: waitMs + pollMarginMs, signal });
  }

  function heartbeat(heartbeatReports: HeartbeatReport[], timeoutMs: number, listsAllTo = 0n) {
    const lostPolls = polls.lostPolls();
    const request = { namespace, agent, lostPolls, reports: heartbeatReports, listsAllTo };
    return channel.unary(rpc.heartbeat, request, { timeoutMs });
  }

  async function complete(results: Result[]): Promise<CompleteResponse> {
    const ride = polling.ride(results.length);
    const request = { namespace, agent, results, ...(ride && { next: ride.next }) };
    try {
      const answer = await channel.unary(rpc.complete, request, { timeoutMs: callMs });
      ride?.answered(answer.tasks, fromDuration(answer.waited));
      return answer;
    } catch (error) {
      ride?.failed(error);
      throw error;
    }
  }

  function receive(tasks: readonly Task[], sentMs: number, waitedMs: number): void {
    for (const task of tasks) {
      const taken = holdTask(clock, task, sentMs, waitedMs);
      held.add(taken);
      heartbeats.add(taken);
      const handler = knownKinds.includes(task.kind) ? handlers.get(task.task) : undefined;
      // The task came too late, or while draining: it was not begun, so another agent can take it
      // at once.
      if (handler === undefined || state === "draining" || taken.leftMs() === 0) {
        taken.end();
        reports.add(taken, released);
      } else {
        void run(taken, handler);
      }
    }
  }

  async function run(taken: HeldTask, handler: Handler): Promise<void> {
    running.add(taken);
    const { codec } = settings;
    const end = Promise.withResolvers<Outcome>();
    taken.signal.addEventListener("abort", () => void expectEnd(taken, end.promise), {
      once: true,
    });
    end.resolve(attempt({ handler, held: taken, codec, log, noted: heartbeats.hurry }));
    await report(taken, await end.promise);
  }

  /** Only the first outcome counts: a handler that was reported as lost may still return one. */
  async function report(taken: HeldTask, outcome: Outcome): Promise<void> {
    if (!running.has(taken) || ending.has(taken)) return;
    ending.add(taken);
    // After a success no later attempt needs the details.
    if (outcome.kind.case !== "success")
      await within(clock, detailsMs, heartbeats.tellDetails(taken));
    for (const tasks of [running, lost, ending]) tasks.delete(taken);
    taken.end();
    reports.add(taken, outcome);
    polling.wake();
    lookIdle();
  }

  /**
   * Waits for a handler that was told to stop. One that does not would occupy its slot for ever.
   */
  async function expectEnd(taken: HeldTask, end: Promise<Outcome>): Promise<void> {
    const { cancelGraceMs } = settings;
    if (await within(clock, cancelGraceMs, end)) return;
    if (!running.has(taken) || ending.has(taken)) return;
    const { runId, stepId, task } = taken.task;
    const message = `a handler has ignored for ${cancelGraceMs} ms that it is to stop`;
    const fields = { ...attemptFields(taken.task), task };
    log.error(fields, `${message}; the agent drains and leaves it behind`);
    deaf ??= new Error(`${message}: task ${task} of run ${runId}, step ${stepId}`);
    lost.add(taken);
    lookIdle();
    void stop();
  }

  function lookIdle(): void {
    if (running.size === lost.size) idle.resolve();
  }

  function untilIdle(): Promise<void> {
    idle = Promise.withResolvers<void>();
    lookIdle();
    return idle.promise;
  }

  async function drain(): Promise<void> {
    log.info({ running: running.size }, "agent draining");
    await polling.stop();
    await nameLostPolls();
    await finishHandlers();
    if (!(await withinLeases(clock, stopMs, held, reports.flushed())))
      log.error({ reports: held.size }, "agent stops with reports unanswered: no lease lasts");
    await nameLostPolls();
    reports.stop();
    heartbeats.stop();
    for (const task of held) task.close();
    channel.close();
    log.info({}, "agent stopped");
    if (deaf !== null) throw deaf;
  }

  async function finishHandlers(): Promise<void> {
    if (!(await within(clock, settings.graceMs, untilIdle()))) {
      log.warn({ running: running.size }, "grace is over, handlers are told to stop");
      for (const task of running) task.stop("agent-stopped");
      // Each handler has ended by then, or is lost when its own grace is over.
      await untilIdle();
    }
    // Not earlier: the server verifies or retries a reported task at once, and until this process
    // ends the handlers may still act.
    const left = [...lost];
    lost.clear();
    for (const taken of left) void report(taken, handlerLost);
    await untilIdle();
  }

  /** When no further poll can name the lost polls, a heartbeat names them. */
  async function nameLostPolls(): Promise<void> {
    if (polls.lostPolls().length === 0) return;
    try {
      await heartbeat([], farewellMs);
    } catch (error) {
      if (!(error instanceof DroverCallError)) throw error;
      log.warn({ code: error.code }, `lost polls could not be named: ${error.message}`);
    }
  }

  const onSignal = () => void stop();

  function stop(): Promise<void> {
    if (state === "draining") return ended.promise;
    state = "draining";
    process.off("SIGTERM", onSignal);
    process.off("SIGINT", onSignal);
    drain().then(ended.resolve, ended.reject);
    return ended.promise;
  }

  return Object.freeze({
    start(): void {
      if (state === "draining") throw new Error("This agent was stopped; create another one.");
      if (state === "running") return;
      state = "running";
      if (settings.handleSignals) {
        process.once("SIGTERM", onSignal);
        process.once("SIGINT", onSignal);
      }
      log.info({ id: settings.id, tasks: [...handlers.keys()], slots }, "agent started");
      polling.wake();
    },
    stop,
    done: ended.promise,
  });
}
