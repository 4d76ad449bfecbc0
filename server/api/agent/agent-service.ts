// AgentService: poll, heartbeat, complete, append logs. Batches are split here: an item that is
// invalid gets its own answer and never reaches dispatch; the other items go to dispatch in one
// call.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type {
  Agent,
  AgentProcess,
  AgentService,
  AppendLogsRequest,
  CompleteAnswerSchema,
  HeartbeatAnswerSchema,
  Next,
  PollTaskRequest,
  QueueWeight,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import type { Clock } from "../../clock.ts";
import { DEFAULT_QUEUE } from "../../core/plan/plan.ts";
import type {
  AgentIdentity,
  Dispatcher,
  HeartbeatResult,
  LogAppends,
  PollAnswer,
  ResultAnswer,
} from "../../dispatch/dispatcher.ts";
import { parseTaskToken, type TaskToken } from "../../dispatch/token.ts";
import { DroverError } from "../../errors.ts";
import type { AgentProcessSeen } from "../../store/operators.ts";
import type { Namespace } from "../../store/store.ts";
import type { Drain } from "../calls/drain.ts";
import { refusal, toStatus, visibleError } from "../calls/errors.ts";
import type { Handlers, Log } from "../calls/mount.ts";
import type { Namespaces } from "../calls/namespace-names.ts";
import { payloadFrom } from "../calls/payload.ts";
import type { ItemErrors } from "../calls/request-check.ts";
import { aborted, waitMs, whileWaiting } from "../calls/waits.ts";
import { linesAnswer, linesError, logTextFrom } from "./append-logs.ts";
import { outcomeDigest, outcomeFrom } from "./convert-outcome.ts";
import { progressText } from "./convert-progress.ts";
import { taskMessage, wholeMs } from "./convert-task.ts";

