// What people and the outside world send to a run, by script. Each returns what its caller
// received: "done", "repeated", or the reason of the refusal.
import { create, type DescMethodUnary, type MessageShape } from "@bufbuild/protobuf";
import {
  OperatorService,
  ResolveEscalationRequestSchema,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import {
  CompleteDeferredRequestSchema,
  PauseRunRequestSchema,
  RerunFromRequestSchema,
  ResumeRunRequestSchema,
  RetryRunRequestSchema,
  SchedulerService,
  SignalRequestSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { outcomeDigest } from "../../../server/api/agent/convert-outcome.ts";
import type { Reported } from "../../../server/core/model/event.ts";
import type { AnswerKind } from "../../../server/core/model/history.ts";
import type { Handed } from "../agent-calls.ts";
import type { Answer, Request } from "../history.ts";
import { outcomeFact } from "../history-rows.ts";
import { outcomeMessage } from "../reports.ts";
import { runSeen } from "../seen.ts";
import type { Via } from "./scripted-agent.ts";

const NAMESPACE = "default";

/** How a client sends. */
export type Send = <M extends DescMethodUnary>(
  via: Via,
  asked: Request,
  method: M,
  request: MessageShape<M["input"]>,
  ok: (message: MessageShape<M["output"]>) => Answer,
) => Promise<Answer>;

export interface ScriptedPeople {
  pause(runId: string, via?: Via): Promise<string>;
  resume(runId: string, via?: Via): Promise<string>;
  signal(runId: string, name: string, signalId: string, via?: Via): Promise<string>;
  answer(runId: string, n: number, answer: AnswerKind, via?: Via): Promise<string>;
  /** By the callback token of a task. */
  callBack(task: Handed, outcome: Reported, via?: Via): Promise<string>;
  /** `from`: null: what did not succeed. The id of the new run, or the reason of the refusal. */
  doAgain(runId: string, requestId: string, from?: string | null, via?: Via): Promise<string>;
}

type Run = Parameters<typeof runSeen>[0];

const done = ({ run, repeated = false }: { run?: Run; repeated?: boolean }): Answer => ({
  kind: "done",
  run: run ? runSeen(run, []) : null,
  repeated,
});

function textOf(answer: Answer): string {
  if (answer.kind === "done") return answer.repeated ? "repeated" : "done";
  if (answer.kind === "scheduled") return answer.runId;
  return answer.kind === "refused" ? answer.reason : answer.kind;
}

const refOf = (runId: string) => ({ ref: { case: "runId", value: runId } }) as const;

export function createScriptedPeople(send: Send): ScriptedPeople {
  const { pauseRun, resumeRun, signal, completeDeferred, retryRun, rerunFrom } =
    SchedulerService.method;
  const namespace = NAMESPACE;
  const scheduled = ({ runId, created }: { runId: string; created: boolean }): Answer => ({
    kind: "scheduled",
    runId,
    created,
  });

  return Object.freeze({
    async pause(runId: string, via: Via = {}) {
      const request = create(PauseRunRequestSchema, { namespace, run: refOf(runId), reason: "" });
      return textOf(
        await send(via, { rpc: "PauseRun", namespace, runId }, pauseRun, request, done),
      );
    },
    async resume(runId: string, via: Via = {}) {
      const request = create(ResumeRunRequestSchema, { namespace, run: refOf(runId), reason: "" });
      return textOf(
        await send(via, { rpc: "ResumeRun", namespace, runId }, resumeRun, request, done),
      );
    },
    async signal(runId: string, name: string, signalId: string, via: Via = {}) {
      const asked = { rpc: "Signal", namespace, runId, name, signalId } as const;
      const request = create(SignalRequestSchema, {
        namespace,
        run: refOf(runId),
        name,
        signalId,
      });
      return textOf(await send(via, asked, signal, request, done));
    },
    async answer(runId: string, n: number, answer: AnswerKind, via: Via = {}) {
      const asked = { rpc: "ResolveEscalation", namespace, runId, n, answer, by: "ann" } as const;
      const request = create(ResolveEscalationRequestSchema, {
        namespace,
        run: refOf(runId),
        escalationId: String(n),
        answer,
        by: "ann",
        why: "so",
      });
      const method = OperatorService.method.resolveEscalation;
      return textOf(await send(via, asked, method, request, done));
    },
    async callBack({ task, token }: Handed, outcome: Reported, via: Via = {}) {
      if (outcome.kind !== "success" && outcome.kind !== "failure")
        throw new Error("a callback reports that it succeeded or failed");
      const message = outcomeMessage(outcome);
      const { kind } = message;
      if (kind.case !== "success" && kind.case !== "failed") throw new Error("no such callback");
      // A callback token does not contain the secret.
      const result = {
        token: { ...token, secret: "" },
        outcome: outcomeFact(outcome),
        digest: outcomeDigest(message),
      };
      const { callbackToken } = task;
      const request = create(CompleteDeferredRequestSchema, { callbackToken, outcome: kind });
      const asked = { rpc: "CompleteDeferred", namespace, result } as const;
      return textOf(await send(via, asked, completeDeferred, request, done));
    },
    async doAgain(runId: string, requestId: string, from: string | null = null, via: Via = {}) {
      const common = { namespace, runId, requestId, from, digest: String(from) };
      const run = { namespace, run: refOf(runId), requestId };
      if (from === null) {
        const request = create(RetryRunRequestSchema, run);
        const asked = { rpc: "RetryRun", ...common } as const;
        return textOf(await send(via, asked, retryRun, request, scheduled));
      }
      const request = create(RerunFromRequestSchema, { ...run, stepId: from });
      const asked = { rpc: "RerunFrom", ...common } as const;
      return textOf(await send(via, asked, rerunFrom, request, scheduled));
    },
  } satisfies ScriptedPeople);
}
