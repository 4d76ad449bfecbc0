// What a call on the wire is in the form of the history: by its method, the request and the answer.
// A method that is not in the table passes unrecorded.
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  AgentService,
  CompleteRequestSchema,
  type Next,
} from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import type { Run, Step } from "@drover/proto/drover/v1/run_pb.ts";
import {
  DecisionKind,
  type RunRef,
  type ScheduleRequest,
  type ScheduleResult,
  SchedulerService,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import { StatusSchema } from "@drover/proto/google/rpc/status_pb.ts";
import { outcomeDigest, outcomeFrom } from "../../server/api/agent/convert-outcome.ts";
import { requestDigest } from "../../server/api/calls/request-digest.ts";
import { concurrencyFrom } from "../../server/api/run/convert-concurrency.ts";
import { definitionFrom } from "../../server/api/workflow/convert-definition.ts";
import { answers } from "../../server/store/postgres/codes.ts";
import type { OkAnswer, PollWish, Request, ScheduleAsk } from "../simulation/history.ts";
import { MARK_LABEL, outcomeFact } from "../simulation/history-rows.ts";
import {
  heartbeatSeen,
  nameIn,
  reasonOf,
  reportSeen,
  runSeen,
  taskSeen,
  tokenSeen,
} from "../simulation/seen.ts";

export interface RecordedCall {
  readonly request: Request;
  answer(bytes: Uint8Array): OkAnswer;
}

/** What may be sent once more, later and to another server; null: nothing. */
type Replay = (bytes: Uint8Array) => Uint8Array | null;

interface RecordedMethod {
  readonly isStream: boolean;
  /** null: this one is not recorded. */
  read(bytes: Uint8Array): RecordedCall | null;
  readonly replay: Replay;
}

const METHODS = new Map<string, RecordedMethod>();

/** `path` as in HTTP: /drover.v1.AgentService/PollTask. */
export function recordedMethod(path: string): RecordedMethod | undefined {
  return METHODS.get(path);
}

function record<I extends DescMessage, O extends DescMessage>(
  method: DescMethod & { readonly input: I; readonly output: O },
  read: (request: MessageShape<I>) => {
    readonly asked: Request;
    readonly ok: (answer: MessageShape<O>) => OkAnswer;
  } | null,
  replay: Replay = () => null,
): void {
  METHODS.set(`/${method.parent.typeName}/${method.name}`, {
    isStream: method.methodKind === "server_streaming",
    replay,
    read(bytes) {
      const found = read(fromBinary(method.input, bytes));
      if (!found) return null;
      return {
        request: found.asked,
        answer: (answer) => found.ok(fromBinary(method.output, answer)),
      };
    },
  });
}

const asItIs: Replay = (bytes) => bytes;
const inNamespace = (name: string): string => (name === "" ? "default" : name);

/** Clients of this test name runs by their ids. */
function idOf(run: RunRef | undefined): string | null {
  return run?.ref.case === "runId" ? run.ref.value : null;
}

function hexOf(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString("hex");
}

function wishOf({ pollSeq, queues, tasks, maxTasks }: Omit<Next, "$typeName">): PollWish {
  const names = queues.map(({ name }) => name);
  return { pollSeq: Number(pollSeq), queues: names, tasks, tasksMax: maxTasks };
}

record(AgentService.method.pollTask, (request) => {
  const poll = wishOf(request);
  return {
    asked: {
      rpc: "PollTask",
      namespace: inNamespace(request.namespace),
      session: hexOf(request.agent?.session),
      poll,
      waitMs: request.wait ? durationMs(request.wait) : 0,
      lostPolls: request.lostPolls.map(Number),
    },
    ok: ({ tasks }) => ({
      kind: "polled",
      tasks: tasks.map((task) => taskSeen(task, poll.pollSeq)),
    }),
  };
});

record(
  AgentService.method.heartbeat,
  (request) => ({
    asked: {
      rpc: "Heartbeat",
      namespace: inNamespace(request.namespace),
      session: hexOf(request.agent?.session),
      tokens: request.reports.map(({ taskToken }) => tokenSeen(taskToken)),
      lostPolls: request.lostPolls.map(Number),
      listsAllTo: Number(request.listsAllTo),
    },
    ok: (message) => ({
      kind: "heartbeat-answered",
      answers: message.answers.map(heartbeatSeen),
    }),
  }),
  asItIs,
);

record(
  AgentService.method.complete,
  (request) => {
    const next = request.next ? wishOf(request.next) : null;
    return {
      asked: {
        rpc: "Complete",
        namespace: inNamespace(request.namespace),
        session: hexOf(request.agent?.session),
        results: request.results.map(({ taskToken, outcome }) => {
          const token = tokenSeen(taskToken);
          if (!outcome) throw new Error(`a report of ${token.runId} has no outcome`);
          const reported = outcomeFact(outcomeFrom(outcome, token.task));
          return { token, outcome: reported, digest: outcomeDigest(outcome) };
        }),
        next,
      },
      ok: (message) => ({
        kind: "completed",
        answers: message.answers.map(({ status, repeated }) => reportSeen(status, repeated)),
        tasks: message.tasks.map((task) => taskSeen(task, next?.pollSeq ?? 0)),
      }),
    };
  },
  // Its poll would take tasks for an agent that never hears of them.
  (bytes) => {
    const { next: _, ...rest } = fromBinary(CompleteRequestSchema, bytes);
    return toBinary(CompleteRequestSchema, create(CompleteRequestSchema, rest));
  },
);

function askOf(request: ScheduleRequest): ScheduleAsk {
  const { key, target, labels, startTime, concurrency, notify } = request;
  return {
    key: key === "" ? null : key,
    digest: requestDigest(request),
    mark: labels[MARK_LABEL] ?? "",
    workflow:
      target.case === "workflow"
        ? { name: target.value.name, version: target.value.version }
        : null,
    startAt: startTime ? timestampMs(startTime) : null,
    concurrency: concurrencyFrom(concurrency),
    notify: notify && notify.hook !== "" ? notify.hook : null,
  };
}

record(
  SchedulerService.method.schedule,
  (request) => ({
    asked: { rpc: "Schedule", namespace: inNamespace(request.namespace), ...askOf(request) },
    ok: ({ runId, created }) => ({ kind: "scheduled", runId, created }),
  }),
  asItIs,
);

record(
  SchedulerService.method.scheduleBatch,
  (request) => ({
    asked: {
      rpc: "ScheduleBatch",
      namespace: inNamespace(request.namespace),
      runs: request.runs.map(askOf),
    },
    ok: ({ results }) => ({ kind: "batch", results: results.map(resultSeen) }),
  }),
  asItIs,
);

function resultSeen({ status = create(StatusSchema), runId, created }: ScheduleResult) {
  return status.code === Code.OK
    ? ({ kind: "scheduled", runId, created } as const)
    : ({ kind: "refused", code: nameIn(Code, status.code), reason: reasonOf(status) } as const);
}

record(SchedulerService.method.registerWorkflow, (request) => {
  const { source } = request;
  if (source.case !== "definition") return null;
  const definition = definitionFrom(source.value);
  return {
    asked: { rpc: "RegisterWorkflow", namespace: inNamespace(request.namespace), definition },
    ok: ({ name, version, created }) => ({ kind: "registered", name, version, created }),
  };
});

interface AboutRun {
  readonly namespace: string;
  readonly run?: RunRef | undefined;
}

function aboutRun(request: AboutRun) {
  const runId = idOf(request.run);
  return runId === null ? null : { namespace: inNamespace(request.namespace), runId };
}

const done = ({ run, repeated }: { run?: Run | undefined; repeated?: boolean }): OkAnswer => ({
  kind: "done",
  run: run ? runSeen(run, []) : null,
  repeated: repeated ?? false,
});

const read = (run: Run | undefined, steps: readonly Step[]): OkAnswer => ({
  kind: "read",
  run: runSeen(run, steps),
});

record(SchedulerService.method.getRun, (request) => {
  const about = aboutRun(request);
  return about && { asked: { rpc: "GetRun", ...about }, ok: ({ run, steps }) => read(run, steps) };
});

record(SchedulerService.method.waitRun, (request) => {
  const about = aboutRun(request);
  return about && { asked: { rpc: "WaitRun", ...about }, ok: ({ run }) => read(run, []) };
});

record(SchedulerService.method.watchRun, (request) => {
  const about = aboutRun(request);
  return (
    about && { asked: { rpc: "WatchRun", ...about }, ok: ({ run, steps }) => read(run, steps) }
  );
});

record(SchedulerService.method.listRuns, (request) => ({
  asked: { rpc: "ListRuns", namespace: inNamespace(request.namespace) },
  ok: ({ runs }) => ({ kind: "listed", runs: runs.map((run) => runSeen(run, [])) }),
}));

record(
  SchedulerService.method.cancelRun,
  (request) => {
    const about = aboutRun(request);
    const undo = request.undo !== Undo.LEAVE;
    return (
      about && {
        asked: { rpc: "CancelRun", ...about, undo },
        ok: ({ run }) => ({ kind: "cancelled", run: runSeen(run, []) }),
      }
    );
  },
  asItIs,
);

record(SchedulerService.method.pauseRun, (request) => {
  const about = aboutRun(request);
  return about && { asked: { rpc: "PauseRun", ...about }, ok: done };
});

record(SchedulerService.method.resumeRun, (request) => {
  const about = aboutRun(request);
  return about && { asked: { rpc: "ResumeRun", ...about }, ok: done };
});

record(
  SchedulerService.method.signal,
  (request) => {
    const about = aboutRun(request);
    const { name, signalId } = request;
    return about && { asked: { rpc: "Signal", ...about, name, signalId }, ok: done };
  },
  asItIs,
);

record(
  SchedulerService.method.decide,
  (request) => {
    const about = aboutRun(request);
    const { stepId, approver, decision } = request;
    const approved = decision === DecisionKind.APPROVE;
    return about && { asked: { rpc: "Decide", ...about, stepId, approver, approved }, ok: done };
  },
  asItIs,
);

record(OperatorService.method.listEscalations, (request) => ({
  asked: { rpc: "ListEscalations", namespace: inNamespace(request.namespace) },
  ok: ({ escalations }) => ({
    kind: "asked",
    questions: escalations.map(({ runId, id }) => ({ runId, n: Number(id) })),
  }),
}));

record(OperatorService.method.resolveEscalation, (request) => {
  const about = aboutRun(request);
  const answer = answers.names.find((name) => name === request.answer);
  if (!about || !answer) return null;
  const n = Number(request.escalationId);
  return { asked: { rpc: "ResolveEscalation", ...about, n, answer, by: request.by }, ok: done };
});

const changed: OkAnswer = { kind: "done", run: null, repeated: false };

record(SchedulerService.method.createSchedule, ({ namespace, name }) => ({
  asked: {
    rpc: "ChangeSchedule",
    namespace: inNamespace(namespace),
    schedule: name,
    did: "create",
  },
  ok: () => changed,
}));

record(SchedulerService.method.pauseSchedule, ({ namespace, name }) => ({
  asked: { rpc: "ChangeSchedule", namespace: inNamespace(namespace), schedule: name, did: "pause" },
  ok: () => changed,
}));
