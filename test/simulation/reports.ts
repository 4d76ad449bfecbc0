// What agents report: until it is answered, sometimes again, sometimes against their own word, and
// sometimes "I do not know" at first.
import { create } from "@bufbuild/protobuf";
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { AgentService, CompleteRequestSchema } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { FailureClass, type Outcome, OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { outcomeDigest, type ReportedOutcome } from "../../server/rpc/convert-outcome.ts";
import { payloadField } from "../../server/rpc/payload.ts";
import { agentMessage, type Held, nextMessage, type Session } from "./agent.ts";
import { lateOutcome } from "./agent-work.ts";
import { outcomeFact, type ReportSeen } from "./history.ts";
import { answerSeen, canariesIn, reportSeen, taskSeen } from "./seen.ts";
import { canaryWords } from "./world.ts";

const CALL_MS_MAX = 2_500;
const TRIES_MAX = 30;
const NEXT_SHARE = 0.3;

/** Reports until it is answered; then the agent drops the task. */
export async function report(
  session: Session,
  held: Held,
  outcome: ReportedOutcome,
): Promise<void> {
  const { faults } = session.world;
  await untilAnswered(session, held, outcome);
  held.over = true;
  session.held.delete(held);
  if (faults.strikes("report repeated")) await reportAgain(session, held, outcome);
  if (faults.strikes("report contradicted"))
    await reportAgain(session, held, otherThan(session, held, outcome));
  if (outcome.kind === "unknown" && !faults.calm && session.process.chance.happens(0.6)) {
    faults.count("report unknown, settled later");
    await session.process.clock.sleep(session.process.chance.between(0, 800));
    await reportAgain(session, held, lateOutcome(session, held));
  }
}

/** A report about a task that the agent no longer holds. */
export async function reportAgain(
  session: Session,
  held: Held,
  outcome: ReportedOutcome,
): Promise<void> {
  await untilAnswered(session, held, outcome);
}

function otherThan(session: Session, held: Held, outcome: ReportedOutcome): ReportedOutcome {
  return outcome.kind === "success"
    ? { kind: "unknown", code: "", message: "or was it?" }
    : lateOutcome(session, held);
}

async function untilAnswered(
  session: Session,
  held: Held,
  outcome: ReportedOutcome,
): Promise<void> {
  const message = outcomeMessage(outcome);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await complete(session, held, outcome, message)) return;
    await session.process.clock.sleep(session.process.chance.between(50, 400));
  }
}

/** True once the call was answered, whatever the answer. */
async function complete(
  session: Session,
  held: Held,
  outcome: ReportedOutcome,
  message: Outcome,
): Promise<boolean> {
  const { world, shape, process } = session;
  const { chance, clock } = process;
  const free = shape.tasksMax - session.held.size;
  const next = free > 0 && chance.happens(NEXT_SHARE) ? session.wish(free) : null;
  const server = chance.pick(world.servers);
  const call = world.recorder.call(shape.id, server.name, {
    rpc: "Complete",
    namespace: shape.namespace,
    session: session.id,
    results: [{ token: held.token, outcome: outcomeFact(outcome), digest: outcomeDigest(message) }],
    next,
  });
  const sentAtMs = clock.monotonicMs();
  const reply = await world.network.unary(
    process,
    server,
    AgentService.method.complete,
    create(CompleteRequestSchema, {
      namespace: shape.namespace,
      agent: agentMessage(session),
      results: [{ taskToken: held.task.taskToken, outcome: message }],
      ...(next ? { next: nextMessage(next) } : {}),
    }),
    CALL_MS_MAX,
  );
  const answer = answerSeen(reply, ({ answers, tasks }) => ({
    kind: "completed",
    answers: answers.map(({ status, repeated }): ReportSeen => reportSeen(status, repeated)),
    tasks: tasks.map((task) => taskSeen(task, next?.pollSeq ?? 0)),
  }));
  world.recorder.answer(shape.id, call, answer, canariesIn(reply.bytes, canaryWords(world)));
  if (reply.kind === "ok") {
    const { tasks, waited } = reply.message;
    session.take(tasks, sentAtMs, waited ? durationMs(waited) : 0);
  } else if (next) session.lost(next.pollSeq);
  return answer.kind !== "unknown";
}

function outcomeMessage(outcome: ReportedOutcome): Outcome {
  switch (outcome.kind) {
    case "success":
      return create(OutcomeSchema, {
        kind: { case: "success", value: payloadField("output", outcome.output) },
      });
    case "failure":
      return create(OutcomeSchema, {
        kind: {
          case: "failed",
          value: {
            code: outcome.code,
            message: outcome.message,
            failureClass:
              outcome.class === "permanent" ? FailureClass.PERMANENT : FailureClass.TRANSIENT,
            noEffect: outcome.noEffect,
            ...(outcome.retryAfterMs === null
              ? {}
              : { retryAfter: durationFromMs(outcome.retryAfterMs) }),
          },
        },
      });
    case "unknown":
      return create(OutcomeSchema, {
        kind: { case: "unknown", value: { code: outcome.code, message: outcome.message } },
      });
    case "released":
      return create(OutcomeSchema, { kind: { case: "released", value: {} } });
    case "cancelled":
      return create(OutcomeSchema, {
        kind: { case: "cancelled", value: { noEffect: outcome.noEffect } },
      });
  }
}
