// Implements the Dispatcher. Polls park as waiters and are served by claims; reports become events
// of their runs (scheduler/advance.ts); heartbeats are batched. Tasks of polls that an agent names
// as lost are given back (lost-polls.ts): a poll waits for that, a heartbeat does not.
import type { Clock } from "../clock.ts";
import { DroverError } from "../errors.ts";
import type { Advance, Advanced, BatchNo } from "../scheduler/advance.ts";
import type { LostPolls } from "../store/heartbeats.ts";
import type { AgentPoll } from "../store/operators.ts";
import { partitionOf } from "../store/partition.ts";
import type { Namespace, RunRef } from "../store/store.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import type { Claims } from "./claims.ts";
import type {
  CompleteAnswer,
  CompleteRequest,
  Dispatcher,
  HeartbeatResult,
  PollAnswer,
  PollEnds,
  PollRequest,
  ResultAnswer,
  SessionHeartbeatRequest,
} from "./dispatcher.ts";
import type { Heartbeats } from "./heartbeats.ts";
import type { Lanes } from "./lanes.ts";
import type { LostPollsHandler } from "./lost-polls.ts";
import { parseTaskToken, type TaskToken } from "./token.ts";
import { NOTHING, type Parked, type ServedTasks, type Waiters } from "./waiters.ts";

interface DispatchOptions {
  readonly clock: Clock;
  readonly advance: Pick<Advance, "admit" | "ask" | "submit">;
  /** Claims from these lanes, in every shard. Resolves when all have been scanned. */
  readonly scan: Claims["scan"];
  readonly waiters: Waiters;
  readonly lanes: Lanes;
  readonly heartbeats: Heartbeats;
  readonly lostPolls: Pick<LostPollsHandler, "giveBack">;
  readonly agentRegistry: AgentRegistry;
  readonly onError: (error: unknown) => void;
}

type Ask = Omit<PollRequest, "waitMs" | "lostPolls" | "process">;

export function createDispatch(options: DispatchOptions): Dispatcher {
  return Object.freeze({
    poll: (request, ends) => poll(options, request, ends),
    heartbeat: (request) => heartbeat(options, request),
    complete: (request, signal) => complete(options, request, signal),
  } satisfies Dispatcher);
}

async function poll(
  options: DispatchOptions,
  request: PollRequest,
  { over, gone }: PollEnds,
): Promise<PollAnswer> {
  const { clock, agentRegistry, lostPolls, scan } = options;
  const arrivedAtMs = clock.monotonicMs();
  await lostPolls.giveBack(lostPollsOf(request));
  const parked = await park(options, request, false);
  const scanned = scan(parked.waiter.lanes.map(({ lane }) => lane));
  // However short its wait is, a poll ends only after one scan.
  const { agent, namespace, process } = request;
  const left = agentRegistry.parked(agent, namespace.id, pollOf(request), process);
  const timer = clock.after(request.waitMs, () => void scanned.then(parked.end));
  for (const end of [over, gone]) {
    if (end.aborted) parked.end();
    end.addEventListener("abort", parked.end, { once: true });
  }
  try {
    const served = await parked.served;
    if (gone.aborted) return giveBack(options, request.namespace, served);
    return answerOf(served, arrivedAtMs);
  } finally {
    timer.cancel();
    left(gone.aborted);
    for (const end of [over, gone]) end.removeEventListener("abort", parked.end);
  }
}

async function park(options: DispatchOptions, request: Ask, isCarried: boolean): Promise<Parked> {
  const { agent, pollSeq, namespace, maxTasks, queues, tasks } = request;
  const asks = { namespaceId: namespace.id, queues, tasks, agentVersion: agent.version };
  return options.waiters.park({
    agent,
    pollSeq,
    isCarried,
    namespace: namespace.name,
    namespaceId: namespace.id,
    places: maxTasks,
    asks,
    lanes: await options.lanes.of(asks),
  });
}

/** For operators: without the weights. */
function pollOf({ queues, tasks }: Pick<PollRequest, "queues" | "tasks">): AgentPoll {
  return { queues: queues.map(({ name }) => name), tasks };
}

function answerOf(served: ServedTasks, arrivedAtMs: number): PollAnswer {
  const waitedMs = Number.isNaN(served.grantedAtMs)
    ? 0
    : Math.max(0, Math.floor(served.grantedAtMs - arrivedAtMs));
  return { tasks: served.tasks, waitedMs };
}

/**
 * The call was cancelled before its answer was sent. A task that is given back is never delivered
 * as well: it would be performed twice.
 */
function giveBack(options: DispatchOptions, namespace: Namespace, served: ServedTasks): PollAnswer {
  for (const { runId, token } of served.tasks) {
    const parsed = parseTaskToken(token);
    if (!parsed) throw new Error("a token that this server made cannot be read");
    const { step, fence, secret } = parsed;
    options.advance
      .submit(runIn(namespace, runId), { kind: "undelivered", step, fence, secret })
      .catch(options.onError);
  }
  return { tasks: [], waitedMs: 0 };
}

function runIn({ region }: Namespace, runId: string): RunRef {
  return { runId, partition: partitionOf(region, runId) };
}

function lostPollsOf({
  namespace,
  agent,
  lostPolls: polls,
}: Pick<PollRequest, "namespace" | "agent" | "lostPolls">): LostPolls {
  return { namespaceId: namespace.id, session: agent.session, polls };
}

