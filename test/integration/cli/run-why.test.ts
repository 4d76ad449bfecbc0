// drover run why: what a run waits for, as people read it and as programs do.
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ActionKind, NextKind, WaitKind } from "@drover/proto/drover/v1/explain_pb.ts";
import { RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { ExplainRunResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { expect, test } from "vitest";
import { runNotFound } from "../../support/fake-scheduler.ts";
import { scriptedServer } from "./fixture.ts";

const at = (time: string) => timestampFromDate(new Date(`2026-01-31T${time}Z`));

const server = scriptedServer();

const run = (...args: readonly string[]) => server.drover(["run", ...args]);

const sentence = '"hotel" waits for an agent.';
const explained = create(ExplainRunResponseSchema, {
  run: { runId: "r1", workflow: "holiday", workflowVersion: 3, state: RunState.RUNNING },
  now: at("12:01:00"),
  wait: {
    sentence,
    waitingFor: WaitKind.AGENT_TO_POLL,
    waitsOn: ["hotel"],
    actions: [{ kind: ActionKind.CANCEL, choices: ["compensate", "leave"] }],
  },
  steps: [
    {
      stepId: "hotel",
      waitingFor: WaitKind.AGENT_TO_POLL,
      sentence,
      sinceTime: at("12:00:20"),
      next: NextKind.ALARM,
      nextTime: at("12:05:20"),
      tried: { attempts: 2, lastFailure: { code: "busy", message: "come\u001b[2Jback" } },
      actions: [{ kind: ActionKind.START_AGENT, queue: "eu", task: "book-hotel" }],
    },
    {
      stepId: "car",
      undo: true,
      waitingFor: WaitKind.PERSON,
      sentence: 'The undo of "car" waits for a person\'s answer.',
      sinceTime: at("12:00:00"),
      actions: [{ kind: ActionKind.ANSWER, escalationId: "3", choices: ["retry", "fail"] }],
    },
  ],
});

test("prints what the run and each step wait for, and what can be done", async () => {
  server.play({ explainRun: () => explained });
  const { code, stdout } = await run("why", "r1");
  expect(code).toBe(0);
  expect(stdout).toBe(`run r1 (holiday v3) is running
"hotel" waits for an agent.

steps
STEP        WAITS FOR      FOR    NEXT   IN     ATTEMPTS  LAST
hotel       agent to poll  40.0s  alarm  4m20s  2         busy: come\\u001b[2Jback
car (undo)  person         1m00s
The undo of "car" waits for a person's answer.

what can be done
  start an agent for queue eu, task book-hotel
  drover escalation resolve r1/3 --answer ANSWER --reason TEXT (retry, fail)
  drover run cancel r1, or drover run cancel r1 --leave
`);
});

test("prints signals that no step has taken", async () => {
  const sentence = 'The signal "paid" came \u001b[2J4 min ago.';
  const untaken = create(ExplainRunResponseSchema, { untakenSignals: [{ sentence }] });
  server.play({ explainRun: () => ({ ...explained, untakenSignals: untaken.untakenSignals }) });
  const { stdout } = await run("why", "r1");
  expect(stdout).toContain('\nThe signal "paid" came \\u001b[2J4 min ago.\n\nwhat can be done');
});

test.each([
  [
    { kind: ActionKind.ANSWER, escalationId: "3", choices: ["acknowledge"] },
    "drover escalation resolve r1/3 --answer acknowledge --reason TEXT",
  ],
  [{ kind: ActionKind.SIGNAL, signalName: "paid" }, "drover run signal r1 paid"],
  [
    { kind: ActionKind.DECIDE, stepId: "ok", choices: ["approve", "reject"], approvers: ["ann"] },
    "drover approval decide r1 ok --by NAME --approve, or --reject (approvers: ann); drover approval show r1 ok prints its form",
  ],
  [
    { kind: ActionKind.DECIDE, stepId: "ok", choices: ["approve", "reject"] },
    "drover approval decide r1 ok --by NAME --approve, or --reject (approvers: any person); drover approval show r1 ok prints its form",
  ],
  [
    { kind: ActionKind.COMPLETE_DEFERRED, stepId: "ship" },
    "drover run complete r1 ship --succeed, or --payload JSON, or --error CODE (if the callback does not come)",
  ],
  [
    { kind: ActionKind.COMPLETE_DEFERRED, stepId: "ship[3]" },
    "drover run complete r1 'ship[3]' --succeed, or --payload JSON, or --error CODE (if the callback does not come)",
  ],
  [{ kind: ActionKind.PAUSE }, "drover run pause r1"],
  [{ kind: ActionKind.RESUME }, "drover run resume r1"],
])("names the command for what a person can do: %o", async (action, command) => {
  const wait = { sentence, waitingFor: WaitKind.PERSON, actions: [action] };
  server.play({ explainRun: () => ({ run: { runId: "r1" }, wait }) });
  expect((await run("why", "r1")).stdout).toContain(`\n  ${command}\n`);
});

test("gives programs every field", async () => {
  server.play({ explainRun: () => explained });
  const { stdout } = await run("why", "--key", "order-7", "-o", "json");
  expect(JSON.parse(stdout)).toMatchObject({
    wait: { waitingFor: "WAIT_KIND_AGENT_TO_POLL", waitsOn: ["hotel"] },
    steps: [{ next: "NEXT_KIND_ALARM", nextTime: "2026-01-31T12:05:20Z" }, { undo: true }],
  });
});

test("a run that is not there exits with 4", async () => {
  server.play({
    explainRun: () => {
      throw runNotFound;
    },
  });
  expect((await run("why", "r9")).code).toBe(4);
});
