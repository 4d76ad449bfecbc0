// drover escalation list, show and resolve, against a server that answers by script.
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import type {
  ListEscalationsRequest,
  ResolveEscalationRequest,
} from "@drover/proto/drover/v1/operator_service_pb.ts";
import { OutcomeKind, RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { describe, expect, test } from "vitest";
import { refusedBy } from "../../support/fake-scheduler.ts";
import { scriptedServer } from "./fixture.ts";

const at = (time: string) => timestampFromDate(new Date(`2026-01-31T${time}Z`));

const server = scriptedServer();

const escalation = (...args: readonly string[]) => server.drover(["escalation", ...args]);

const open = {
  id: "2",
  runId: "r1",
  workflow: "holiday",
  stepId: "hotel",
  reason: "unverified",
  message: "5 verifies could not tell",
  openedTime: at("12:00:00"),
};

describe("list", () => {
  test("names each so that show and resolve take it", async () => {
    server.play({ listEscalations: () => ({ escalations: [open] }) });
    expect(await escalation("list")).toEqual({
      code: 0,
      stdout: [
        "ESCALATION  WORKFLOW  STEP   REASON      OPENED                MESSAGE",
        "r1/2        holiday   hotel  unverified  2026-01-31 12:00:00Z  5 verifies could not tell",
        "",
      ].join("\n"),
      stderr: "  next: drover escalation show r1/2\n",
    });
  });

  test("reads page after page up to the limit, with closed ones if asked", async () => {
    const requests: ListEscalationsRequest[] = [];
    server.play({
      listEscalations(request) {
        requests.push(request);
        const ids = request.pageToken === "" ? ["1", "2"] : ["3"];
        return { escalations: ids.map((id) => ({ id })), nextPageToken: "more" };
      },
    });
    const { stdout, stderr } = await escalation("list", "--all", "--limit", "3", "-o", "jsonl");
    expect(stdout).toBe('{"id":"1"}\n{"id":"2"}\n{"id":"3"}\n');
    expect(stderr).toContain("more exist\n  next: --limit 30");
    expect(requests).toMatchObject([
      { includeClosed: true, pageSize: 3, pageToken: "" },
      { includeClosed: true, pageSize: 1, pageToken: "more" },
    ]);
  });

  test("that no person is needed is no error", async () => {
    server.play({ listEscalations: () => ({}) });
    expect(await escalation("list")).toEqual({
      code: 0,
      stdout: "",
      stderr: "no escalation\n",
    });
  });
});

describe("show", () => {
  test("prints what led to it, and what each answer leads to", async () => {
    const asked: unknown[] = [];
    server.play({
      getEscalation({ run, escalationId }) {
        asked.push([run?.ref, escalationId]);
        return {
          escalation: { ...open, answers: ["succeed", "fail"] },
          run: { runId: "r1", state: RunState.ESCALATED },
          effectKey: "r1/hotel/0",
          step: { id: "hotel", error: { code: "drover.lost", message: "it fell silent" } },
          attempts: [
            {
              stepId: "hotel",
              kind: TaskKind.VERIFY,
              fence: 1,
              attempt: 5,
              agentId: "a1",
              startedTime: at("11:59:00"),
              endedTime: at("11:59:01"),
              outcome: OutcomeKind.UNKNOWN,
              failure: { code: "cannot-tell", message: "the desk is closed" },
            },
          ],
        };
      },
    });
    expect(await escalation("show", "key:a/b/2")).toEqual({
      code: 0,
      stdout: [
        "escalation  r1/2",
        "reason      unverified",
        "message     5 verifies could not tell",
        "workflow    holiday",
        "run         escalated",
        "step        hotel",
        "error       drover.lost: it fell silent",
        "key         r1/hotel/0",
        "opened      2026-01-31 12:00:00Z",
        "",
        "attempts",
        "STARTED               STEP   KIND    FENCE  ATTEMPT  AGENT  TOOK  OUTCOME  WHY",
        "2026-01-31 11:59:00Z  hotel  verify  1      5        a1     1.0s  unknown  cannot-tell: the desk is closed",
        "",
        "answers",
        "ANSWER   THEN",
        "succeed  it is done; continue with --payload as its output",
        "fail     the run fails, and its effects remain",
        "",
      ].join("\n"),
      stderr: "  next: drover escalation resolve r1/2 --answer ANSWER --reason TEXT\n",
    });
    expect(asked).toEqual([[{ case: "key", value: "a/b" }, "2"]]);
  });

  test("prints of a closed one who answered what", async () => {
    const answer = { answer: "skip", by: "ada", why: "not needed" };
    const closed = { ...open, closedTime: at("12:05:00"), answer };
    server.play({ getEscalation: () => ({ escalation: closed }) });
    const { stdout, stderr } = await escalation("show", "r1/2");
    expect(stdout).toContain(
      "closed      2026-01-31 12:05:00Z: skip, by ada (not verified): not needed\n",
    );
    expect(stderr).toBe("");
  });

  test("prints of one that no person answered what closed it", async () => {
    const closed = { ...open, closedTime: at("12:05:00"), closedBy: "a late report" };
    server.play({ getEscalation: () => ({ escalation: closed }) });
    const { stdout } = await escalation("show", "r1/2");
    expect(stdout).toContain("closed      2026-01-31 12:05:00Z: a late report\n");
  });

  test.each(["r1", "r1/", "/2"])("%s is no name of an escalation", async (name) => {
    expect(await escalation("show", name)).toEqual({
      code: 2,
      stdout: "",
      stderr: `drover: "${name}" does not name an escalation: write RUN/N\n  next: drover escalation list\n`,
    });
  });

  test("an unknown one exits with 4", async () => {
    server.play({
      getEscalation() {
        throw refusedBy({
          code: Code.NotFound,
          reason: "ESCALATION_NOT_FOUND",
          message: 'the run "r1" has no escalation "9"',
        });
      },
    });
    const { code, stderr } = await escalation("show", "r1/9");
    expect(code).toBe(4);
    expect(stderr).toContain("next: drover escalation list\n");
  });
});

describe("resolve", () => {
  const options = ["--by", "ada", "--reason", "they confirmed by phone"];

  test("sends the answer with who gives it, why, and what goes with it", async () => {
    const requests: ResolveEscalationRequest[] = [];
    server.play({
      resolveEscalation(request) {
        requests.push(request);
        return { escalation: open, run: { runId: "r1", state: RunState.RUNNING } };
      },
    });
    const payload = ["--payload", '{"room":7}'];
    expect(
      await escalation("resolve", "r1/2", "--answer", "succeed", ...options, ...payload),
    ).toEqual({
      code: 0,
      stdout: "escalation r1/2 answered: succeed\nrun r1 is running\n",
      stderr: "  next: drover run watch r1\n",
    });
    expect(requests).toMatchObject([
      {
        run: { ref: { case: "runId", value: "r1" } },
        escalationId: "2",
        answer: "succeed",
        by: "ada",
        why: "they confirmed by phone",
        payload: { body: { case: "json", value: '{"room":7}' } },
      },
    ]);
  });

  test("the same answer again is no error", async () => {
    server.play({
      resolveEscalation: () => ({
        run: { runId: "r1", state: RunState.COMPLETED },
        repeated: true,
      }),
    });
    expect(await escalation("resolve", "r1/2", "--answer", "skip", ...options)).toEqual({
      code: 0,
      stdout: "escalation r1/2 was answered before: skip\nrun r1 is completed\n",
      stderr: "  next: drover run show r1\n",
    });
  });

  test.each([
    [
      "an answer that there is not",
      ["--answer", "shrug", ...options],
      /retry-changed, succeed, skip/,
    ],
    ["no reason", ["--answer", "skip", "--by", "ada"], /'--reason <text>' not specified/],
    [
      "a changed input that is not given",
      ["--answer", "retry-changed", ...options],
      /complete new input/,
    ],
  ])("%s is refused before any call", async (_name, args, output) => {
    const { code, stderr } = await escalation("resolve", "r1/2", ...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(output);
  });

  test("an answer that is not taken prints where those are that are", async () => {
    server.play({
      resolveEscalation() {
        throw refusedBy({
          code: Code.FailedPrecondition,
          reason: "ANSWER_NOT_ALLOWED",
          message: "it takes succeed or fail",
        });
      },
    });
    const { code, stderr } = await escalation("resolve", "r1/2", "--answer", "skip", ...options);
    expect(code).toBe(1);
    expect(stderr).toContain(
      "next: drover escalation show RUN/N lists the answers that it accepts now",
    );
  });
});

describe("claim and release", () => {
  test.each([
    ["claim", "escalation r1/2 claimed by ada\n"],
    ["release", "escalation r1/2 released\n"],
  ])("%s prints whose it is now", async (verb, output) => {
    const asked: unknown[] = [];
    const answer = (request: { by: string; anyway: boolean; escalationId: string }) => {
      const { by, anyway, escalationId } = request;
      asked.push({ by, anyway, escalationId });
      return { escalation: { id: "2", runId: "r1" } };
    };
    server.play({ claimEscalation: answer, releaseEscalation: answer });
    const { code, stdout } = await escalation(verb, "r1/2", "--by", "ada", "--anyway");
    expect({ code, stdout }).toEqual({ code: 0, stdout: output });
    expect(asked).toEqual([{ by: "ada", anyway: true, escalationId: "2" }]);
  });
});
