// The good history, broken by hand in what callers received: G1, G2, G13, G14, G16 and G17.
import {
  answersOf,
  type BrokenHistory,
  blocked,
  callsWith,
  dropCalls,
  must,
  refuse,
  rowOf,
  runOf,
} from "./damage.ts";

export const BROKEN_CALLS: readonly BrokenHistory[] = [
  {
    promise: "G1",
    what: "an acknowledged run is gone",
    break: (history) => {
      history.final.runs = history.final.runs.filter(({ runId }) => runId !== "r3");
    },
    message: /acknowledged with run r3, which is not stored/,
    // Its task, which an agent got, is gone with it, and so is its cancel.
    also: ["G3"],
  },
  {
    promise: "G1",
    what: "an acknowledged outcome was overwritten",
    break: (history) => {
      const { outcome } = rowOf(history, "r1", 1, 1);
      if (outcome.kind === "failure") outcome.code = "other";
    },
    message:
      /report failure busy of fence 1 of step "hotel" of run r1 was acknowledged, but stored/,
  },
  {
    promise: "G1",
    what: "an acknowledged cancel has left no trace",
    break: (history) => {
      const run = runOf(history, "r3");
      Object.assign(run, { state: "RUNNING", reason: null, endedAt: null, wakeAt: 9_000_000 });
      history.final.drained = false;
      Object.assign(must(run.steps[0], "step").forward, { kind: "BACKOFF", wakeAt: 8_000_000 });
    },
    message: /the cancel of run r3 was acknowledged, but the run is RUNNING/,
    // A caller had read it as STOPPING.
    also: ["G6"],
  },
  {
    promise: "G1",
    what: "an outcome is stored that no agent reported",
    break: (history) => {
      dropCalls(history, (request) => request.rpc === "Complete" && request.session === "agent-g");
    },
    message: /success is stored for fence 1 of step "flight" of run r5; no agent reported it/,
  },
  {
    promise: "G1",
    what: "a run is stored that no call asked for",
    break: (history) => {
      dropCalls(history, (request) => request.rpc === "Schedule" && request.mark === "order r5");
      history.final.keys = history.final.keys.filter(({ runId }) => runId !== "r5");
      runOf(history, "r5").key = null;
    },
    message: /run r5 \("order r5" in green\) is stored; no call asked for it/,
  },
  {
    promise: "G1",
    what: "a run is of another version than the one that was named",
    break: (history) => {
      const [trip] = history.final.definitions;
      const definition = { ...must(trip, "definition").definition, timeoutMs: 90_000 };
      history.final.definitions.push({ id: 2, definition });
      runOf(history, "r5").definitionId = 2;
    },
    message: /run r5 was asked for as version 1 of "trip" of green, and runs something else/,
  },
  {
    promise: "G1",
    what: "a registered version is not found",
    break: (history) => {
      const call = must(callsWith(history, "Schedule").at(-1), "Schedule");
      const again = { ...structuredClone(call), call: 9_000 };
      const refused = { kind: "refused", code: "NOT_FOUND", reason: "WORKFLOW_NOT_FOUND" } as const;
      const { at, process } = call;
      const answer = { kind: "answer", at, process, call: 9_000, answer: refused } as const;
      if (again.request.rpc === "Schedule") again.request.key = "k9";
      history.records.push(again, { ...answer, canaries: [] });
    },
    message: /version 1 of "trip" of green was registered, and not found/,
  },
  {
    promise: "G1",
    what: "one version has two contents",
    break: (history) => {
      const call = must(callsWith(history, "RegisterWorkflow")[0], "RegisterWorkflow");
      const again = { ...structuredClone(call), call: 9_000 };
      if (again.request.rpc === "RegisterWorkflow") again.request.definition.timeoutMs = 90_000;
      const version = { kind: "registered", name: "trip", version: 1, created: true } as const;
      const { at, process } = call;
      const answer = { kind: "answer", at, process, call: 9_000, answer: version } as const;
      history.records.push(again, { ...answer, canaries: [] });
    },
    message: /"trip" of green has two contents as version 1 and as version 1/,
  },
  {
    promise: "G2",
    what: "the repeat of a Schedule started another run",
    break: (history) => {
      const twin = structuredClone(runOf(history, "r1"));
      Object.assign(twin, { runId: "r9", attempts: [], interventions: [] });
      for (const step of twin.steps) blocked(step);
      Object.assign(twin, { state: "FAILED", reason: "TIMED_OUT", version: 1 });
      history.final.runs.push(twin);
      const answer = answersOf(history, "scheduled").find(({ runId }) => runId === "r1");
      Object.assign(must(answer, "answer"), { runId: "r9" });
    },
    message: /key "k1" of namespace blue has two runs, r1 and r9/,
  },
  {
    promise: "G2",
    what: "another request was accepted under a used key",
    break: (history) => {
      const [first] = callsWith(history, "Schedule");
      Object.assign(must(first, "Schedule").request, { digest: "x" });
      const [answer] = history.records.filter((record) => record.kind === "answer");
      must(answer, "answer").answer = { kind: "scheduled", runId: "r1", created: true };
    },
    message: /two different requests were accepted under key "k1"/,
  },
  {
    promise: "G2",
    what: "the reservation of a key is gone",
    break: (history) => {
      history.final.keys = history.final.keys.filter(({ runId }) => runId !== "r2");
    },
    message: /key "k2" of namespace blue was acknowledged, but its reservation is gone/,
  },
  {
    promise: "G13",
    what: "a refused Schedule has started a run",
    break: (history) => refuse(history, "Schedule", "r3", "INVALID_DEFINITION"),
    message: /every Schedule of "order r3" was refused, but run r3 is stored/,
  },
  {
    promise: "G13",
    what: "a refused report was stored",
    break: (history) => {
      const answers = answersOf(history, "completed").at(-1);
      must(answers, "last report").answers = [{ kind: "refused", reason: "TASK_OVER" }];
    },
    message:
      /every report success of fence 1 of step "mail" of run r5 was refused, but it is stored/,
  },
  {
    promise: "G13",
    what: "a report was stored by a call that was refused, before it was sent again and taken",
    break: (history) => {
      const call = must(callsWith(history, "Complete").at(-1), "last report");
      const answer = history.records.find(
        (record) => record.kind === "answer" && record.call === call.call,
      );
      const [again, taken] = structuredClone([call, must(answer, "its answer")] as const);
      for (const record of [again, taken]) {
        if (record.kind !== "call" && record.kind !== "answer") continue;
        record.call = 10_000;
        record.at += 200;
      }
      if (answer?.kind === "answer")
        answer.answer = { kind: "refused", code: "RESOURCE_EXHAUSTED", reason: "OVERLOADED" };
      history.records.push(again, taken);
    },
    message:
      /success of fence 1 of step "mail" of run r5 was stored at \d+, when the only report of it, of \d+, was refused as a call/,
  },
  {
    promise: "G13",
    what: "a refused cancel has cancelled",
    break: (history) => refuse(history, "CancelRun", "r3", "RUN_STATE"),
    message: /every cancel of run r3 was refused, but it is cancelled/,
  },
  {
    promise: "G14",
    what: "an answer holds the canary of another namespace",
    break: (history) => {
      const answer = history.records.find((record) => record.kind === "answer");
      if (answer?.kind === "answer") answer.canaries = ["canary-green"];
    },
    message: /in namespace blue holds the canary "canary-green" of namespace green/,
  },
  {
    promise: "G14",
    what: "a reader of one namespace received a run of another",
    break: (history) => {
      for (const { request } of callsWith(history, "GetRun")) request.namespace = "green";
    },
    message: /the answer to GetRun of clerk-b in namespace green is about run r1, which is of/,
  },
  {
    promise: "G16",
    what: "a step was handed out after the cancel",
    break: (history) => {
      rowOf(history, "r3", 0, 1).startedAt += 21;
    },
    message: /fence 1 of step "flight" of run r3 was handed out at \d+, after the cancel of run r3/,
  },
  {
    promise: "G16",
    what: "an agent never learned of the cancel",
    break: (history) => {
      const heartbeats = answersOf(history, "heartbeat-answered").at(-1);
      must(heartbeats, "heartbeats").answers = [{ kind: "carry-on", leaseMs: 3_000 }];
    },
    message:
      /a heartbeat sent at \d+ let fence 1 of step "flight" of run r3 carry on, after the cancel/,
  },
  {
    promise: "G17",
    what: "a reader received an older version",
    break: (history) => {
      const reads = answersOf(history, "read").filter(({ run }) => run.runId === "r1");
      must(reads[2], "third read").run = structuredClone(must(reads[0], "first read").run);
    },
    message: /clerk-b read version \d+ of run r1 at \d+, and version 1 at \d+/,
  },
  {
    promise: "G17",
    what: "a run that was acknowledged is not found",
    break: (history) => refuse(history, "GetRun", "r2", "RUN_NOT_FOUND"),
    message: /clerk-b read version 0 of run r2 at \d+, and that there is no such run at/,
  },
];
