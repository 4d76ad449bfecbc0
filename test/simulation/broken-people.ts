// The history of people, callbacks and verifies, broken by hand: parts of G1, G3, G12 and G16.
import {
  type Broken,
  type BrokenHistory,
  callsWith,
  dropCalls,
  must,
  runOf,
  tasksSeen,
} from "./damage.ts";
import { SETTLE_MS } from "./good-history-people.ts";

const RUN = "p1";

function rowOf(history: Broken, step: number, fence: number, kind = "perform") {
  const rows = runOf(history, RUN).attempts;
  const row = rows.find((one) => one.step === step && one.fence === fence && one.kind === kind);
  return must(row, `${kind} row of fence ${fence}`);
}

/** The question is closed, and no person has answered it. */
function dropAnswer(history: Broken): void {
  must(runOf(history, RUN).escalations[0], "question").answer = null;
  dropCalls(history, ({ rpc }) => rpc === "ResolveEscalation");
}

/** "retry" is stored, `inMs` before the deadline after which the definition sets `answer`. */
function retryByDeadline(history: Broken, answer: "retry" | "fail", inMs: number): void {
  const { escalations, definitionId } = runOf(history, RUN);
  const asked = must(escalations[0], "question");
  dropCalls(history, ({ rpc }) => rpc === "ResolveEscalation");
  const found = history.final.definitions.find(({ id }) => id === definitionId);
  const step = must(found, "definition").definition.steps[must(asked.step, "step")];
  Object.assign(must(step, "step"), { escalation: { deadlineMs: 300, answer } });
  asked.deadlineAt = (asked.closedAt ?? 0) + inMs;
  asked.answer = { answer: "retry", by: "deadline", verified: false, why: "" };
}

function seenOf(history: Broken, step: number, fence: number) {
  const task = tasksSeen(history).find(
    ({ token }) => token.step === step && token.fence === fence && token.task === "perform",
  );
  return must(task, `task of fence ${fence}`);
}

