// What people are asked, and how their answers are taken.
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { OutcomeKind, StepState } from "@drover/proto/drover/v1/run_pb.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { untouchedStep } from "../../../server/core/evolve.ts";
import type { Answer } from "../../../server/core/model/event.ts";
import type { RunCommand } from "../../../server/scheduler/scheduler.ts";
import type { EscalationPage } from "../../../server/store/lists.ts";
import type { AttemptRecord, EscalationRecord } from "../../../server/store/reads.ts";
import { type GrpcClient, grpcClient } from "./rpc-clients.ts";
import { RUN_ID, runDetail, runRecord, startWorld, type World } from "./rpc-world.ts";

const { claimEscalation, getEscalation, listEscalations, releaseEscalation, resolveEscalation } =
  OperatorService.method;
const run = { ref: { case: "runId" as const, value: RUN_ID } };

let world: World;
let grpc: GrpcClient;
beforeEach(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  grpc.close();
  await world.close();
});

function escalation(over: Partial<EscalationRecord> = {}): EscalationRecord {
  return {
    n: 2,
    step: 0,
    reason: "unknown",
    code: "drover.lost",
    message: "it is unknown whether the flight was booked",
    openedAt: 1_700_000_000_000,
    closedAt: null,
    closedBy: null,
    claim: null,
    deadlineAt: null,
    answer: null,
    ...over,
  };
}

const answered = escalation({
  closedAt: 1_700_000_100_000,
  closedBy: "ann",
  answer: { answer: "succeed", by: "ann", verified: false, why: "the airline says so" },
});

const lost: AttemptRecord = {
  step: 0,
  kind: "perform",
  fence: 1,
  n: 0,
  attempt: 1,
  agentId: "agent-1",
  session: null,
  startedAt: 1_700_000_000_000,
  endedAt: 1_700_000_010_000,
  outcome: { kind: "unknown", code: "drover.lost", message: "silent" },
  progress: "fraction 0.47",
};

/** The run as it is read; later reads may see another escalation. */
function show(...escalations: EscalationRecord[]) {
  const left = [...escalations];
  world.reads.runDetail = async () => {
    const [now = answered] = left.length > 1 ? left.splice(0, 1) : left;
    const steps = new Map([[0, untouchedStep(0, 0)]]);
    return runDetail({ steps, attempts: [lost, { ...lost, step: 1 }], escalations: [now] });
  };
}

describe("ListEscalations", () => {
  const ids = ["01", "02", "03"].map((end) => `0198c0de-0000-7000-8000-0000000000${end}`);

  test("shows open ones of every run in pages, and closed ones on request", async () => {
    const pages: EscalationPage[] = [];
    world.lists.escalations = async (_namespaceId, page) => {
      pages.push(page);
      const from = page.after === null ? 0 : ids.indexOf(page.after.runId) + 1;
      return ids
        .slice(from, from + page.limit)
        .map((runId) => ({ ...escalation(), runId, workflow: "holiday", definitionId: 9 }));
    };
    const first = await grpc.unary(listEscalations, { pageSize: 2 });
    expect(first.answer?.escalations[0]).toMatchObject({
      id: "2",
      runId: ids[0],
      workflow: "holiday",
      stepId: "flight",
      reason: "unknown",
      answers: [],
    });
    const pageToken = first.answer?.nextPageToken ?? "";
    const second = await grpc.unary(listEscalations, { pageSize: 2, pageToken });
    expect(second.answer?.escalations.map(({ runId }) => runId)).toEqual(ids.slice(2));
    expect(second.answer?.nextPageToken).toBe("");
    expect(pages).toEqual([
      { openOnly: true, limit: 3, after: null },
      { openOnly: true, limit: 3, after: { runId: ids[1], n: 2 } },
    ]);
    await grpc.unary(listEscalations, { includeClosed: true });
    expect(pages[2]?.openOnly).toBe(false);
    for (const other of [{ includeClosed: true, pageToken }, { pageToken: "nonsense" }])
      expect(await grpc.unary(listEscalations, other)).toMatchObject({
        code: 3,
        reason: "PAGE_TOKEN_INVALID",
      });
  });
});

