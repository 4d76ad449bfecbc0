// A small correct history, written by hand: the calls with their answers, and the rows that the
// engine would have written. It tests the checker, and shares no rule with the engine.
//
//   r1   blue    a crashed agent, a retry, an answer that got lost, a late report; COMPLETED
//   r2   blue    its last step fails for good; COMPENSATED
//   r3   blue    cancelled while its first step is with an agent; CANCELLED
//   r4   green   three agents in a row are lost with its first step; ESCALATED
//   r5   green   the key of r1 in another namespace, which runs a registered workflow; COMPLETED
import type { TaskKind } from "../../server/core/model/attempt.ts";
import { type Mutable, must } from "./damage.ts";
import {
  acted,
  DEFINITION,
  type Draft,
  type DraftStep,
  HEARTBEAT_MS,
  keyOf,
  newRun,
  STEPS,
} from "./good-history-rows.ts";
import type {
  Answer,
  History,
  HistoryRecord,
  ReportSeen,
  Request,
  RunSeen,
  TokenParts,
} from "./history.ts";
import type { FinalAttempt, FinalRun, OutcomeFact } from "./history-rows.ts";

const SUCCESS: OutcomeFact = { kind: "success" };
const LOST: OutcomeFact = { kind: "unknown", code: "drover.lost" };
export function failure(kind: "transient" | "permanent", code: string): OutcomeFact {
  return { kind: "failure", class: kind, code, retryAfterMs: null, noEffect: false };
}

export function goodHistory(): History {
  const story = createStory();
  completedAfterTrouble(story);
  compensated(story);
  cancelled(story);
  escalated(story);
  story.schedule("clerk-g", { runId: "r5", namespace: "green", key: "k1" });
  // No agent polls meanwhile.
  story.wait(4_000);
  for (const step of [0, 1, 2]) {
    story.poll("agent-g", "r5", step);
    story.complete("agent-g", "r5", step, SUCCESS);
  }
  story.end("r5", "COMPLETED", "DONE");
  return story.history();
}

type Story = ReturnType<typeof createStory>;

function completedAfterTrouble(story: Story): void {
  story.schedule("clerk-b", { runId: "r1", namespace: "blue", key: "k1", lost: true });
  story.schedule("clerk-b", { runId: "r1", namespace: "blue", key: "k1" });
  story.read("clerk-b", "r1");
  story.own("node-1", 7, 1);
  story.poll("agent-1", "r1", 0);
  const lost = story.token("r1", 0);
  story.effect("made", lost);
  story.fault("agent-1", "crash");
  story.lose("r1", 0);
  story.wait(2_100);
  story.poll("agent-2", "r1", 0);
  story.heartbeat("agent-2", story.token("r1", 0), { kind: "carry-on", leaseMs: HEARTBEAT_MS });
  story.read("clerk-b", "r1");
  story.report("agent-1", lost, SUCCESS, { kind: "refused", reason: "LEASE_LOST" });
  story.storeLate(lost, SUCCESS);
  story.complete("agent-2", "r1", 0, SUCCESS);
  story.poll("agent-2", "r1", 1);
  story.complete("agent-2", "r1", 1, failure("transient", "busy"));
  story.wait(1_100);
  story.backoffOver("r1", 1);
  story.poll("agent-2", "r1", 1);
  const answered = story.token("r1", 1);
  story.complete("agent-2", "r1", 1, SUCCESS, { lost: true });
  story.report("agent-2", answered, SUCCESS, { kind: "accepted", repeated: true });
  story.poll("agent-2", "r1", 2);
  story.complete("agent-2", "r1", 2, SUCCESS);
  story.end("r1", "COMPLETED", "DONE");
  story.read("clerk-b", "r1");
}

function compensated(story: Story): void {
  story.schedule("clerk-b", { runId: "r2", namespace: "blue", key: "k2" });
  for (const step of [0, 1]) {
    story.poll("agent-2", "r2", step);
    story.effect("made", story.token("r2", step));
    story.complete("agent-2", "r2", step, SUCCESS);
  }
  story.poll("agent-2", "r2", 2);
  story.complete("agent-2", "r2", 2, failure("permanent", "no-address"));
  story.stop("r2", "STEP_FAILED");
  for (const step of [1, 0]) {
    story.poll("agent-2", "r2", step, "compensate");
    story.effect("undone", story.token("r2", step));
    story.complete("agent-2", "r2", step, SUCCESS);
  }
  story.end("r2", "COMPENSATED", "STEP_FAILED");
  story.read("clerk-b", "r2");
}