export const BROKEN_PEOPLE: readonly BrokenHistory[] = [
  {
    promise: "G1",
    what: "an acknowledged signal is gone",
    break: (history) => {
      runOf(history, RUN).signals = [];
    },
    message: /signal "g1" \(go\) to run p1 was acknowledged and is lost/,
  },
  {
    promise: "G1",
    what: "an acknowledged decision is gone",
    break: (history) => {
      runOf(history, RUN).decisions.pop();
    },
    message: /the decision of bob on "ok" of run p1 was acknowledged and is lost/,
  },
  {
    promise: "G1",
    what: "an acknowledged answer was overwritten",
    break: (history) => {
      const asked = must(runOf(history, RUN).escalations[0], "question");
      asked.answer = { answer: "retry", by: "eve", verified: false, why: "" };
    },
    message:
      /the answer "retry" of ann to escalation 1 of run p1 was acknowledged, and stored is "retry" by eve/,
  },
  {
    promise: "G1",
    what: "a deadline answers what the definition does not set",
    break: (history) => retryByDeadline(history, "fail", 0),
    message: /escalation 1 of run p1 is stored as answered "retry" by deadline; no person did/,
  },
  {
    promise: "G1",
    what: "a deadline answers before it has passed",
    break: (history) => retryByDeadline(history, "retry", 1),
    message: /escalation 1 of run p1 is stored as answered "retry" by deadline; no person did/,
  },
  {
    promise: "G1",
    what: "an acknowledged callback is gone",
    break: (history) => {
      const row = rowOf(history, 0, 3);
      row.outcome = { kind: "unknown", code: "drover.callback" };
      must(runOf(history, RUN).steps[0], "visa").forward = { kind: "FAILED" };
      must(runOf(history, RUN).steps[0], "visa").result = null;
    },
    message:
      /the report success of fence 3 of step "visa" of run p1 was acknowledged, but stored is unknown/,
    // The steps after it had no reason to start.
    also: ["G5"],
  },
  {
    promise: "G1",
    what: "a decision is stored that no person made",
    break: (history) => {
      dropCalls(history, (request) => request.rpc === "Decide" && request.approver === "bob");
    },
    message: /a decision of bob is stored for step "ok" of run p1; no call sent it/,
  },
  {
    promise: "G1",
    what: "an outcome came true that no callback reported",
    break: (history) => dropCalls(history, ({ rpc }) => rpc === "CompleteDeferred"),
    message: /success is stored for fence 3 of step "visa" of run p1; no agent reported it/,
  },
  {
    promise: "G3",
    what: "a verify was handed out while the attempt was still leased",
    break: (history) => {
      rowOf(history, 0, 1).endedAt = rowOf(history, 0, 1, "verify").startedAt + 1;
    },
    message:
      /verify 1 of fence 1 of step "visa" of run p1 was handed out at \d+, while fence 1 ended/,
    also: ["G12"],
  },
  {
    promise: "G3",
    what: "a callback about a task that is out was answered that there is none",
    break: (history) => {
      const callback = must(callsWith(history, "CompleteDeferred")[0], "callback");
      const early = { ...structuredClone(callback), call: 9_000 };
      const refused = { kind: "refused", code: "NOT_FOUND", reason: "TASK_NOT_FOUND" } as const;
      const { at, process } = callback;
      const answer = { kind: "answer", at, process, call: 9_000, answer: refused } as const;
      history.records.push(early, { ...answer, canaries: [] });
    },
    message: /the CompleteDeferred sent at \d+ about fence 3 of step "visa" of run p1 was answered/,
  },
  {
    promise: "G12",
    what: "an unknown was retried on a step that may run once",
    break: dropAnswer,
    message:
      /fence 2 of step "pay" of run p1, whose effects are once, followed an unknown outcome of fence 1, and no person approved it/,
  },
  {
    promise: "G12",
    what: "an unknown was retried without a verify",
    break: (history) => {
      const run = runOf(history, RUN);
      run.attempts = run.attempts.filter(({ kind }) => kind !== "verify");
      const isVerify = (task: string): boolean => task === "verify";
      dropCalls(history, (request) =>
        request.rpc === "Complete"
          ? request.results.some(({ token }) => isVerify(token.task))
          : false,
      );
      for (const record of history.records)
        if (record.kind === "answer" && record.answer.kind === "polled")
          record.answer.tasks = record.answer.tasks.filter(({ token }) => !isVerify(token.task));
    },
    message:
      /fence 2 of step "visa" of run p1, whose effects are verifiable, followed an unknown outcome of fence 1, and no verify had found/,
  },
  {
    promise: "G12",
    what: "the verify was inconclusive, and the step was retried all the same",
    break: (history) => {
      rowOf(history, 0, 1, "verify").outcome = { kind: "unknown", code: "drover.unknown" };
      for (const { request } of callsWith(history, "Complete"))
        if (request.rpc === "Complete")
          for (const result of request.results)
            if (result.token.task === "verify")
              result.outcome = { kind: "unknown", code: "drover.unknown" };
    },
    message:
      /followed an unknown outcome of fence 1, and no verify had found that nothing happened/,
  },
  {
    promise: "G12",
    what: "a verify ran before the lost attempt had settled",
    break: (history) => {
      rowOf(history, 0, 1, "verify").startedAt -= SETTLE_MS / 2;
    },
    message:
      /verify 1 of fence 1 of step "visa" of run p1 was handed out at \d+, but fence 1 of it may act until/,
  },
  {
    promise: "G12",
    what: "two strategies share a key",
    break: (history) => {
      seenOf(history, 0, 3).idempotencyKey = seenOf(history, 0, 2).idempotencyKey;
    },
    message:
      /fences 2 and 3 of step "visa" of run p1 share the key "p1\/visa\/0" over two strategies/,
  },
  {
    promise: "G12",
    what: "two tries of one strategy have two keys",
    break: (history) => {
      seenOf(history, 1, 2).idempotencyKey = "p1/pay/1";
    },
    message: /step "pay" of run p1 was performed under 2 keys in 1 strategies/,
  },
  {
    promise: "G12",
    what: "a key is of two steps",
    break: (history) => {
      for (const fence of [1, 2]) seenOf(history, 1, fence).idempotencyKey = "p1/visa/0";
    },
    message: /the key "p1\/visa\/0" is of step "visa" of run p1 and of step "pay" of run p1/,
  },
  {
    promise: "G16",
    what: "a task was handed out while its run was paused",
    break: (history) => {
      rowOf(history, 1, 2).startedAt -= 100;
    },
    message:
      /fence 2 of step "pay" of run p1 was handed out at \d+, though the pause of run p1 was/,
  },
];