describe("GetEscalation", () => {
  test("shows what happened to the step, and which answers there are", async () => {
    show(escalation());
    const { answer } = await grpc.unary(getEscalation, { run, escalationId: "2" });
    expect(answer?.escalation).toMatchObject({
      stepId: "flight",
      answers: ["retry", "retry-changed", "succeed", "skip", "compensate", "fail"],
    });
    expect(answer?.escalation?.answer).toBeUndefined();
    expect(answer?.run?.runId).toBe(RUN_ID);
    expect(answer?.step).toMatchObject({ id: "flight", state: StepState.BLOCKED });
    expect(answer?.attempts.map(({ stepId, outcome }) => [stepId, outcome])).toEqual([
      ["flight", OutcomeKind.UNKNOWN],
    ]);
    expect(answer?.effectKey).toBe(`${RUN_ID}/flight/0`);
  });

  test("shows who answered what, as an unverified name", async () => {
    show(answered);
    const { answer } = await grpc.unary(getEscalation, { run, escalationId: "2" });
    expect(answer?.escalation).toMatchObject({
      closedBy: "ann",
      answers: [],
      answer: { answer: "succeed", by: "ann", byVerified: false, why: "the airline says so" },
    });
  });

  test("of a number that the run has not is ESCALATION_NOT_FOUND", async () => {
    show(escalation());
    for (const escalationId of ["3", "02", "two"])
      expect(await grpc.unary(getEscalation, { run, escalationId })).toMatchObject({
        code: 5,
        reason: "ESCALATION_NOT_FOUND",
        metadata: { name: escalationId, run_id: RUN_ID },
      });
  });
});

describe("ResolveEscalation", () => {
  const request = {
    run,
    escalationId: "2",
    answer: "succeed",
    by: "ann",
    why: "the airline says so",
  };
  let received: RunCommand[];
  const takes = (answer: Answer) => {
    received = [];
    world.scheduler.command = async (_run, event) => {
      received.push(event);
      return answer;
    };
  };
  const refused: Answer = { kind: "refused", run: "RUNNING", why: "It is not so." };

  test("hands on the answer, who gave it and why, and shows what became of it", async () => {
    takes({ kind: "done" });
    show(escalation(), answered);
    const payload = { body: { case: "json" as const, value: '"F1"' } };
    const { answer } = await grpc.unary(resolveEscalation, { ...request, payload });
    expect(received).toEqual([
      {
        kind: "answer",
        n: 2,
        answer: "succeed",
        by: "ann",
        verified: false,
        why: "the airline says so",
        payload: { kind: "json", json: '"F1"' },
      },
    ]);
    expect(answer).toMatchObject({ repeated: false, run: { runId: RUN_ID } });
    expect(answer?.escalation?.answer?.byVerified).toBe(false);
  });

  test("again is OK, and reports that it was needless", async () => {
    takes(refused);
    show(answered);
    expect((await grpc.unary(resolveEscalation, request)).answer?.repeated).toBe(true);
  });

  test.each([
    ["another answer", { answer: "skip" }],
    ["another person", { by: "bob" }],
  ])("with %s to one that is closed is ESCALATION_CLOSED, with what closed it", async (_, over) => {
    takes(refused);
    show(escalation(), answered);
    expect(await grpc.unary(resolveEscalation, { ...request, ...over })).toMatchObject({
      code: 9,
      reason: "ESCALATION_CLOSED",
      message: "the escalation is closed: ann",
      metadata: { closed_by: "ann", name: "2", run_id: RUN_ID },
      kinds: ["ErrorInfo", "PreconditionFailure"],
    });
  });

  test("that it does not take now is ANSWER_NOT_ALLOWED, with those that it takes", async () => {
    takes(refused);
    show(escalation({ reason: "doubled" }));
    expect(await grpc.unary(resolveEscalation, request)).toMatchObject({
      code: 9,
      reason: "ANSWER_NOT_ALLOWED",
      metadata: {
        state: "RUNNING",
        answers: "acknowledge",
      },
    });
  });

  test("that no escalation takes is INVALID_REQUEST, and so is a payload that means nothing", async () => {
    takes({ kind: "done" });
    show(escalation());
    const payload = { body: { case: "json" as const, value: "1" } };
    for (const [over, field] of [
      [{ answer: "shrug" }, "answer"],
      [{ by: "" }, "by"],
      [{ answer: "skip", payload }, "payload"],
    ] as const) {
      const answer = await grpc.unary(resolveEscalation, { ...request, ...over });
      expect(answer).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
      expect(answer.fields[0]?.[0]).toBe(field);
    }
    expect(received).toEqual([]);
  });

  test("of a run that has gone is RUN_NOT_FOUND", async () => {
    world.reads.findRun = async () => null;
    expect((await grpc.unary(resolveEscalation, request)).reason).toBe("RUN_NOT_FOUND");
  });
});

