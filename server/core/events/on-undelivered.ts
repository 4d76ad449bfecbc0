// Handles a claimed task that never arrived: it is returned. A poll that is lost now and then says
// nothing about the task. A task that is lost again and again may be too large for any agent: it
// backs off, each time for longer, and at last a person is asked.

import type { Answer, RunEvent } from "../model/event.ts";
import { type Lease, movingSide, type Step } from "../model/model.ts";
import { inShort, intervene, type Pass, stepOf } from "../pass.ts";
import { UNDELIVERED_AT_ONCE_MAX, UNDELIVERED_IN_A_ROW_MAX } from "../plan/plan.ts";
import { endTask, type Undelivery } from "./on-task-end.ts";

const WAIT_MS_MIN = 1_000;
const WAIT_MS_MAX = 60_000;

type Undelivered = Extract<RunEvent, { kind: "undelivered" }>;

/** The task was never delivered: its poll ended without an answer, or was answered without it. */
export function onUndelivered(pass: Pass, event: Undelivered): Answer {
  const step = stepOf(pass, event.step);
  const lease = movingSide(step)?.state;
  if (lease?.kind !== "LEASED" || lease.secret !== event.secret) return { kind: "done" };
  const { agentId, session } = lease;
  const undelivery = undeliveryOf(pass, step, lease, event);
  const by = { agentId, session, digest: null };
  const isSent = event.problem === undefined && !event.unsent;
  endTask(pass, step, lease, { kind: isSent ? "undelivered" : "unsent" }, by, undelivery);
  const { undeliverable, waitMs } = undelivery;
  intervene(pass, "delivery", {
    step,
    fence: lease.fence,
    n: lease.task === "verify" ? lease.attempt : 0,
    dueAt: pass.time.now,
    saw: event.problem === undefined ? sawOf(lease, event) : (undeliverable?.message ?? ""),
    did:
      undeliverable || waitMs > 0
        ? inShort(pass, step.no)
        : "returned it; the attempt does not count",
  });
  return { kind: "done" };
}

function sawOf({ pollSeq, agentId }: Lease, { unsent }: Undelivered): string {
  return unsent
    ? `poll ${pollSeq} of ${agentId} received no such task: its answer was full, or the store was unavailable`
    : `poll ${pollSeq} of ${agentId} ended without an answer: the task never arrived`;
}

function undeliveryOf(pass: Pass, step: Step, lease: Lease, event: Undelivered): Undelivery {
  const { problem, unsent = false } = event;
  if (problem !== undefined) {
    const message = `the task could not be built for an agent: ${problem}`;
    const undeliverable = { reason: "expression", code: "drover.expression", message } as const;
    return { waitMs: 0, undeliverable };
  }
  if (unsent) return { waitMs: 0, undeliverable: null };
  const inARow = 1 + undeliveredBefore(pass, step, lease);
  if (inARow >= UNDELIVERED_IN_A_ROW_MAX) {
    const message =
      `the task was handed out ${inARow} times in a row and never arrived: its input, details and ` +
      "output may be more than the agents can receive (they need a limit of 8 MiB or more)";
    const undeliverable = { reason: "poison", code: "drover.undelivered", message } as const;
    return { waitMs: 0, undeliverable };
  }
  const waits = inARow - UNDELIVERED_AT_ONCE_MAX;
  const waitMs = waits > 0 ? Math.min(WAIT_MS_MIN * 2 ** (waits - 1), WAIT_MS_MAX) : 0;
  return { waitMs, undeliverable: null };
}

/** How often in a row it was sent and did not arrive, as far as the pass has loaded attempts. */
function undeliveredBefore({ view }: Pass, { no }: Step, { task, fence, attempt }: Lease): number {
  const ended = view.attempts.filter((one) => one.step === no && one.kind === task);
  const isLost = (back: number): boolean =>
    ended.some(
      ({ outcome, ...one }) =>
        outcome === "undelivered" &&
        // Verifies of one attempt share its fence.
        (task === "verify"
          ? one.fence === fence && one.n === attempt - back
          : one.fence === fence - back),
    );
  let before = 0;
  while (before + 1 < UNDELIVERED_IN_A_ROW_MAX && isLost(before + 1)) before++;
  return before;
}
