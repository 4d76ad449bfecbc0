// A second correct history, written by hand: one run that needs people and callbacks.
//
//   visa   verifiable: its first attempt is lost, a verify finds nothing, the next fails for good,
//          and the second strategy is deferred and succeeds by its callback
//   pay    once: its outcome is unknown, a person answers retry, and the run is paused meanwhile
//   ok     an approval by two
//   go     an early signal

import type { Definition } from "../../server/core/definition/definition.ts";
import type { TaskKind } from "../../server/core/model/attempt.ts";
import type { Step } from "../../server/core/model/model.ts";
import type { Mutable } from "./damage.ts";
import type { Answer, History, HistoryRecord, Request, RunSeen, TokenParts } from "./history.ts";
import type { FinalAttempt, FinalRun, OutcomeFact } from "./history-rows.ts";

const RUN = "p1";
const LEASE_MS = 3_000;
export const SETTLE_MS = 5_000;

const DEFINITION: Definition = {
  workflow: "tour",
  steps: [
    {
      id: "visa",
      needs: [],
      task: "apply-visa",
      effects: "verifiable",
      verify: { task: "find-visa" },
      fallback: [{ task: "apply-express" }],
      retry: [{ attempts: 1 }],
      timeouts: { heartbeatMs: LEASE_MS, settleMs: SETTLE_MS },
    },
    { id: "pay", needs: ["visa"], task: "charge", effects: "once" },
    { id: "ok", needs: ["pay"], kind: "approval", approvers: [], need: 2 },
    { id: "go", needs: ["ok"], kind: "signal", name: "go" },
  ],
};

const SUCCESS: OutcomeFact = { kind: "success" };
const UNKNOWN: OutcomeFact = { kind: "unknown", code: "drover.unknown" };

interface Hand {
  readonly token: TokenParts;
  readonly attempt: number;
  readonly startedAt: number;
}

