// A client by script: each call goes to the named server, and is answered or not.
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  CancelRunRequestSchema,
  RegisterWorkflowRequestSchema,
  type ScheduleRequest,
  SchedulerService,
  Undo,
  WaitRunRequestSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { definitionMessage } from "../../../server/api/workflow/convert-definition.ts";
import type { Definition } from "../../../server/core/definition/definition.ts";
import { createVirtualProcess, type VirtualProcess } from "../../../simulator/virtual-process.ts";
import type { Answer, Request, ScheduleAsk } from "../history.ts";
import { MARK_LABEL } from "../history-rows.ts";
import { askOf, type Begin, scheduleRequest } from "../scheduling.ts";
import { answerSeen, canariesIn, runSeen } from "../seen.ts";
import type { ServerProcess } from "../server-process.ts";
import { canaryWords, type World } from "../world.ts";
import type { Via } from "./scripted-agent.ts";
import type { ScriptedFaults } from "./scripted-faults.ts";
import type { Send } from "./scripted-people.ts";

export interface ScheduleOptions
  extends Via,
    Partial<Pick<ScheduleAsk, "startAt" | "concurrency">> {
  readonly key?: string;
  /** Labels beside the mark, in this order. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The same intended run has the same mark; left out: another one for each call. */
  readonly mark?: string;
}

export type ScriptedTarget = Definition | { readonly name: string; readonly version: number };

export interface ScriptedClient {
  readonly send: Send;
  schedule(target: ScriptedTarget, options?: ScheduleOptions): Promise<Answer>;
  register(definition: Definition, options?: Via): Promise<Answer>;
  cancel(runId: string, undo: "undo" | "leave", options?: Via): Promise<Answer>;
  /** Waits for the end of a run. */
  wait(runId: string, waitMs: number, options?: Via): Promise<Answer>;
}

const NAMESPACE = "default";
const CALL_MS_MAX = 3_000;

export function createScriptedClient(
  world: World & { readonly faults: ScriptedFaults },
  name: string,
): ScriptedClient {
  const process = createVirtualProcess(name, world.time, world.chance.fork());
  let calls = 0;
  let marks = 0;

  type Made = { readonly answer: Answer; readonly bytes: Uint8Array };

  async function ask(
    via: Via,
    request: Request,
    send: (caller: VirtualProcess, server: ServerProcess, deadlineMs: number) => Promise<Made>,
  ): Promise<Answer> {
    const server = via.at ?? world.servers[0];
    if (!server) throw new Error("the world has no server");
    const call = world.recorder.call(name, server.name, request);
    const caller = { ...process, name: `${name}#${++calls}` };
    const { answer, bytes } = await world.faults.along(caller.name, via, () =>
      send(caller, server, via.deadlineMs ?? CALL_MS_MAX),
    );
    world.recorder.answer(name, call, answer, canariesIn(bytes, canaryWords(world)));
    return answer;
  }

  return Object.freeze({
    send: (via, asked, method, request, ok) =>
      ask(via, asked, async (caller, server, deadlineMs) => {
        const reply = await world.network.unary(caller, server, method, request, deadlineMs);
        return { answer: answerSeen(reply, ok), bytes: reply.bytes };
      }),
    schedule(target: ScriptedTarget, options: ScheduleOptions = {}) {
      const { key = null, mark = `run-${++marks}`, labels = {} } = options;
      const { startAt = null, concurrency = null } = options;
      const begin = { startAt, concurrency, priority: 0, notify: null };
      const request = requestOf(target, key, mark, labels, begin);
      const common = { rpc: "Schedule", namespace: NAMESPACE } as const;
      const asked = { ...common, ...askOf(request, key, mark, begin) };
      return ask(options, asked, async (caller, server, deadlineMs) => {
        const method = SchedulerService.method.schedule;
        const reply = await world.network.unary(caller, server, method, request, deadlineMs);
        const answer = answerSeen(reply, ({ runId, created }) => ({
          kind: "scheduled",
          runId,
          created,
        }));
        return { answer, bytes: reply.bytes };
      });
    },
    register(definition: Definition, options: Via = {}) {
      const request = create(RegisterWorkflowRequestSchema, {
        namespace: NAMESPACE,
        source: { case: "definition", value: definitionMessage(definition) },
      });
      const asked = { rpc: "RegisterWorkflow", namespace: NAMESPACE, definition } as const;
      return ask(options, asked, async (caller, server, deadlineMs) => {
        const method = SchedulerService.method.registerWorkflow;
        const reply = await world.network.unary(caller, server, method, request, deadlineMs);
        const answer = answerSeen(reply, ({ name: workflow, version, created }) => ({
          kind: "registered",
          name: workflow,
          version,
          created,
        }));
        return { answer, bytes: reply.bytes };
      });
    },
    cancel(runId: string, undo: "undo" | "leave", options: Via = {}) {
      const request = create(CancelRunRequestSchema, {
        namespace: NAMESPACE,
        run: { ref: { case: "runId", value: runId } },
        undo: undo === "undo" ? Undo.COMPENSATE : Undo.LEAVE,
        reason: "by script",
      });
      const common = { rpc: "CancelRun", namespace: NAMESPACE, runId } as const;
      return ask(
        options,
        { ...common, undo: undo === "undo" },
        async (caller, server, deadlineMs) => {
          const method = SchedulerService.method.cancelRun;
          const reply = await world.network.unary(caller, server, method, request, deadlineMs);
          const answer = answerSeen(reply, ({ run }) => ({
            kind: "cancelled",
            run: runSeen(run, []),
          }));
          return { answer, bytes: reply.bytes };
        },
      );
    },
    wait(runId: string, waitMs: number, options: Via = {}) {
      const request = create(WaitRunRequestSchema, {
        namespace: NAMESPACE,
        run: { ref: { case: "runId", value: runId } },
        wait: durationFromMs(waitMs),
      });
      const asked = { rpc: "WaitRun", namespace: NAMESPACE, runId } as const;
      const via = { deadlineMs: waitMs + CALL_MS_MAX, ...options };
      return ask(via, asked, async (caller, server, deadlineMs) => {
        const method = SchedulerService.method.waitRun;
        const reply = await world.network.unary(caller, server, method, request, deadlineMs);
        const answer = answerSeen(reply, ({ run }) => ({ kind: "read", run: runSeen(run, []) }));
        return { answer, bytes: reply.bytes };
      });
    },
  } satisfies ScriptedClient);
}

function requestOf(
  target: ScriptedTarget,
  key: string | null,
  mark: string,
  labels: Readonly<Record<string, string>>,
  begin: Begin,
): ScheduleRequest {
  const named = "steps" in target ? null : target;
  const inline = "steps" in target ? definitionMessage(target) : null;
  const request = named
    ? scheduleRequest(NAMESPACE, key, mark, { case: "workflow", value: named }, null, begin)
    : scheduleRequest(
        NAMESPACE,
        key,
        mark,
        { case: "definition", value: inline ?? {} },
        null,
        begin,
      );
  request.labels = { ...labels, [MARK_LABEL]: mark };
  return request;
}