test("an escalation of a run that was stopping has the answers of that", async () => {
  const stopReason = { reason: "STEP_FAILED", undo: true } as const;
  world.reads.runDetail = async () =>
    runDetail({
      run: runRecord({ state: "ESCALATED", reason: "STEP_FAILED" }),
      state: { kind: "ESCALATED", from: { kind: "STOPPING", stopReason, settleUntil: null } },
      escalations: [escalation()],
    });
  const { answer } = await grpc.unary(getEscalation, { run, escalationId: "2" });
  expect(answer?.escalation?.answers).toEqual(["succeed", "fail"]);
});

describe("claiming an escalation", () => {
  const request = { run, escalationId: "2", by: "Maria" };
  const detailed = (over: Partial<EscalationRecord>) => {
    world.reads.runDetail = async () => runDetail({ escalations: [escalation(over)] });
  };

  test("shows whose it is, as he stated it", async () => {
    const asked: unknown[] = [];
    world.store.claimEscalation = async (claim) => {
      asked.push(claim);
      detailed({ claim: { by: claim.by, at: 1_700_000_000_000 } });
      return null;
    };
    detailed({});
    const { answer } = await grpc.unary(claimEscalation, request);
    expect(asked).toEqual([{ runId: RUN_ID, n: 2, by: "Maria", anyway: false }]);
    expect(answer?.escalation).toMatchObject({
      claimedBy: "Maria",
      claimedTime: { seconds: 1_700_000_000n },
      code: "drover.lost",
    });
  });

  test.for([
    ["claim", claimEscalation],
    ["release", releaseEscalation],
  ] as const)("that another has is refused: %s", async ([, method]) => {
    const held = async () => ({ by: "Jan" });
    Object.assign(world.store, { claimEscalation: held, releaseEscalation: held });
    detailed({ claim: { by: "Jan", at: 1 } });
    expect(await grpc.unary(method, request)).toMatchObject({
      reason: "ESCALATION_CLAIMED",
      metadata: { claimed_by: "Jan" },
    });
  });

  test("that is closed has what closed it", async () => {
    world.store.claimEscalation = async () => ({ by: null });
    detailed({ closedAt: 1, closedBy: "a late report" });
    expect(await grpc.unary(claimEscalation, request)).toMatchObject({
      reason: "ESCALATION_CLOSED",
      message: "the escalation is closed: a late report",
      metadata: { closed_by: "a late report" },
    });
  });

  test("needs a name", async () => {
    expect(await grpc.unary(claimEscalation, { ...request, by: "" })).toMatchObject({
      reason: "INVALID_REQUEST",
      fields: [["by", expect.anything()]],
    });
  });
});