export function peopleHistory(): History {
  let at = 1_000_000;
  let calls = 0;
  const records: HistoryRecord[] = [];
  const attempts: Mutable<FinalAttempt>[] = [];
  const interventions: Mutable<FinalRun>["interventions"] = [];
  const escalations: Mutable<FinalRun>["escalations"] = [];
  let version = 1;

  const ask = (process: string, request: Request, answer: (now: number) => Answer): void => {
    const call = ++calls;
    records.push({ kind: "call", at, process, call, server: "node-1", request });
    at += 5;
    const answered = answer(at);
    at += 5;
    records.push({ kind: "answer", at, process, call, answer: answered, canaries: [] });
  };
  const seen = (state: RunSeen["state"]): RunSeen => ({ runId: RUN, version, state, steps: [] });
  const send = (request: Request, state: RunSeen["state"] | null = null): void => {
    version += 1;
    ask("clerk", request, () => {
      return { kind: "done", run: state && seen(state), repeated: false };
    });
  };
  const poll = (
    session: string,
    step: number,
    fence: number,
    more: { readonly attempt: number; readonly strategy?: number; readonly task?: TaskKind },
  ): Hand => {
    const { attempt, strategy = 0, task = "perform" } = more;
    const { id = "" } = DEFINITION.steps[step] ?? {};
    const token = { runId: RUN, step, task, fence, secret: `secret ${calls}` };
    const key = `${RUN}/${id}/${strategy}`;
    const performs = step === 1 ? "charge" : strategy === 0 ? "apply-visa" : "apply-express";
    const poll = { pollSeq: calls, queues: ["default"], tasks: [], tasksMax: 1 };
    let startedAt = 0;
    ask(
      session,
      { rpc: "PollTask", namespace: "blue", session, poll, waitMs: 0, lostPolls: [] },
      (now) => {
        startedAt = now;
        const isVerify = task === "verify";
        const names = { stepId: id, queue: "default", taskName: isVerify ? "find-visa" : performs };
        const keys = {
          idempotencyKey: isVerify ? `${key}v` : key,
          effectKey: isVerify ? key : null,
        };
        const facts = { pollSeq: calls, attempt, leaseMs: LEASE_MS, inputDigest: "" };
        return { kind: "polled", tasks: [{ token, ...facts, ...names, ...keys }] };
      },
    );
    return { token, attempt, startedAt };
  };
  const row = (hand: Hand, outcome: OutcomeFact, endedAt: number): void => {
    const { step, task: kind, fence } = hand.token;
    const n = kind === "verify" ? hand.attempt : 0;
    const attempt = hand.attempt;
    const { startedAt } = hand;
    version += 1;
    attempts.push({ step, kind, fence, n, attempt, agentId: "agent", startedAt, endedAt, outcome });
  };
  const complete = (session: string, hand: Hand, outcome: OutcomeFact, keep = true): void => {
    const results = [{ token: hand.token, outcome, digest: JSON.stringify(outcome) }];
    ask(session, { rpc: "Complete", namespace: "blue", session, results, next: null }, (now) => {
      if (keep) row(hand, outcome, now);
      return { kind: "completed", answers: [{ kind: "accepted", repeated: false }], tasks: [] };
    });
  };
  const act = (step: number, fence: number, rule: "lease" | "settle", dueAt: number): void => {
    const about = { runId: RUN, step, fence, rule, n: rule === "lease" ? 1 : 0 };
    const who = { node: "node-1", partition: 7, epoch: 1 };
    interventions.push({ ...about, ...who, saw: "a", did: "b", dueAt, actedAt: at });
  };
  const answerRow = (step: number): void => {
    attempts.push(answerOf(step, at));
  };

  const createdAt = at + 5;
  ask(
    "clerk",
    {
      rpc: "Schedule",
      namespace: "blue",
      key: null,
      digest: "tour",
      mark: "tour",
      workflow: null,
      startAt: null,
      concurrency: null,
      notify: null,
    },
    () => ({ kind: "scheduled", runId: RUN, created: true }),
  );
  const applyForVisa = (): number => {
    const lost = poll("agent-1", 0, 1, { attempt: 1 });
    at = lost.startedAt + LEASE_MS + 20;
    row(lost, { kind: "unknown", code: "drover.lost" }, at);
    act(0, 1, "lease", at - 20);
    const settledAt = at + SETTLE_MS;
    at = settledAt + 10;
    act(0, 1, "settle", settledAt);
    const verify = poll("agent-2", 0, 1, { attempt: 1, task: "verify" });
    complete("agent-2", verify, {
      kind: "failure",
      class: "permanent",
      code: "none",
      retryAfterMs: null,
      noEffect: true,
    });
    const failed = poll("agent-2", 0, 2, { attempt: 1 });
    complete("agent-2", failed, {
      kind: "failure",
      class: "transient",
      code: "busy",
      retryAfterMs: null,
      noEffect: true,
    });
    const express = poll("agent-2", 0, 3, { attempt: 1, strategy: 1 });
    complete("agent-2", express, { kind: "deferred" }, false);
    const signal = { name: "go", signalId: "g1" };
    send({ rpc: "Signal", namespace: "blue", runId: RUN, ...signal });
    at += 700;
    const token = { ...express.token, secret: "" };
    const result = { token, outcome: SUCCESS, digest: "called" };
    row(express, SUCCESS, at + 5);
    const visaAt = at + 5;
    send({ rpc: "CompleteDeferred", namespace: "blue", result });
    return visaAt;
  };
  const visaAt = applyForVisa();

  const chargeOnce = (): void => {
    const uncertain = poll("agent-2", 1, 1, { attempt: 1 });
    complete("agent-2", uncertain, UNKNOWN);
    const about = { n: 1, step: 1, reason: "unknown", code: "", message: "?" } as const;
    const asked = { ...about, openedAt: at - 5, claim: null, deadlineAt: null };
    send({ rpc: "PauseRun", namespace: "blue", runId: RUN }, "PAUSED");
    at += 400;
    const answer = { answer: "retry", by: "ann" } as const;
    send({ rpc: "ResolveEscalation", namespace: "blue", runId: RUN, n: 1, ...answer }, "PAUSED");
    const closed = { closedAt: at - 5, closedBy: "ann" };
    escalations.push({ ...asked, ...closed, answer: { ...answer, verified: false, why: "" } });
    at += 400;
    send({ rpc: "ResumeRun", namespace: "blue", runId: RUN }, "RUNNING");
    const paid = poll("agent-2", 1, 2, { attempt: 2 });
    complete("agent-2", paid, SUCCESS);
  };
  chargeOnce();
  const paidAt = at - 5;
  for (const approver of ["ann", "bob"]) {
    const decision = { stepId: "ok", approver, approved: true };
    send({ rpc: "Decide", namespace: "blue", runId: RUN, ...decision }, "RUNNING");
  }
  const endedAt = at;
  answerRow(2);
  answerRow(3);

  const run = endedRun({ version: version + 1, createdAt, visaAt, paidAt, endedAt });
  const rows = { attempts, interventions, escalations };
  return structuredClone({
    meta: { source: "simulation", seed: null, canaries: [{ namespace: "blue", word: "canary" }] },
    records,
    final: {
      at: at + 1_000,
      drained: true,
      runs: [{ ...run, ...rows }],
      keys: [],
      permits: [],
      schedules: [],
      occurrences: [],
      triggers: [],
      refusals: [],
      hooks: [],
      deliveries: [],
      definitions: [{ id: 1, definition: DEFINITION }],
      owners: [{ partition: 7, node: "node-1", epoch: 1 }],
    },
  } satisfies History);
}