async function heartbeat(
  { agentRegistry, lostPolls, heartbeats }: DispatchOptions,
  request: SessionHeartbeatRequest,
): Promise<readonly HeartbeatResult[]> {
  agentRegistry.called(request.agent, request.namespace.id, null);
  void lostPolls.giveBack(lostPollsOf(request));
  // A lost poll may be granted a task after it was given back above. Such a task must not count as
  // forgotten by its agent, so `listsAllTo` stays below the lost polls.
  const before = Math.min(...request.lostPolls) - 1;
  return heartbeats.submit({
    listsAllTo: Math.min(request.listsAllTo ?? 0, before),
    namespaceId: request.namespace.id,
    session: request.agent.session,
    agentId: request.agent.id,
    agentVersion: request.agent.version,
    reports: request.reports.map(({ token, progress, details }) => ({
      runId: token.runId,
      step: token.step,
      fence: token.fence,
      secret: token.secret,
      progress,
      details,
    })),
  });
}

async function complete(
  options: DispatchOptions,
  request: CompleteRequest,
  signal: AbortSignal,
): Promise<CompleteAnswer> {
  const { clock, agentRegistry } = options;
  const arrivedAtMs = clock.monotonicMs();
  const { next, namespace, agent } = request;
  agentRegistry.called(agent, namespace.id, next && pollOf(next));
  const nextPoll = next ? await park(options, { ...next, namespace, agent }, true) : null;
  // The next poll may fail while the reports are pending. Its error is thrown only after them.
  nextPoll?.served.catch(() => undefined);
  try {
    const answers = await reportAll(options, request, nextPoll);
    if (answers.some((answer, index) => isSuccess(answer, request.results[index])))
      agentRegistry.succeeded(agent);
    nextPoll?.end();
    const served = nextPoll ? await nextPoll.served : NOTHING;
    const isGone = signal.aborted;
    return {
      answers,
      ...(isGone ? giveBack(options, namespace, served) : answerOf(served, arrivedAtMs)),
    };
  } catch (error) {
    nextPoll?.end();
    // Tasks that the next poll was granted are given back: this call does not return them.
    void nextPoll?.served.then(
      (served) => giveBack(options, namespace, served),
      () => undefined,
    );
    throw error;
  }
}

/** All results are admitted or none: a call that is refused has changed nothing. */
function reportAll(
  options: DispatchOptions,
  request: CompleteRequest,
  nextPoll: Parked | null,
): Promise<readonly ResultAnswer[]> {
  let unbatched = request.results.length;
  const onBatched = (batch: BatchNo): void => {
    if (--unbatched <= 0 && nextPoll) nextPoll.waiter.batch = batch;
  };
  const { results, namespace } = request;
  const runs = results.map(({ token: { runId } }) => runIn(namespace, runId));
  return options.advance.admit(runs, () =>
    Promise.all(results.map((result) => report(options, request, result, onBatched))),
  );
}

async function report(
  options: DispatchOptions,
  { namespace, agent }: CompleteRequest,
  { token, outcome, digest }: CompleteRequest["results"][number],
  onBatched: (batch: BatchNo) => void,
): Promise<ResultAnswer> {
  const run = runIn(namespace, token.runId);
  const { step, task, fence, secret } = token;
  const by = { agentId: agent.id, session: agent.session };
  try {
    const answer = await options.advance.ask(
      run,
      { kind: "report", step, task, fence, secret, outcome, digest, ...by },
      { namespaceId: namespace.id, onBatched },
    );
    return resultAnswer(answer, token);
  } catch (error) {
    // The store is unavailable for the whole call, and the outcome is unknown: repeat it unchanged.
    if (error instanceof DroverError && error.reason !== "INTERNAL") throw error;
    return { kind: "refused", error: error instanceof Error ? error : new Error(String(error)) };
  }
}

function isSuccess(answer: ResultAnswer, result: CompleteRequest["results"][number] | undefined) {
  return answer.kind === "accepted" && result?.outcome.kind === "success";
}

function resultAnswer(answer: Advanced, token: TaskToken): ResultAnswer {
  const metadata = { run_id: token.runId };
  const refused = (error: DroverError): ResultAnswer => ({ kind: "refused", error });
  switch (answer.kind) {
    case "done":
      return { kind: "accepted", repeated: false };
    case "repeated":
      return { kind: "accepted", repeated: true };
    case "lease-lost":
      return refused(
        new DroverError(
          "LEASE_LOST",
          `another task of this step was handed out since, or the step or run has ended (the run is ${answer.run}): the report is stored as evidence, drop the task`,
          { metadata: { ...metadata, run_state: answer.run } },
        ),
      );
    case "over":
      return refused(
        new DroverError(
          "TASK_OVER",
          `this task was ended by a report of ${answer.outcome} before, and another outcome cannot replace it: drop the task`,
          { metadata: { ...metadata, outcome: answer.outcome } },
        ),
      );
    case "no-such-task":
    case "no-such-run":
      return refused(
        new DroverError(
          "TASK_NOT_FOUND",
          "no task of this namespace has this token: report with the token of a task from PollTask",
          { metadata },
        ),
      );
    case "refused":
    case "fenced":
    case "full":
    case "no-such-signal":
    case "no-such-question":
      throw new Error(`a report was answered ${answer.kind}`);
  }
}
