// The good history, broken by hand in what the rows hold: G3 to G12, and G15.
import {
  addFault,
  answersOf,
  type BrokenHistory,
  blocked,
  calls,
  callsWith,
  dropCalls,
  dropCompensate,
  must,
  own,
  reportAgain,
  rowOf,
  runOf,
  tasksSeen,
  waitLonger,
} from "./damage.ts";
import type { TokenParts } from "./history.ts";

const BACKOFF = { kind: "BACKOFF", task: "perform", cause: "retry" } as const;

export const BROKEN_ROWS: readonly BrokenHistory[] = [
  {
    promise: "G3",
    what: "a task was handed out while the one before was still leased",
    break: (history) => {
      const first = rowOf(history, "r4", 0, 1);
      first.endedAt = rowOf(history, "r4", 0, 2).startedAt + 1;
    },
    message: /fence 2 of step "flight" of run r4 was handed out at \d+, while fence 1 ended at/,
  },
  {
    promise: "G3",
    what: "a fence was handed out twice",
    break: (history) => {
      const second = rowOf(history, "r4", 0, 2);
      second.fence = 1;
      for (const { token } of tasksSeen(history))
        if (token.runId === "r4" && token.fence === 2) token.fence = 1;
    },
    message: /fence 1 of step "flight" of run r4 was handed out where fence 2 should have been/,
  },
  {
    promise: "G3",
    what: "one task was handed to two sessions",
    break: (history) => {
      const polls = tasksSeen(history).filter(({ token }) => token.runId === "r4");
      const [first, second] = polls;
      if (first && second) second.token = structuredClone(first.token);
    },
    message: /perform fence 1 of step "flight" of run r4 was handed to two sessions/,
  },
  {
    promise: "G3",
    what: "a task that an agent had was given back as if it had not",
    break: (history) => {
      rowOf(history, "r4", 0, 1).outcome = { kind: "undelivered" };
    },
    message: /perform fence 1 of step "flight" of run r4 reached an agent, but was given back/,
  },
  {
    promise: "G3",
    what: "a lost attempt was allowed to carry on beside the next one",
    break: (history) => {
      for (const { request } of calls(history))
        if (request.rpc === "Heartbeat" && request.tokens[0]?.runId === "r1")
          must(request.tokens[0], "token").fence = 1;
    },
    message: /fence 1 of step "flight" of run r1 was allowed to carry on at \d+, after fence 2/,
  },
  {
    promise: "G4",
    what: "a late report was accepted",
    break: (history) => {
      const late = answersOf(history, "completed").find(
        ({ answers: [answer] }) => answer?.kind === "refused",
      );
      must(late, "late report").answers = [{ kind: "accepted", repeated: false }];
    },
    message: /the report of fence 1 of step "flight" of run r1 was accepted, though it was sent at/,
    // And what was accepted is not what is stored.
    also: ["G1"],
  },
  {
    promise: "G4",
    what: "a late report was thrown away",
    break: (history) => {
      const run = runOf(history, "r1");
      run.attempts = run.attempts.filter(({ kind }) => kind !== "late");
    },
    message: /the late success of fence 1 of step "flight" of run r1 was not stored as evidence/,
  },
  {
    promise: "G5",
    what: "a step was completed twice",
    break: (history) => {
      const run = runOf(history, "r1");
      const row = structuredClone(rowOf(history, "r1", 2, 1));
      Object.assign(row, {
        fence: 2,
        attempt: 2,
        startedAt: row.endedAt,
        endedAt: row.endedAt + 9,
      });
      run.attempts.push(row);
      reportAgain(history, { runId: "r1", step: 2, fence: 2 });
    },
    message: /step "mail" of run r1 was performed 2 times/,
    also: ["G4"],
  },
  {
    promise: "G5",
    what: "a step was woken before what it needs was done",
    break: (history) => {
      must(runOf(history, "r5").steps[1], "hotel").firstReadyAt = 1_000_001;
    },
    message: /step "hotel" of run r5 was ready at 1000001, but needs "flight", which succeeded at/,
  },
  {
    promise: "G5",
    what: "a step was never woken",
    break: (history) => {
      const run = runOf(history, "r5");
      const row = rowOf(history, "r5", 2, 1);
      run.attempts.splice(run.attempts.indexOf(row), 1);
      blocked(must(run.steps[2], "mail"));
      const isMail = ({ runId, step }: TokenParts): boolean => runId === "r5" && step === 2;
      dropCalls(history, (request) =>
        request.rpc === "Complete" ? request.results.some(({ token }) => isMail(token)) : false,
      );
      for (const answer of answersOf(history, "polled"))
        answer.tasks = answer.tasks.filter(({ token }) => !isMail(token));
    },
    message: /step "mail" of run r5 was never made ready, though all that it needs has succeeded/,
  },
  {
    promise: "G6",
    what: "a run left a final state",
    break: (history) => {
      const reads = answersOf(history, "read").filter(({ run }) => run.runId === "r1");
      must(reads[1], "second read").run.state = "COMPLETED";
      const third = must(reads[2], "third read").run;
      third.version = (third.version ?? 0) + 1;
      third.state = "RUNNING";
      runOf(history, "r1").version += 2;
    },
    message: /run r1 went from COMPLETED \(version \d+\) to RUNNING \(version \d+\)/,
  },
  {
    promise: "G6",
    what: "a step took a way that the table has not",
    break: (history) => {
      const [, second] = answersOf(history, "read").filter(({ run }) => run.runId === "r1");
      must(must(second, "second read").run.steps[0], "flight").state = "FAILED";
    },
    message: /step "flight" of run r1 went from FAILED \(version \d+\) to SUCCEEDED/,
  },
  {
    promise: "G6",
    what: "a reader saw a version that was never stored",
    break: (history) => {
      runOf(history, "r2").version -= 1;
    },
    message: /run r2 was seen in version \d+, stored is \d+/,
  },
  {
    promise: "G7",
    what: "a step waits for a person, and no escalation is open",
    break: (history) => {
      runOf(history, "r4").escalations = [];
    },
    message: /step "flight" of run r4 waits for a person, and no escalation is open/,
    also: ["G10"],
  },
  {
    promise: "G7",
    what: "nothing will ever wake a run",
    break: (history) => {
      const run = runOf(history, "r4");
      Object.assign(run, { state: "RUNNING", wakeAt: 9_000_000 });
      must(run.steps[0], "flight").forward = { kind: "BLOCKED", waitingFor: 0, ok: 0, skipped: 0 };
      history.final.drained = false;
    },
    message: /run r4 is RUNNING, and nothing will ever move it/,
    // It needs nothing, so it should have started.
    also: ["G5"],
  },
  {
    promise: "G7",
    what: "no server watches the partition of an open run",
    break: (history) => {
      history.final.owners = [{ partition: 8, node: "node-1", epoch: 1 }];
    },
    message: /no server watches partition 7 of run r4/,
  },
  {
    promise: "G8",
    what: "a silent agent was noticed too late",
    break: (history) => {
      must(runOf(history, "r1").interventions[0], "intervention").actedAt += 1_500;
    },
    message:
      /the watch "lease" of step "flight" of run r1 was due at \d+ and acted at \d+, \d+ ms after/,
  },
  {
    promise: "G8",
    what: "an agent was declared lost while an answered heartbeat renewed its lease",
    break: (history) => {
      const { interventions } = runOf(history, "r1");
      const heartbeat = must(
        callsWith(history, "Heartbeat").find(
          ({ request }) => request.rpc === "Heartbeat" && request.tokens[0]?.runId === "r1",
        ),
        "heartbeat",
      );
      const lost = must(interventions[0], "intervention");
      interventions.push({ ...lost, fence: 2, dueAt: heartbeat.at + 1, actedAt: heartbeat.at + 1 });
    },
    message:
      /fence 2 of step "flight" of run r1 was declared lost at \d+, though its heartbeat of \d+/,
  },
  {
    promise: "G8",
    what: "a due row was forgotten",
    break: (history) => {
      const run = runOf(history, "r4");
      Object.assign(run, { state: "RUNNING", wakeAt: 9_000_000 });
      const step = must(run.steps[0], "flight");
      step.forward = { ...BACKOFF, wakeAt: history.final.at - 1_501 };
      history.final.drained = false;
    },
    message: /step "flight" of run r4 was due at \d+, and at \d+ no server had acted/,
  },
  {
    promise: "G9",
    what: "two supervisors acted on one attempt",
    break: (history) => {
      const { interventions } = runOf(history, "r1");
      interventions.push(structuredClone(must(interventions[0], "intervention")));
    },
    message: /the watch "lease" of step "flight" of run r1 acted twice on fence 1/,
  },
  {
    promise: "G9",
    what: "an owner acted after its partition had been taken over",
    break: (history) => {
      const at = must(runOf(history, "r1").interventions[0], "intervention").actedAt - 1;
      own(history, { node: "node-2", epoch: 2, at });
    },
    message: /was done at \d+ in epoch 1, after epoch 2 of node-2 began/,
  },
  {
    promise: "G9",
    what: "an epoch did not grow",
    break: (history) => own(history, { node: "node-2", epoch: 1, at: history.final.at }),
    message: /node-2 took partition 7 at \d+ with epoch 1, after epoch 1/,
  },
  {
    promise: "G9",
    what: "another server acted in an owner's epoch",
    break: (history) => {
      must(runOf(history, "r1").interventions[0], "intervention").node = "node-2";
    },
    message: /was done by node-2 in epoch 1, which is node-1's/,
  },
  {
    promise: "G10",
    what: "a run is still on its way after all was healed",
    break: (history) => {
      const run = runOf(history, "r4");
      Object.assign(run, { state: "RUNNING", wakeAt: 9_000_000 });
      must(run.steps[0], "flight").forward = { ...BACKOFF, wakeAt: 8_000_000 };
    },
    message: /run r4 is still RUNNING after all was healed; its steps are BACKOFF\/NONE/,
  },
  {
    promise: "G11",
    what: "an effect was left behind",
    break: (history) => {
      const run = runOf(history, "r2");
      must(run.steps[0], "flight").undo = { kind: "NONE" };
      run.attempts = run.attempts.filter((row) => row.step !== 0 || row.kind !== "compensate");
      dropCompensate(history, 0);
    },
    message: /step "flight" of run r2 has left an effect in a COMPENSATED run; not undone/,
  },
  {
    promise: "G11",
    what: "the first step was undone before the second",
    break: (history) => {
      const flight = rowOf(history, "r2", 0, 2);
      const hotel = rowOf(history, "r2", 1, 2);
      const a = { ...flight };
      const b = { ...hotel };
      Object.assign(flight, { startedAt: b.startedAt, endedAt: b.endedAt });
      Object.assign(hotel, { startedAt: a.startedAt, endedAt: a.endedAt });
    },
    message:
      /step "flight" of run r2 was being undone at \d+, but "hotel" after it was undone only at/,
  },
  {
    promise: "G11",
    what: "undoing began before a lost attempt had settled",
    break: (history) => {
      const mail = rowOf(history, "r2", 2, 1);
      mail.outcome = { kind: "unknown", code: "drover.lost" };
      dropCalls(history, (request) =>
        request.rpc === "Complete"
          ? request.results.some(({ token }) => token.runId === "r2" && token.step === 2)
          : false,
      );
    },
    message: /the undo of step "hotel" of run r2 was handed out at \d+, but fence 1 of step "mail"/,
  },
  {
    promise: "G11",
    what: "the remote service still has the effect",
    break: (history) => {
      history.records = history.records.filter(
        (record) => record.kind !== "effect" || record.did !== "undone" || record.step !== 0,
      );
    },
    message: /the remote service still has the effect "r2\/flight\/0" of step "flight" of run r2/,
  },
  {
    promise: "G12",
    what: "a retry came before its backoff was over",
    break: (history) => {
      const retry = rowOf(history, "r1", 1, 2);
      retry.startedAt = rowOf(history, "r1", 1, 1).endedAt + 790;
    },
    message: /after failure busy it must wait 800 ms, and waited 790 ms/,
  },
  {
    promise: "G12",
    what: "a permanent failure was retried",
    break: (history) => {
      const outcomes = callsWith(history, "Complete").flatMap(({ request }) =>
        request.rpc === "Complete" ? request.results.map((result) => result.outcome) : [],
      );
      for (const outcome of [rowOf(history, "r1", 1, 1).outcome, ...outcomes])
        if (outcome.kind === "failure") outcome.class = "permanent";
    },
    message: /was followed by another try: it failed for good with busy/,
  },
  {
    promise: "G12",
    what: "one more try than the policy allows",
    break: (history) => {
      const steps = must(history.final.definitions[0], "definition").definition.steps;
      must(steps[1], "hotel").retry = [{ on: ["busy"], attempts: 1 }];
    },
    message: /policy 0 allows 1 tries, and all were used/,
    // It is no longer what was registered.
    also: ["G1"],
  },
  {
    promise: "G12",
    what: "a code without a policy was retried",
    break: (history) => {
      const steps = must(history.final.definitions[0], "definition").definition.steps;
      must(steps[1], "hotel").retry = [{ on: ["other"], attempts: 9 }];
    },
    message: /no retry policy answers busy/,
    // It is no longer what was registered.
    also: ["G1"],
  },
  {
    promise: "G12",
    what: "a lost attempt was counted as a try",
    break: (history) => {
      rowOf(history, "r4", 0, 2).attempt = 2;
    },
    message: /fence 2 of step "flight" of run r4 is attempt 2, but 0 tries counted before it/,
  },
  {
    promise: "G15",
    what: "a poll waited beside ready work, after a lost notification",
    break: (history) => {
      const at = waitLonger(history);
      addFault(history, { at, fault: { kind: "notification", did: "lost" } });
    },
    message: /step "flight" of run r5 was ready, and a poll of agent-g waited for it, from/,
  },
];