interface Ended {
  readonly version: number;
  readonly createdAt: number;
  readonly visaAt: number;
  readonly paidAt: number;
  readonly endedAt: number;
}

function endedRun({ version, createdAt, visaAt, paidAt, endedAt }: Ended) {
  const made = { planned: 0, changed: false, effectStatus: "MADE" } as const;
  const none = { ...made, effectStatus: "NONE" } as const;
  const steps = [
    stepRow(0, { strategies: [none, { ...made, planned: 1 }], fence: 3, firstReadyAt: createdAt }),
    stepRow(1, { strategies: [made], fence: 2, firstReadyAt: visaAt }),
    stepRow(2, { strategies: [none], fence: 0, firstReadyAt: paidAt }),
    stepRow(3, { strategies: [none], fence: 0, firstReadyAt: endedAt }),
  ];
  const run: Omit<FinalRun, "attempts" | "interventions" | "escalations"> = {
    runId: RUN,
    namespace: "blue",
    partition: 7,
    definitionId: 1,
    key: null,
    mark: "tour",
    state: "COMPLETED",
    reason: "DONE",
    version,
    createdAt,
    endedAt,
    wakeAt: null,
    steps,
    concurrency: null,
    rerunOf: null,
    parent: null,
    reused: [],
    pivoted: false,
    scheduledBy: null,
    signals: [{ id: "g1", name: "go", takenBy: 3 }],
    decisions: ["ann", "bob"].map((approver) => ({ step: 2, approver, approved: true })),
  };
  return run;
}

function stepRow(no: number, its: Pick<Step, "strategies" | "fence" | "firstReadyAt">): Step {
  const kind = no < 2 ? "perform" : "answer";
  return {
    no,
    forward: { kind: "SUCCEEDED" },
    undo: { kind: "NONE" },
    attempt: its.fence,
    lost: 0,
    tries: [],
    unknownOutcome: null,
    verifies: 0,
    settleUntil: null,
    items: null,
    ...its,
    result: { fence: its.fence, kind, n: 0 },
  };
}

/** The row of a person's answer about a step, at one time. */
function answerOf(step: number, at: number): Mutable<FinalAttempt> {
  return {
    step,
    kind: "answer",
    fence: 0,
    n: 0,
    attempt: 0,
    agentId: "people",
    startedAt: at,
    endedAt: at,
    outcome: SUCCESS,
  };
}
