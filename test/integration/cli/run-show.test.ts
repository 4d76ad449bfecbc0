// drover run show: the whole story of a run, as people read it and as programs do.
import { stripVTControlCharacters } from "node:util";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  AttemptSource,
  ConcurrencyPolicy,
  OutcomeKind,
  RunReason,
  RunState,
  SettingSource,
  StepKind,
  StepState,
  UndoState,
  WaitingOn,
} from "@drover/proto/drover/v1/run_pb.ts";
import { GetRunResponseSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { FailureClass, TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { describe, expect, test } from "vitest";
import { runNotFound } from "../../support/fake-scheduler.ts";
import { droverOnTerminal } from "../../support/terminal.ts";
import { scriptedServer } from "./fixture.ts";

const at = (time: string) => timestampFromDate(new Date(`2026-01-31T${time}Z`));

const server = scriptedServer();

const run = (...args: readonly string[]) => server.drover(["run", ...args]);

const story = create(GetRunResponseSchema, {
  run: {
    runId: "r1",
    workflow: "holiday",
    workflowVersion: 3,
    createdTime: at("12:00:00"),
    state: RunState.ESCALATED,
    reason: RunReason.STEP_FAILED,
    key: "order-7",
    labels: { team: "a" },
    input: { body: { case: "json", value: '{"to":"Oslo"}' } },
  },
  steps: [
    {
      id: "flight",
      state: StepState.SUCCEEDED,
      undoState: UndoState.FAILED,
      task: "book-flight",
      queue: "travel",
      attempt: 2,
      output: { body: { case: "json", value: '{"seat":12}' } },
    },
    {
      id: "hotel",
      state: StepState.FAILED,
      task: "book-hotel",
      queue: "travel",
      attempt: 1,
      error: {
        code: "no-room",
        message: "nothing free\u001b[31m\nnext: trust me",
        failureClass: FailureClass.PERMANENT,
      },
    },
  ],
  attempts: [
    {
      stepId: "flight",
      kind: TaskKind.PERFORM,
      fence: 1,
      attempt: 1,
      agentId: "flight-1",
      session: Buffer.from("3f2a91bc".repeat(4), "hex"),
      host: "pc-7",
      startedTime: at("12:00:00"),
      endedTime: at("12:00:03.500"),
      outcome: OutcomeKind.UNKNOWN,
      failure: { code: "drover.lost", message: "the agent fell silent" },
      progress: { kind: { case: "fraction", value: 0.47 } },
    },
    {
      stepId: "flight",
      kind: TaskKind.PERFORM,
      fence: 2,
      attempt: 2,
      agentId: "flight-2",
      startedTime: at("12:00:04"),
    },
  ],
  interventions: [
    {
      stepId: "flight",
      rule: "lease",
      saw: "flight-1 fell silent",
      did: "handed the task to another agent",
      dueTime: at("12:00:03.500"),
      actedTime: at("12:00:03.620"),
      supervisor: "s1",
      partition: 17,
    },
  ],
  escalations: [
    {
      id: "1",
      runId: "r1",
      stepId: "flight",
      reason: "undo-failed",
      message: "cancel-flight failed for good",
      openedTime: at("12:01:00"),
      answers: ["retry", "succeed"],
    },
  ],
});

/** A run that waits for much: each kind of step, what came from outside, and a closed question. */
const waiting = create(GetRunResponseSchema, {
  run: { runId: "r2", workflow: "order", state: RunState.PAUSED, warnings: 1 },
  steps: [
    {
      id: "charge",
      kind: StepKind.TASK,
      state: StepState.VERIFYING,
      task: "charge",
      queue: "money",
      attempt: 1,
      strategy: 1,
      verifies: 2,
      nextTime: at("12:00:09"),
    },
    {
      id: "paid",
      kind: StepKind.SIGNAL,
      state: StepState.WAITING,
      waitingOn: WaitingOn.SIGNAL,
      signalName: "payment",
      nextTime: at("12:00:00"),
    },
    {
      id: "release",
      kind: StepKind.APPROVAL,
      state: StepState.WAITING,
      waitingOn: WaitingOn.APPROVAL,
      approvals: 1,
    },
    { id: "gift", kind: StepKind.TASK, state: StepState.SKIPPED, task: "wrap", queue: "default" },
  ],
  attempts: [
    {
      stepId: "charge",
      kind: TaskKind.PERFORM,
      fence: 1,
      attempt: 1,
      startedTime: at("12:00:00"),
      endedTime: at("12:00:01"),
      outcome: OutcomeKind.FAILURE,
      failure: { code: "drover.total" },
      source: AttemptSource.ENGINE,
    },
  ],
  signals: [
    {
      seq: 1,
      signalId: "s1",
      name: "sent",
      payload: { body: { case: "json", value: "7" } },
      receivedTime: at("12:00:02"),
    },
  ],
  decisions: [
    {
      stepId: "release",
      approver: "ada",
      approved: true,
      comment: "fine",
      decidedTime: at("12:00:03"),
    },
  ],
  escalations: [
    {
      id: "1",
      runId: "r2",
      stepId: "gift",
      reason: "step-failed",
      message: "no paper",
      openedTime: at("12:00:04"),
      closedTime: at("12:00:05"),
      closedBy: 'answered "skip" by bob',
      answer: { answer: "skip", by: "bob", why: "no gift needed" },
    },
    {
      id: "2",
      runId: "r2",
      reason: "pickup",
      message: "no agent polls",
      openedTime: at("12:00:06"),
    },
  ],
  settings: [
    { field: "timeout", value: "7d", source: SettingSource.DEFAULT },
    { stepId: "charge", field: "effects", value: "verifiable", source: SettingSource.DEFINITION },
  ],
});

describe("show", () => {
  test("prints the whole story: who noticed, after how long, what was done, and the way out", async () => {
    server.play({ getRun: () => story });
    const { code, stdout, stderr } = await run("show", "r1");
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        "run        r1",
        "state      escalated (a step failed)",
        "workflow   holiday v3",
        "key        order-7",
        "labels     team=a",
        "created    2026-01-31 12:00:00Z",
        'input      {"to":"Oslo"}',
        "",
        "steps",
        "STEP    STATE      UNDO                 TASK         QUEUE   ATTEMPT  RESULT",
        'flight  succeeded  compensation failed  book-flight  travel  2        {"seat":12}',
        "hotel   failed                          book-hotel   travel  1        no-room: nothing free\\u001b[31m next: trust me",
        "",
        "attempts",
        "STARTED               STEP    KIND     FENCE  ATTEMPT  AGENT     INSTANCE  HOST  TOOK  PROGRESS  OUTCOME      WHY",
        "2026-01-31 12:00:00Z  flight  perform  1      1        flight-1  3f2a91bc  pc-7  3.5s  47 %      unknown      drover.lost: the agent fell silent",
        "2026-01-31 12:00:04Z  flight  perform  2      2        flight-2                                  in progress",
        "",
        "interventions",
        "TIME                  STEP    RULE   OBSERVED              LATENESS  ACTION                            BY",
        "2026-01-31 12:00:03Z  flight  lease  flight-1 fell silent  120ms     handed the task to another agent  s1 (partition 17)",
        "",
        "escalations",
        "2026-01-31 12:01:00Z  flight  undo-failed: cancel-flight failed for good",
        "  open: a person must answer",
        "  answers: retry, succeed",
        "  next: drover escalation resolve r1/1 --answer ANSWER --reason TEXT",
        "  or: drover run cancel r1 --leave --reason TEXT",
        "",
      ].join("\n"),
    );
    expect(stderr).toBe("  next: drover run watch r1\n");
  });

  test("prints what each step waits for, who set what, and what to do about it", async () => {
    const asked: boolean[] = [];
    server.play({
      getRun({ includeSignals, includeDecisions, includeSettings }) {
        asked.push(includeSignals, includeDecisions, includeSettings);
        return waiting;
      },
    });
    const { stdout, stderr } = await run("show", "r2", "--settings");
    expect(asked).toEqual([true, true, true]);
    expect(stdout).toBe(
      [
        "run        r2",
        "state      paused, 1 warning",
        "workflow   order",
        "",
        "steps",
        "STEP     KIND      STATE      TASK    QUEUE    ATTEMPT  NEXT       HOW",
        "charge             verifying  charge  money    1        12:00:09Z  fallback 1, 2 verifies without a result",
        "paid     signal    waiting                                         for the signal payment until 2026-01-31 12:00:00Z",
        "release  approval  waiting                                         for approval, 1 approval",
        "gift               skipped    wrap    default",
        "",
        "attempts",
        "STARTED               STEP    KIND     FENCE  ATTEMPT  AGENT       TOOK  OUTCOME  WHY",
        "2026-01-31 12:00:00Z  charge  perform  1      1        the engine  1.0s  failure  drover.total",
        "",
        "signals",
        "RECEIVED              SIGNAL  ID  TAKEN BY  PAYLOAD",
        "2026-01-31 12:00:02Z  sent    s1  -         7",
        "",
        "decisions",
        "DECIDED               STEP     APPROVER            DECISION  COMMENT",
        "2026-01-31 12:00:03Z  release  ada (not verified)  approved  fine",
        "",
        "settings",
        "STEP     SETTING  VALUE       FROM",
        "the run  timeout  7d          default",
        "charge   effects  verifiable  definition",
        "",
        "escalations",
        "2026-01-31 12:00:04Z  gift  step-failed: no paper",
        "  closed 2026-01-31 12:00:05Z: skip, by bob (not verified): no gift needed",
        "2026-01-31 12:00:06Z  the run  pickup: no agent polls",
        "  open: a person must answer",
        "  next: drover escalation show r2/2",
        "  or: drover run cancel r2 --leave --reason TEXT",
        "",
      ].join("\n"),
    );
    expect(stderr).toBe(
      "  next: drover run decide r2 release --approve --by NAME\n" +
        "  next: drover run signal r2 payment\n" +
        "  next: drover run resume r2\n" +
        "  next: drover run watch r2\n",
    );
  });

  test.each([
    ["its id", ["r1"], { case: "runId", value: "r1" }],
    ["key:NAME", ["key:order 7"], { case: "key", value: "order 7" }],
    ["--key", ["--key", "order 7"], { case: "key", value: "order 7" }],
  ])("finds the run by %s", async (_, args, ref) => {
    const refs: unknown[] = [];
    server.play({
      getRun(request) {
        refs.push(request.run?.ref);
        return story;
      },
    });
    const { stdout } = await run("show", ...args, "-o", "json");
    expect(refs).toEqual([ref]);
    expect(JSON.parse(stdout)).toMatchObject({
      run: { runId: "r1", state: "RUN_STATE_ESCALATED" },
    });
  });

  test("a run that has not started prints when it does, and what it shares permits with", async () => {
    const concurrency = { key: "customer-17", limit: 2, policy: ConcurrencyPolicy.CANCEL_OLDEST };
    const pending = { runId: "r1", state: RunState.PENDING, startTime: at("13:00:00") };
    server.play({ getRun: () => ({ run: { ...pending, concurrency } }) });
    const { stdout } = await run("show", "r1");
    expect(stdout).toContain("starts     2026-01-31 13:00:00Z\n");
    expect(stdout).toContain("permits    of customer-17: 2 at a time, else cancel oldest\n");
  });

  test("names its warnings, and the command that lists the failed items of a map", async () => {
    const items = { total: 3, started: 3, open: 0, succeeded: 2, failed: 1 };
    const map = { id: "deploy", kind: StepKind.MAP, state: StepState.SUCCEEDED, items };
    const end = create(GetRunResponseSchema, {
      run: { runId: "r4", workflow: "roll-out", state: RunState.COMPLETED, warnings: 1 },
      steps: [map],
      warnings: [{ stepId: "deploy", code: "drover.items", message: "1 of 3 items failed" }],
    });
    server.play({ getRun: () => end });
    const { stdout, stderr } = await run("show", "r4");
    expect(stdout).toContain("deploy  map   succeeded  3 of 3 items ended, 1 failed\n");
    expect(stdout).toContain(
      "\nwarnings\nSTEP    WARNING\ndeploy  drover.items: 1 of 3 items failed\n",
    );
    expect(stderr).toBe("  next: drover run items r4 deploy --state failed\n");
  });

  test("prints that an agent's own report was acted on where no supervisor had to notice", async () => {
    const own = { rule: "forgotten", actedTime: at("12:00:01"), partition: 7 };
    server.play({ getRun: () => create(GetRunResponseSchema, { interventions: [own] }) });
    expect((await run("show", "r6")).stdout).toContain("its agent (partition 7)\n");
  });

  test("shows errors in whole sentences, and all of what is long with --full", async () => {
    const cause = `the output was refused: ${"x".repeat(140)}, over the limit`;
    const long = { stepId: "a", failure: { code: "drover.output", message: "y".repeat(600) } };
    const value = JSON.stringify("z".repeat(300));
    const end = create(GetRunResponseSchema, {
      run: { runId: "r5", state: RunState.FAILED, input: { body: { case: "json", value } } },
      steps: [{ id: "a", state: StepState.FAILED, error: { code: "no", message: cause } }],
      attempts: [{ ...long, startedTime: at("12:00:00"), endedTime: at("12:00:01") }],
    });
    server.play({ getRun: () => end });
    const short = await run("show", "r5");
    expect(short.stdout).toContain(`no: ${cause}\n`);
    expect(short.stdout).not.toContain("y".repeat(500));
    expect(short.stderr).toBe("  next: drover run show r5 --full\n");
    for (const flag of ["--full", "--output=wide"]) {
      const { stdout, stderr } = await run("show", "r5", flag);
      for (const text of [value, cause, `drover.output: ${"y".repeat(600)}\n`])
        expect(stdout).toContain(text);
      expect(stderr).toBe("");
    }
  });

  test("fits a terminal, with each message in full: beside its row, or below it", async () => {
    server.play({ getRun: () => story });
    const size = { rows: 40, columns: 90, address: server.address };
    const terminal = await droverOnTerminal(["run", "show", "r1"], size);
    expect(await terminal.ended).toBe(0);
    const text = stripVTControlCharacters(terminal.written()).replaceAll("\r\n", "\n");
    expect(text).toContain(
      [
        "STARTED    STEP    KIND     ATTEMPT  AGENT     INSTANCE  TOOK  PROGRESS  OUTCOME      WHY",
        "12:00:00Z  flight  perform  1        flight-1  3f2a91bc  3.5s  47 %      unknown",
        "  drover.lost: the agent fell silent",
        "12:00:04Z  flight  perform  2        flight-2                            in progress",
        "",
      ].join("\n"),
    );
    expect(text).toMatch(/^flight {2}succeeded .* \{"seat":12\}$/m);
    expect(text).toMatch(/^hotel .*book-hotel {3}travel {2}1\n {2}no-room: nothing free.* me$/m);
  });

  test("an unknown run exits with 4", async () => {
    server.play({
      getRun() {
        throw runNotFound;
      },
    });
    expect(await run("show", "r9")).toEqual({
      code: 4,
      stdout: "",
      stderr: 'drover: there is no run "r9" in the namespace "default"\n  next: drover run list\n',
    });
  });

  test("what is no Drover server exits with 3", async () => {
    server.play({});
    const { code, stderr } = await run("show", "r1");
    expect(code).toBe(3);
    expect(stderr).toContain(`the answer of ${server.address} is not from a Drover server`);
  });
});
