// People of one namespace: they pause and resume runs, approve and reject, send signals, and answer
// escalations. While there are faults they do so at random; after the heal they resume every run
// and answer every question, so that every run can end.
import { create, type DescMethodUnary, type MessageShape } from "@bufbuild/protobuf";
import {
  GetEscalationRequestSchema,
  ListEscalationsRequestSchema,
  OperatorService,
  ResolveEscalationRequestSchema,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import { type Run, RunState, StepState, WaitingOn } from "@drover/proto/drover/v1/run_pb.ts";
import {
  DecideRequestSchema,
  DecisionKind,
  GetRunRequestSchema,
  ListRunsRequestSchema,
  PauseRunRequestSchema,
  ResumeRunRequestSchema,
  SchedulerService,
  SignalRequestSchema,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { payloadField } from "../../server/api/calls/payload.ts";
import type { AnswerKind } from "../../server/core/model/history.ts";
import { type Client, cancelUntilAnswered } from "./client.ts";
import type { OkAnswer, Request } from "./history.ts";
import { answerSeen, canariesIn, isToRepeat, runSeen } from "./seen.ts";
import { APPROVERS, json, SIGNALS } from "./workload.ts";
import { canaryOf, canaryWords } from "./world.ts";

const CALL_MS_MAX = 3_000;
const TRIES_MAX = 30;
const PAGE = 100;
/** Questions of one run, until no person answers retry any more. */
const PATIENCE = 3;
const ANSWERS: readonly AnswerKind[] = [
  ...(["retry", "retry-changed", "succeed", "skip", "compensate", "fail", "acknowledge"] as const),
];

/** `as`: makes the client of a person. */
export function startPeople(as: (who: string) => Client): void {
  void pauseSome(as("pauser"));
  void signalSome(as("signaller"));
  void decideSome(as("approver"));
  void answerAll(as("answerer"));
}

interface Command<M extends DescMethodUnary> {
  readonly method: M;
  readonly request: MessageShape<M["input"]>;
  readonly asked: Request;
  readonly ok: (message: MessageShape<M["output"]>) => OkAnswer;
}

/** Sends once; the message of the answer, or null. `isToRepeat`: outcome unknown, or overloaded. */
async function sendOnce<M extends DescMethodUnary>(client: Client, command: Command<M>) {
  const { world, process } = client;
  const server = process.chance.pick(world.servers);
  const call = world.recorder.call(process.name, server.name, command.asked);
  const reply = await world.network.unary(
    process,
    server,
    command.method,
    command.request,
    CALL_MS_MAX,
  );
  const answer = answerSeen<MessageShape<M["output"]>>(reply, command.ok);
  world.recorder.answer(process.name, call, answer, canariesIn(reply.bytes, canaryWords(world)));
  return {
    isToRepeat: isToRepeat(answer),
    message: reply.kind === "ok" ? reply.message : null,
  };
}

export async function untilAnswered<M extends DescMethodUnary>(
  client: Client,
  command: Command<M>,
) {
  const { clock, chance } = client.process;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const { isToRepeat: again } = await sendOnce(client, command);
    if (!again) return;
    await clock.sleep(chance.between(50, 600));
  }
}

const refOf = (runId: string) => ({ ref: { case: "runId", value: runId } }) as const;

const done = ({ run, repeated }: { run?: Run | undefined; repeated?: boolean }): OkAnswer => ({
  kind: "done",
  run: run ? runSeen(run, []) : null,
  repeated: repeated ?? false,
});

async function pauseSome(client: Client): Promise<void> {
  const { world, process, runIds } = client;
  const { chance, clock } = process;
  while (!world.faults.calm) {
    await clock.sleep(chance.between(200, 2_200));
    if (runIds.length === 0 || world.faults.calm) continue;
    const silent = world.silentRuns.findLast((one) => runIds.includes(one));
    const undoing = takeOne(world.silentUndos, runIds);
    const some = chance.pick(chance.happens(0.3) ? runIds : runIds.slice(-6));
    // An attempt that is lost while its run is paused takes transitions of its own.
    const runId = undoing ?? (silent !== undefined && chance.happens(0.4) ? silent : some);
    world.faults.count("paused");
    void pauseFor(client, runId, chance.between(100, undoing === runId ? 10_000 : 6_000));
  }
  await resumeAll(client);
}

/** The last one of these runs that is among those; it is taken out of the list. */
function takeOne(list: string[], among: readonly string[]): string | undefined {
  const index = list.findLastIndex((one) => among.includes(one));
  return index < 0 ? undefined : list.splice(index, 1)[0];
}

async function pauseFor(client: Client, runId: string, ms: number): Promise<void> {
  const { namespace, process } = client;
  await untilAnswered(client, {
    method: SchedulerService.method.pauseRun,
    request: create(PauseRunRequestSchema, { namespace, run: refOf(runId), reason: "chance" }),
    asked: { rpc: "PauseRun", namespace, runId },
    ok: done,
  });
  await process.clock.sleep(ms);
  await resume(client, runId);
}

async function resume(client: Client, runId: string): Promise<void> {
  const { namespace } = client;
  await untilAnswered(client, {
    method: SchedulerService.method.resumeRun,
    request: create(ResumeRunRequestSchema, { namespace, run: refOf(runId), reason: "chance" }),
    asked: { rpc: "ResumeRun", namespace, runId },
    ok: done,
  });
}

/** A pause may still be in flight, so polling continues. */
async function resumeAll(client: Client): Promise<void> {
  const { namespace, process } = client;
  for (;;) {
    await process.clock.sleep(1_000);
    const filter = { states: [RunState.PAUSED] };
    const { message } = await sendOnce(client, {
      method: SchedulerService.method.listRuns,
      request: create(ListRunsRequestSchema, { namespace, pageSize: PAGE, filter }),
      asked: { rpc: "ListRuns", namespace },
      ok: ({ runs }) => ({ kind: "listed", runs: runs.map((run) => runSeen(run, [])) }),
    });
    for (const { runId } of message?.runs ?? []) await resume(client, runId);
  }
}

/** Also before any step waits for them, and under an id that was used before. */
async function signalSome(client: Client): Promise<void> {
  const { world, process, runIds, namespace } = client;
  const { chance, clock } = process;
  const canary = canaryOf(world, namespace);
  for (let number = 1; !world.faults.calm; number++) {
    await clock.sleep(chance.between(100, 1_200));
    if (runIds.length === 0) continue;
    const runId = chance.pick(runIds.slice(-6));
    const repeats = chance.happens(0.3);
    const signalId = `${canary}-${repeats ? "again" : number}`;
    const name = chance.pick(SIGNALS);
    world.faults.count(repeats ? "signal repeated" : "signal sent");
    void untilAnswered(client, {
      method: SchedulerService.method.signal,
      request: create(SignalRequestSchema, {
        namespace,
        run: refOf(runId),
        name,
        signalId,
        ...payloadField("payload", json({ canary })),
      }),
      asked: { rpc: "Signal", namespace, runId, name, signalId },
      ok: done,
    });
  }
}

async function decideSome(client: Client): Promise<void> {
  const { world, process, runIds, namespace } = client;
  const { chance, clock } = process;
  while (!world.faults.calm) {
    await clock.sleep(chance.between(150, 1_350));
    if (runIds.length === 0) continue;
    const runId = chance.pick(runIds.slice(-8));
    const { message } = await sendOnce(client, {
      method: SchedulerService.method.getRun,
      request: create(GetRunRequestSchema, { namespace, run: refOf(runId) }),
      asked: { rpc: "GetRun", namespace, runId },
      ok: ({ run, steps }) => ({ kind: "read", run: runSeen(run, steps) }),
    });
    for (const step of message?.steps ?? []) {
      if (step.state !== StepState.WAITING || step.waitingOn !== WaitingOn.APPROVAL) continue;
      const approver = chance.pick(APPROVERS);
      const approved = chance.happens(0.75);
      world.faults.count(approved ? "approved" : "rejected");
      await untilAnswered(client, {
        method: SchedulerService.method.decide,
        request: create(DecideRequestSchema, {
          namespace,
          run: refOf(runId),
          stepId: step.id,
          approver,
          decision: approved ? DecisionKind.APPROVE : DecisionKind.REJECT,
        }),
        asked: { rpc: "Decide", namespace, runId, stepId: step.id, approver, approved },
        ok: done,
      });
    }
  }
}

/** Reads the open questions, and answers some of them; after the heal all of them. */
async function answerAll(client: Client): Promise<void> {
  const { world, process, namespace } = client;
  const { chance, clock } = process;
  for (;;) {
    await clock.sleep(chance.between(300, 1_900));
    const { message } = await sendOnce(client, {
      method: OperatorService.method.listEscalations,
      request: create(ListEscalationsRequestSchema, { namespace, pageSize: PAGE }),
      asked: { rpc: "ListEscalations", namespace },
      ok: ({ escalations }) => ({
        kind: "asked",
        questions: escalations.map(({ runId, id }) => ({ runId, n: Number(id) })),
      }),
    });
    const open = message?.escalations ?? [];
    // No client waits for the answer to these.
    const urgent = open.filter(({ reason }) => reason !== "doubled" || chance.happens(0.7));
    for (const { runId, id } of urgent)
      if (world.faults.calm || chance.happens(0.35)) await answer(client, runId, id);
  }
}

async function answer(client: Client, runId: string, id: string): Promise<void> {
  const { world, process, namespace } = client;
  const { chance } = process;
  const { message } = await sendOnce(client, {
    method: OperatorService.method.getEscalation,
    request: create(GetEscalationRequestSchema, { namespace, run: refOf(runId), escalationId: id }),
    asked: { rpc: "GetRun", namespace, runId },
    ok: ({ run }) => ({ kind: "read", run: runSeen(run, []) }),
  });
  const allowed = message?.escalation?.answers ?? [];
  if (allowed.length === 0) return;
  if (!world.faults.calm && chance.happens(0.2)) {
    const undo = chance.happens(0.3);
    world.faults.count(undo ? "cancel with undo" : "cancel leaving things");
    await cancelUntilAnswered(client, runId, undo);
    return;
  }
  const isDisallowed = !world.faults.calm && chance.happens(0.1);
  const sensible = ANSWERS.filter((one) => allowed.includes(one));
  // A person who is asked repeatedly does not answer "retry" each time.
  const ending = sensible.filter((one) => !one.startsWith("retry"));
  const isTired = world.faults.calm && Number(id) > PATIENCE && ending.length > 0;
  const disallowed = ANSWERS.filter((one) => !allowed.includes(one));
  const resolution = chance.pick(isDisallowed ? disallowed : isTired ? ending : sensible);
  await resolve(client, { runId, id, resolution });
}

async function resolve(
  client: Client,
  {
    runId,
    id,
    resolution,
  }: { readonly runId: string; readonly id: string; readonly resolution: AnswerKind },
): Promise<void> {
  const { world, process, namespace } = client;
  const canary = canaryOf(world, namespace);
  const by = process.name;
  world.faults.count(`answered ${resolution}`);
  const carries =
    resolution === "retry-changed" || (resolution === "succeed" && process.chance.happens(0.5));
  const payload = carries ? payloadField("payload", json({ canary, changed: id })) : {};
  await untilAnswered(client, {
    method: OperatorService.method.resolveEscalation,
    request: create(ResolveEscalationRequestSchema, {
      namespace,
      run: refOf(runId),
      escalationId: id,
      answer: resolution,
      by,
      why: "chance",
      ...payload,
    }),
    asked: { rpc: "ResolveEscalation", namespace, runId, n: Number(id), answer: resolution, by },
    ok: done,
  });
}