function cancelled(story: Story): void {
  story.schedule("clerk-b", { runId: "r3", namespace: "blue", key: null });
  story.poll("agent-2", "r3", 0);
  const token = story.token("r3", 0);
  story.stop("r3", "CANCELLED_BY_USER");
  story.cancel("clerk-b", "r3");
  story.cancel("clerk-b", "r3");
  story.heartbeat("agent-2", token, { kind: "cancel", withinMs: 10_000 });
  story.complete("agent-2", "r3", 0, { kind: "cancelled", noEffect: true });
  story.end("r3", "CANCELLED", "CANCELLED_BY_USER");
}

function escalated(story: Story): void {
  story.register("clerk-g", "green");
  story.schedule("clerk-g", { runId: "r4", namespace: "green", key: null });
  for (const agent of ["agent-3", "agent-4", "agent-5"]) {
    story.wait(2_100);
    story.poll(agent, "r4", 0);
    story.lose("r4", 0);
  }
  story.ask("r4", 0);
}

export function createStory() {
  let at = 1_000_000;
  let calls = 0;
  const records: Mutable<HistoryRecord>[] = [];
  const runs = new Map<string, Draft>();
  const open = new Map<string, { token: TokenParts; attempt: number; startedAt: number }>();

  const of = (runId: string): Draft => must(runs.get(runId), `run ${runId}`);
  const stepOf = (runId: string, no: number): DraftStep => must(of(runId).steps[no], `step ${no}`);
  const record = (entry: HistoryRecord): void => {
    records.push(structuredClone(entry) as Mutable<HistoryRecord>);
  };
  /** A call that takes 5 ms to arrive; then `work` is done; 5 ms later its answer arrives. */
  const ask = (process: string, request: Request, work: () => Answer): void => {
    const call = ++calls;
    record({ kind: "call", at, process, call, server: "node-1", request });
    at += 5;
    const answer = work();
    at += 5;
    record({ kind: "answer", at, process, call, answer, canaries: [] });
  };
  const seen = (runId: string): RunSeen => {
    const { version, state, steps } = of(runId);
    const listed = steps.map(({ no, forward }) => ({
      stepId: STEPS[no] ?? "",
      state: open.has(`${runId}/${no}`) ? "LEASED" : forward.kind,
    }));
    return { runId, version, state, steps: listed };
  };
  const makeReady = (runId: string, no: number): void => {
    const step = stepOf(runId, no);
    step.firstReadyAt ??= at;
    step.forward = { ...READY, readyAt: at, wakeAt: at + 60_000 };
  };
  /** Ends the task: its row, the number of tries, and what follows. */
  const over = (runId: string, no: number, outcome: OutcomeFact, agentId: string): void => {
    const { token, attempt, startedAt } = must(open.get(`${runId}/${no}`), "a task that is out");
    open.delete(`${runId}/${no}`);
    const step = stepOf(runId, no);
    const { task: kind, fence } = token;
    const row: FinalAttempt = {
      step: no,
      kind,
      fence,
      n: 0,
      attempt,
      agentId,
      startedAt,
      endedAt: at,
      outcome,
    };
    of(runId).attempts.push(structuredClone(row) as Mutable<FinalAttempt>);
    of(runId).version += 1;
    step.fence = fence;
    if (outcome.kind !== "unknown") step.attempt += 1;
    if (outcome.kind === "success" && kind === "compensate") {
      step.undo = { kind: "DONE" };
      step.strategies = [{ planned: 0, changed: false, effectStatus: "UNDONE" }];
    } else if (outcome.kind === "success") {
      Object.assign(step, {
        forward: { kind: "SUCCEEDED" },
        strategies: [{ planned: 0, changed: false, effectStatus: "MADE" }],
        result: { fence, kind: "perform", n: 0 },
      });
      if (no + 1 < STEPS.length) makeReady(runId, no + 1);
    } else if (outcome.kind === "failure" && outcome.class === "permanent") {
      step.forward = { kind: "FAILED" };
    } else if (outcome.kind === "cancelled") step.forward = { kind: "CANCELLED" };
    else if (outcome.kind === "failure")
      step.forward = { kind: "BACKOFF", task: "perform", cause: "retry", wakeAt: at + 1_000 };
    else makeReady(runId, no);
  };
  const report = (
    agent: string,
    token: TokenParts,
    outcome: OutcomeFact,
    fate: ReportSeen | { readonly kind: "unknown" },
    work: () => void = () => undefined,
  ): void => {
    const request = {
      ...({ rpc: "Complete", namespace: of(token.runId).namespace, session: agent } as const),
      results: [{ token, outcome, digest: JSON.stringify(outcome) }],
      next: null,
    };
    ask(agent, request, () => {
      work();
      if (fate.kind === "unknown") return { kind: "unknown", code: "UNAVAILABLE" };
      return { kind: "completed", answers: [fate], tasks: [] };
    });
  };

  return Object.freeze({
    wait(ms: number) {
      at += ms;
    },
    token: (runId: string, no: number) => must(open.get(`${runId}/${no}`), "a task").token,
    report,
    register(process: string, namespace: string) {
      const request = { rpc: "RegisterWorkflow", namespace, definition: DEFINITION } as const;
      const version = { name: DEFINITION.workflow, version: 1, created: true } as const;
      ask(process, request, () => ({ kind: "registered", ...version }));
    },
    schedule(
      process: string,
      order: { runId: string; namespace: string; key: string | null; lost?: boolean },
    ) {
      const { runId, namespace, key } = order;
      const mark = `order ${runId}`;
      const workflow = namespace === "green" ? { name: DEFINITION.workflow, version: 1 } : null;
      const named = {
        mark,
        workflow,
        digest: `trip ${runId}`,
        startAt: null,
        concurrency: null,
        notify: null,
      };
      const request = { rpc: "Schedule", namespace, key, ...named } as const;
      ask(process, request, () => {
        const created = !runs.has(runId);
        if (created) runs.set(runId, newRun(order, mark, at));
        if (created) makeReady(runId, 0);
        if (order.lost) return { kind: "unknown", code: "DEADLINE_EXCEEDED" };
        return { kind: "scheduled", runId, created };
      });
    },
    read(process: string, runId: string) {
      const { namespace } = of(runId);
      ask(process, { rpc: "GetRun", namespace, runId }, () => ({ kind: "read", run: seen(runId) }));
    },
    poll(agent: string, runId: string, no: number, task: TaskKind = "perform") {
      const { namespace } = of(runId);
      const step = stepOf(runId, no);
      const poll = { pollSeq: calls + 1, queues: ["default"], tasks: [], tasksMax: 1 };
      const common = { rpc: "PollTask", namespace, session: agent, poll } as const;
      ask(agent, { ...common, waitMs: 0, lostPolls: [] }, () => {
        const fence = step.fence + 1;
        const attempt = step.attempt + 1;
        const token = { runId, step: no, task, fence, secret: `s${calls}` };
        open.set(`${runId}/${no}`, { token, attempt, startedAt: at });
        const key = keyOf(token);
        const isUndo = task === "compensate";
        const keys = { idempotencyKey: isUndo ? `${key}u` : key, effectKey: isUndo ? key : null };
        const facts = { leaseMs: HEARTBEAT_MS, ...keys, inputDigest: "" };
        const plan = must(DEFINITION.steps[no], "step");
        const taskName = isUndo ? must(plan.compensate, "undo").task : plan.task;
        const names = { queue: "default", taskName, stepId: plan.id };
        const { pollSeq } = poll;
        return { kind: "polled", tasks: [{ token, pollSeq, attempt, ...names, ...facts }] };
      });
    },
    complete(
      agent: string,
      runId: string,
      no: number,
      outcome: OutcomeFact,
      { lost }: { readonly lost?: boolean } = {},
    ) {
      const { token } = must(open.get(`${runId}/${no}`), "a task");
      const fate = { kind: lost ? ("unknown" as const) : ("accepted" as const), repeated: false };
      report(agent, token, outcome, fate, () => over(runId, no, outcome, agent));
    },
    heartbeat(
      agent: string,
      token: TokenParts,
      answer: Extract<Answer, { kind: "heartbeat-answered" }>["answers"][0],
    ) {
      const { namespace } = of(token.runId);
      const request = { rpc: "Heartbeat", namespace, session: agent, tokens: [token] } as const;
      ask(agent, { ...request, lostPolls: [], listsAllTo: 0 }, () => ({
        kind: "heartbeat-answered",
        answers: [answer],
      }));
    },
    cancel(process: string, runId: string) {
      const { namespace } = of(runId);
      const request = { rpc: "CancelRun", namespace, runId, undo: true } as const;
      ask(process, request, () => ({ kind: "cancelled", run: seen(runId) }));
    },
    /** The supervisor finds that the agent is silent. */
    lose(runId: string, no: number) {
      const { startedAt, token } = must(open.get(`${runId}/${no}`), "a task");
      const dueAt = startedAt + HEARTBEAT_MS;
      at = dueAt + 20;
      over(runId, no, LOST, "agent");
      const about = { step: no, fence: token.fence, rule: "lease", n: 1 } as const;
      of(runId).interventions.push({ ...about, ...acted(runId, dueAt, at) });
      stepOf(runId, no).settleUntil = at + 5_000;
    },
    backoffOver(runId: string, no: number) {
      const step = stepOf(runId, no);
      const about = { step: no, fence: step.fence, rule: "backoff", n: 0 } as const;
      of(runId).interventions.push({ ...about, ...acted(runId, at - 15, at) });
      of(runId).version += 1;
      makeReady(runId, no);
    },
    storeLate({ runId, step, fence }: TokenParts, outcome: OutcomeFact) {
      const row = of(runId).attempts.find((other) => other.step === step && other.fence === fence);
      const stored = { ...must(row, "the row"), kind: "late" as const, endedAt: at - 5, outcome };
      of(runId).attempts.push(structuredClone(stored) as Mutable<FinalAttempt>);
    },
    stop(runId: string, reason: "STEP_FAILED" | "CANCELLED_BY_USER") {
      const state = reason === "STEP_FAILED" ? "COMPENSATING" : "STOPPING";
      const { version, steps } = of(runId);
      // Undoing counts its tries anew.
      for (const step of steps) step.attempt = 0;
      Object.assign(of(runId), { state, reason, wakeAt: null, version: version + 1 });
    },
    end(runId: string, state: FinalRun["state"], reason: FinalRun["reason"]) {
      Object.assign(of(runId), { state, reason, endedAt: at, wakeAt: null });
    },
    ask(runId: string, no: number) {
      const question = {
        reason: "poison",
        code: "",
        message: "3 agents in a row were lost",
      } as const;
      const asked = {
        n: 1,
        step: no,
        ...question,
        openedAt: at,
        closedAt: null,
        closedBy: null,
        claim: null,
        deadlineAt: null,
      };
      of(runId).escalations.push({ ...asked, answer: null });
      Object.assign(of(runId), { state: "ESCALATED", wakeAt: null });
      stepOf(runId, no).forward = { kind: "ESCALATED" };
    },
    effect(did: "made" | "undone", token: TokenParts) {
      const { runId, step, fence } = token;
      const process = "remote";
      record({ kind: "effect", at, process, did, key: keyOf(token), runId, step, fence });
    },
    own(node: string, partition: number, epoch: number) {
      record({ kind: "owner", at, process: node, node, partition, epoch, did: "took" });
    },
    fault(target: string, did: "crash" | "pause") {
      const fault = { kind: "process", did } as const;
      record({ kind: "fault", at, process: "driver", target, server: false, fault });
    },
    history(): History {
      at += 1_000;
      const final = [...runs.values()];
      const canaries = [...new Set(final.map((run) => run.namespace))].map((namespace) => ({
        namespace,
        word: `canary-${namespace}`,
      }));
      const keys = final.flatMap(({ namespace, key, runId }) =>
        key === null ? [] : [{ namespace, key, runId, digest: `trip ${runId}` }],
      );
      const owners = [{ partition: 7, node: "node-1", epoch: 1 }];
      const definitions = [{ id: 1, definition: DEFINITION }];
      return structuredClone({
        meta: { source: "simulation" as const, seed: null, canaries },
        records,
        final: {
          at,
          drained: true,
          definitions,
          runs: final,
          keys,
          permits: [],
          schedules: [],
          occurrences: [],
          triggers: [],
          refusals: [],
          hooks: [],
          deliveries: [],
          owners,
        },
      });
    },
  });
}

const READY = {
  ...({ kind: "READY", task: "perform", fence: 1, attempt: 1, until: null } as const),
  avoid: null,
  alarms: 0,
};