interface AgentServiceDeps {
  readonly dispatcher: Dispatcher;
  readonly logs: LogAppends;
  readonly namespaces: Namespaces;
  readonly drain: Drain;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * How long a poll is held when there is no room for it to wait. A longer pause would keep its agent
 * from tasks after room is free again; a shorter one would cost more calls: a thousand such agents
 * poll 200 times a second.
 */
const PAUSE_MS = 5_000;

/** Fields whose items have their own answers. */
export const AGENT_ITEM_FIELDS = Object.freeze({
  Heartbeat: "reports",
  Complete: "results",
  AppendLogs: "logs",
});

type HeartbeatAnswerInit = MessageInitShape<typeof HeartbeatAnswerSchema>;
type CompleteAnswerInit = MessageInitShape<typeof CompleteAnswerSchema>;

/** An item after its own check: the request to dispatch, or the error that refuses it. */
type Item<T> =
  | { readonly kind: "asked"; readonly ask: T }
  | { readonly kind: "refused"; readonly error: DroverError };

export function createAgentService(deps: AgentServiceDeps): Handlers<typeof AgentService> {
  const { dispatcher, namespaces, clock } = deps;
  const toAnswer = (answer: ResultAnswer) => completeAnswer(answer, deps.log);
  return Object.freeze({
    async pollTask(request, { signal, deadlineMs, pauses }) {
      const namespace = await namespaces.find(request.namespace);
      const wait = waitMs(request.wait, deadlineMs);
      const poll = pollFrom(request, namespace, wait, clock.wallMs());
      if (pauses) {
        await whileWaiting(deps, signal, { afterMs: Math.min(wait, PAUSE_MS) }, aborted);
        return {};
      }
      const answer = await whileWaiting(deps, signal, {}, (over) =>
        dispatcher.poll(poll, { over, gone: signal }).catch(emptyWhenDraining(deps.drain)),
      );
      return { tasks: tasksOf(deps, answer, namespace), waited: waitedField(answer) };
    },

    async heartbeat(request, { itemErrors }) {
      const namespace = await namespaces.find(request.namespace);
      const items = request.reports.map((report, index) =>
        itemOf(index, "reports", itemErrors, report.taskToken, namespace, (token) => ({
          token,
          progress: progressText(report.progress),
          details: payloadFrom(report.details),
        })),
      );
      const answers = await dispatcher.heartbeat({
        namespace,
        agent: identityOf(request.agent),
        lostPolls: pollNumbers(request.lostPolls, "lost_polls"),
        // If a report was refused, the list of reports is incomplete.
        listsAllTo: items.every(({ kind }) => kind === "asked")
          ? pollNumber(request.listsAllTo, "lists_all_to")
          : 0,
        reports: asked(items),
      });
      return { answers: merged(items, answers, heartbeatAnswer, heartbeatError) };
    },

    async complete(request, { itemErrors, signal }) {
      const namespace = await namespaces.find(request.namespace);
      const items = request.results.map(({ taskToken, outcome }, index) =>
        itemOf(index, "results", itemErrors, taskToken, namespace, (token) => {
          if (!outcome) throw new Error("a result without an outcome has passed the rules");
          return {
            token,
            outcome: outcomeFrom(outcome, token.task),
            digest: outcomeDigest(outcome),
          };
        }),
      );
      const next = request.next ? nextFrom(request.next) : null;
      const results = asked(items);
      if (results.length === 0 && next === null)
        return { answers: merged(items, [], toAnswer, refused) };
      const answer = await dispatcher.complete(
        { namespace, agent: identityOf(request.agent), results, next },
        signal,
      );
      return {
        answers: merged(items, answer.answers, toAnswer, refused),
        tasks: tasksOf(deps, answer, namespace),
        waited: waitedField(answer),
      };
    },

    appendLogs: (request, { itemErrors }) => appendLogs(deps, request, itemErrors),
  }) satisfies Handlers<typeof AgentService>;
}

function tasksOf({ logs }: AgentServiceDeps, { tasks }: PollAnswer, { name }: Namespace) {
  return tasks.map((task) => taskMessage(task, logs.offBy(name) === null));
}

async function appendLogs(
  { namespaces, logs }: AgentServiceDeps,
  request: AppendLogsRequest,
  itemErrors: ItemErrors,
) {
  const namespace = await namespaces.find(request.namespace);
  const items = request.logs.map(({ taskToken, firstLine: first, lines }, index) =>
    itemOf(index, "logs", itemErrors, taskToken, namespace, (token) => ({
      token,
      namespaceId: namespace.id,
      first,
      lines: lines.map(logTextFrom),
    })),
  );
  const tasks = asked(items);
  const answers = tasks.length === 0 ? [] : await logs.append(namespace.name, tasks);
  return { answers: merged(items, answers, linesAnswer, linesError) };
}

/** A poll that the drain ended is answered with no tasks: the agent polls another server. */
function emptyWhenDraining(drain: Drain): (error: unknown) => PollAnswer {
  return (error) => {
    if (!drain.isDraining || error instanceof DroverError) throw error;
    return { tasks: [], waitedMs: 0 };
  };
}

/** `nowMs`: when the call arrived, by the wall clock of this server. */
function pollFrom(request: PollTaskRequest, namespace: Namespace, wait: number, nowMs: number) {
  return {
    namespace,
    agent: identityOf(request.agent),
    ...wantedFrom(request, ""),
    waitMs: wait,
    lostPolls: pollNumbers(request.lostPolls, "lost_polls"),
    ...(request.process && { process: processOf(request.process, nowMs) }),
  };
}

function processOf(process: AgentProcess, nowMs: number): AgentProcessSeen {
  const { host, pid, runningFor, capacity, clockTime } = process;
  return {
    host,
    pid: pid || null,
    capacity: capacity || null,
    startedAgoMs: runningFor ? Math.round(durationMs(runningFor)) : null,
    clockAheadMs: clockTime ? Math.round(timestampMs(clockTime) - nowMs) : null,
  };
}

function nextFrom(next: Next) {
  return wantedFrom(next, "next.");
}

function wantedFrom(
  wanted: Pick<Next, "pollSeq" | "queues" | "tasks" | "maxTasks">,
  at: "" | "next.",
) {
  return {
    pollSeq: pollNumber(wanted.pollSeq, `${at}poll_seq`),
    queues: queuesFrom(wanted.queues),
    tasks: [...wanted.tasks],
    maxTasks: wanted.maxTasks === 0 ? 1 : wanted.maxTasks,
  };
}

export function queuesFrom(queues: readonly QueueWeight[]) {
  if (queues.length === 0) return [{ name: DEFAULT_QUEUE, weight: 1 }];
  return queues.map(({ name, weight }) => ({ name, weight: weight === 0 ? 1 : weight }));
}

function pollNumbers(numbers: readonly bigint[], path: string): number[] {
  return numbers.map((number, index) => pollNumber(number, `${path}[${index}]`));
}

/**
 * Polls are numbered one by one, so an agent never counts to a number that a double cannot hold.
 */
function pollNumber(number: bigint, path: string): number {
  if (number <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(number);
  const message = `${number} is too large: count the polls of a session from 1`;
  throw refusal("INVALID_REQUEST", [{ path, message }]);
}

function identityOf(agent: Agent | undefined): AgentIdentity {
  if (!agent) throw new Error("a request without an agent has passed the rules");
  return {
    id: agent.id,
    session: Buffer.from(agent.session).toString("hex"),
    version: agent.version,
    labels: agent.labels,
  };
}

function itemOf<T>(
  index: number,
  field: "reports" | "results" | "logs",
  errors: ItemErrors,
  tokenText: string,
  namespace: Namespace,
  ask: (token: TaskToken) => T,
): Item<T> {
  const error = errors.get(index);
  if (error) return { kind: "refused", error };
  try {
    return { kind: "asked", ask: ask(tokenFrom(tokenText, namespace, `${field}[${index}]`)) };
  } catch (thrown) {
    if (thrown instanceof DroverError) return { kind: "refused", error: thrown };
    throw thrown;
  }
}

function tokenFrom(text: string, namespace: Namespace, at: string): TaskToken {
  const path = `${at}.task_token`;
  const token = parseTaskToken(text);
  if (token === null) {
    const message = "was not issued by this server: send it exactly as it came with the task";
    throw refusal("MALFORMED_TOKEN", [{ path, message }]);
  }
  if (token.namespace !== namespace.name) {
    const message = `names no task of the namespace "${namespace.name}": drop the task`;
    throw refusal("TASK_NOT_FOUND", [{ path, message }]);
  }
  return token;
}

function asked<T>(items: readonly Item<T>[]): T[] {
  return items.flatMap((item) => (item.kind === "asked" ? [item.ask] : []));
}

/**
 * Merges the answers of dispatch, in order, with the answers of the items that were refused before.
 */
function merged<T, Answer, Out>(
  items: readonly Item<T>[],
  answers: readonly Answer[],
  toMessage: (answer: Answer) => Out,
  refusedBy: (error: DroverError) => Out,
): Out[] {
  let at = 0;
  const out = items.map((item) => {
    if (item.kind === "refused") return refusedBy(item.error);
    const answer = answers[at++];
    if (answer === undefined) throw new Error("dispatch gave fewer answers than it was asked");
    return toMessage(answer);
  });
  if (at !== answers.length) throw new Error("dispatch gave more answers than it was asked");
  return out;
}

function heartbeatAnswer(result: HeartbeatResult): HeartbeatAnswerInit {
  switch (result.kind) {
    case "carry-on":
      return { answer: { case: "carryOn", value: { leaseFor: wholeMs(result.leaseMs) } } };
    case "cancel":
      return { answer: { case: "cancel", value: { within: wholeMs(result.withinMs) } } };
    case "lease-lost":
      return { answer: { case: "leaseLost", value: {} } };
    case "unanswered":
      return {};
  }
}

function heartbeatError(error: DroverError): HeartbeatAnswerInit {
  return { answer: { case: "error", value: toStatus(error) } };
}

function completeAnswer(answer: ResultAnswer, log: Log): CompleteAnswerInit {
  if (answer.kind === "accepted")
    return { status: create(StatusSchema), repeated: answer.repeated };
  const error = visibleError(answer.error, (defect) =>
    log.error(
      { err: defect, method: "Complete" },
      "a result met a defect and was answered INTERNAL",
    ),
  );
  return { status: toStatus(error) };
}

function refused(error: DroverError): CompleteAnswerInit {
  return { status: toStatus(error) };
}

/**
 * Rounded down: the agent adds it to the time at which it sent the call, so more would lengthen its
 * lease.
 */
function waitedField({ waitedMs }: PollAnswer) {
  return wholeMs(waitedMs);
}
