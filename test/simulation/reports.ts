// The reports of agents: repeated until answered, sometimes sent again, sometimes in contradiction
// to an earlier report, and sometimes with an unknown outcome first.
import { create } from "@bufbuild/protobuf";
import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { FailureClass, type Outcome, OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import { payloadField } from "../../server/api/calls/payload.ts";
import type { Reported } from "../../server/core/model/event.ts";
import type { Held, Session } from "./agent.ts";
import { type CompleteCall, complete } from "./agent-calls.ts";
import { lateOutcome } from "./agent-work.ts";
import { isToRepeat } from "./seen.ts";
import { UNKNOWN_OUTCOME_TASK } from "./workload.ts";

const TRIES_MAX = 30;
/** Of one call. A server with a short queue refuses so many; sooner or later each goes alone. */
const RESULTS_MAX = 3;
/** Some reports wait for others, and go with them. */
const GATHERED_SHARE = 0.5;
const GATHERED_MS_MAX = 150;
const NEXT_SHARE = 0.3;

type Result = CompleteCall["results"][number];

/** Reports until it is answered; then the agent drops the task. */
export async function report(session: Session, held: Held, outcome: Reported): Promise<void> {
  const { faults } = session.world;
  await untilAnswered(session, held, outcome);
  held.over = true;
  session.held.delete(held);
  if (faults.strikes("report repeated")) await reportAgain(session, held, outcome);
  if (faults.strikes("report contradicted"))
    await reportAgain(session, held, otherThan(session, held, outcome));
  if (outcome.kind === "unknown" && !faults.calm && session.process.chance.happens(0.6)) {
    faults.count("report unknown, settled later");
    const { chance, clock } = session.process;
    // Mostly soon enough; else another agent may have done it again by then.
    const isSoon = held.task.task !== UNKNOWN_OUTCOME_TASK && chance.happens(0.6);
    await clock.sleep(isSoon ? chance.between(0, 800) : chance.between(800, 4_000));
    await reportAgain(session, held, lateOutcome(session, held));
  }
}

/** A report about a task that the agent no longer holds. */
export async function reportAgain(session: Session, held: Held, outcome: Reported): Promise<void> {
  await untilAnswered(session, held, outcome);
}

function otherThan(session: Session, held: Held, outcome: Reported): Reported {
  return outcome.kind === "success"
    ? { kind: "unknown", code: "", message: "or was it?" }
    : lateOutcome(session, held);
}

async function untilAnswered(session: Session, held: Held, outcome: Reported): Promise<void> {
  const result = { ...held, outcome, message: outcomeMessage(outcome) };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await gathered(session, result)) return;
    await session.process.clock.sleep(session.process.chance.between(50, 400));
  }
}

/** Reports of a session that wait for each other, and how each learns whether it was answered. */
type Gathering = Map<
  string,
  { readonly result: Result; readonly onAnswer: (answered: boolean) => void }
>;

const gatherings = new WeakMap<Session, Gathering>();

/** Alone and at once, or with those that come within a short time. */
function gathered(session: Session, result: Result): Promise<boolean> {
  const { chance, clock } = session.process;
  const { secret } = result.token;
  const open = gatherings.get(session);
  const isFull = open !== undefined && (open.size >= RESULTS_MAX || open.has(secret));
  if (isFull || (!open && !chance.happens(GATHERED_SHARE))) return isAnswered(session, [result]);
  return new Promise((resolve) => {
    const all: Gathering = open ?? new Map();
    all.set(secret, { result, onAnswer: resolve });
    if (open) return;
    gatherings.set(session, all);
    void clock.sleep(chance.between(0, GATHERED_MS_MAX)).then(async () => {
      gatherings.delete(session);
      const answered = await isAnswered(
        session,
        [...all.values()].map((one) => one.result),
      );
      for (const { onAnswer } of all.values()) onAnswer(answered);
    });
  });
}

/** True once the call was answered, whatever the answer; false: it is sent again. */
async function isAnswered(session: Session, results: readonly Result[]): Promise<boolean> {
  const { world, shape, process } = session;
  const { chance, clock } = process;
  const free = shape.tasksMax - session.held.size;
  const next = free > 0 && chance.happens(NEXT_SHARE) ? session.wish(free) : null;
  const server = chance.pick(world.servers);
  const sentAtMs = clock.monotonicMs();
  const { answer, reply } = await complete(session, { results, next }, { server });
  if (reply.kind === "ok") {
    const { tasks, waited } = reply.message;
    session.take(tasks, sentAtMs, waited ? durationMs(waited) : 0);
    if (next) session.ended(next.pollSeq);
  } else if (next) session.lost(next.pollSeq);
  return !isToRepeat(answer);
}

export function outcomeMessage(outcome: Reported): Outcome {
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
    case "again":
      return create(OutcomeSchema, {
        kind: { case: "again", value: { after: durationFromMs(outcome.afterMs) } },
      });
    case "deferred":
    case "released":
      return create(OutcomeSchema, { kind: { case: outcome.kind, value: {} } });
    case "cancelled":
      return create(OutcomeSchema, {
        kind: { case: "cancelled", value: { noEffect: outcome.noEffect } },
      });
  }
}
