// The good history, broken by hand in who watches what, and in what is withheld from agents.
import {
  type Asked,
  type Broken,
  type BrokenHistory,
  calls,
  must,
  own,
  runFault,
  runOf,
} from "./damage.ts";
import type { Held } from "./history-facts.ts";

/** Asked for and acknowledged before the second try of r1. */
function hold(history: Broken, held: Held): void {
  const index = history.records.findIndex((record) => record.kind === "fault");
  const { at } = must(history.records[index], "fault");
  const own = { process: "holder", call: 900, at };
  const answer = { kind: "done", run: null, repeated: false } as const;
  const request = { rpc: "Hold", namespace: "blue", held } as const;
  history.records.splice(
    index + 1,
    0,
    { kind: "call", server: "node-1", ...own, request },
    { kind: "answer", ...own, answer, canaries: [] },
  );
}

export const BROKEN_WATCHING: readonly BrokenHistory[] = [
  {
    promise: "G8",
    what: "a task was declared forgotten, and no heartbeat had left it out",
    break: (history) => {
      must(runOf(history, "r1").interventions[0], "intervention").rule = "forgotten";
    },
    message: /fence 1 of step "flight" of run r1 was declared forgotten at \d+, and no heartbeat/,
  },
  {
    promise: "G20",
    what: "a silence of one run was found late, while another run always failed",
    break: (history) => {
      const [intervention] = runOf(history, "r1").interventions;
      const { dueAt } = must(intervention, "intervention");
      runFault(history, { at: dueAt - 1, target: "r2", did: "always-fails" });
      must(intervention, "intervention").actedAt += 10_000;
    },
    message:
      /the watch "lease" of step "flight" of run r1 acted \d+ ms too late, while every pass of run r2 failed/,
    also: ["G8"],
  },
  {
    promise: "G20",
    what: "a row of a run that always fails was tried again at once",
    break: (history) => {
      const { interventions } = runOf(history, "r1");
      const silence = must(interventions[0], "intervention");
      const { actedAt: at } = silence;
      runFault(history, { at, target: "r1", did: "always-fails" });
      const saw = "its handling has failed 4 times in a row: it throws";
      const [step, rule] = [null, "failing"] as const;
      interventions.push({ ...silence, step, fence: 0, rule, saw, n: 1, actedAt: at + 6_000 });
    },
    message: /a row of run r1 was tried 4 times within 6000 ms, and 7000 ms are the least/,
  },
  {
    promise: "G20",
    what: "a report was refused as a defect, while another run always failed",
    break: (history) => {
      const isOfR1 = ({ request }: { request: Asked }): boolean =>
        request.rpc === "Complete" && request.results[0]?.token.runId === "r1";
      const { call, at } = must(calls(history).find(isOfR1), "report");
      runFault(history, { at: at - 1, target: "r2", did: "always-fails" });
      const answer = history.records.find((one) => one.kind === "answer" && one.call === call);
      if (answer?.kind === "answer" && answer.answer.kind === "completed")
        answer.answer.answers = [{ kind: "refused", reason: "INTERNAL" }];
    },
    message: /a report about run r1 was refused as a defect, while every pass of run r2 failed/,
  },
  {
    promise: "G20",
    what: "a step was handed out again and again, while the tasks of another run could not be made",
    break: (history) => {
      const { attempts } = runOf(history, "r1");
      const attempt = must(attempts[0], "attempt");
      runFault(history, { at: attempt.startedAt, target: "r2", did: "cannot-be-made" });
      for (let fence = 101; fence <= 106; fence++)
        attempts.push({ ...attempt, fence, agentId: null, outcome: { kind: "unsent" } });
    },
    message: /of run r1 was handed out 6 times and never sent, while the tasks of run r2 could not/,
    also: ["G3", "G4", "G5", "G12"],
  },
  {
    promise: "G9",
    what: "a partition was taken by one who does not watch its region",
    break: (history) => {
      history.meta.watchers = [{ server: "node-1", regions: [1], standby: false }];
    },
    message: /node-1 took partition 7 of region 0 at \d+, which it does not watch/,
  },
  {
    promise: "G9",
    what: "a standby took a partition of one who was there",
    break: (history) => {
      history.meta.watchers = [
        { server: "node-1", regions: null, standby: true },
        { server: "node-2", regions: null, standby: false },
      ];
      own(history, { node: "node-1", epoch: 2, at: history.final.at + 20_000 });
    },
    message: /node-1 took partition 7 of region 0 at \d+ as a standby, and node-2 was there/,
  },
  {
    promise: "G16",
    what: "a cordoned agent got a task",
    break: (history) => hold(history, { what: "agent", name: "agent-2" }),
    message: /was handed out at \d+, though the cordon of agent "agent-2" was acknowledged at/,
  },
  {
    promise: "G16",
    what: "a task went through an open circuit",
    break: (history) => hold(history, { what: "circuit", name: "default/send-mail" }),
    message:
      /was handed out at \d+, though the opening of circuit "default\/send-mail" was acknowledged/,
  },
];
