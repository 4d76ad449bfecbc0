// Batches: what is wrong with one item is that item's answer; the rest of the call continues.

import { createHash } from "node:crypto";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { AgentService, type CompleteAnswer } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { FailureClass } from "@drover/proto/drover/v1/task_pb.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type {
  CompleteRequest,
  SessionHeartbeatRequest,
} from "../../../server/dispatch/dispatcher.ts";
import { DroverError } from "../../../server/errors.ts";
import type { ScheduleRequest } from "../../../server/scheduler/scheduler.ts";
import { type GrpcClient, grpcClient, readStatus } from "./rpc-clients.ts";
import { AGENT, RUN_ID, startWorld, token, type World } from "./rpc-world.ts";

const { heartbeat, complete } = AgentService.method;
const success = { kind: { case: "success" as const, value: {} } };

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

const statusOf = ({ status }: CompleteAnswer) => status && readStatus(status);

describe("Complete", () => {
  test("a success whose output is lost is taken as a failure for good, or without an output", async () => {
    const seen: CompleteRequest[] = [];
    world.dispatcher.complete = async (request) => {
      seen.push(request);
      return { answers: [{ kind: "accepted", repeated: false }], tasks: [], waitedMs: 0 };
    };
    const outputProblem = "has too many bytes";
    const lost = { kind: { case: "success" as const, value: { outputProblem } } };
    const output = { body: { case: "json" as const, value: "1" } };
    const both = { kind: { case: "success" as const, value: { outputProblem, output } } };
    const { answer } = await grpc.unary(complete, {
      agent: AGENT,
      results: [
        { taskToken: token(), outcome: lost },
        { taskToken: token(), outcome: both },
      ],
    });
    const reasons = (answer?.answers.map(statusOf) ?? []).map((one) => one?.reason);
    expect(reasons).toEqual(["", "INVALID_REQUEST"]);
    expect(seen[0]?.results.map((one) => one.outcome)).toMatchObject([
      { kind: "failure", class: "permanent", code: "drover.output", message: outputProblem },
    ]);
  });

  test("each result has its own answer, in order, and the good ones are taken", async () => {
    const seen: CompleteRequest[] = [];
    world.dispatcher.complete = async (request) => {
      seen.push(request);
      return {
        answers: [
          { kind: "accepted", repeated: false },
          { kind: "refused", error: new DroverError("LEASE_LOST", "Too late.") },
          { kind: "accepted", repeated: false },
          { kind: "accepted", repeated: false },
          { kind: "accepted", repeated: true },
          { kind: "refused", error: new Error("secret") },
        ],
        tasks: [],
        waitedMs: 0,
      };
    };
    const { answer, code } = await grpc.unary(complete, {
      agent: AGENT,
      results: [
        { taskToken: token(), outcome: success },
        { taskToken: "no-token", outcome: success },
        { taskToken: token({ fence: 2 }), outcome: { kind: { case: "released", value: {} } } },
        { taskToken: token({ namespace: "other" }), outcome: success },
        {
          taskToken: token(),
          outcome: { kind: { case: "again", value: { after: { seconds: 1n } } } },
        },
        { taskToken: token(), outcome: { kind: { case: "deferred", value: {} } } },
        { taskToken: token() },
        {
          taskToken: token(),
          outcome: { kind: { case: "failed", value: { code: "drover.x", failureClass: 0 } } },
        },
        {
          taskToken: token(),
          outcome: {
            kind: {
              case: "success",
              value: { output: { body: { case: "data", value: new Uint8Array(300_000) } } },
            },
          },
        },
        { taskToken: token({ fence: 3 }), outcome: { kind: { case: "unknown", value: {} } } },
        { taskToken: token({ fence: 4 }), outcome: success },
      ],
    });
    expect(code).toBe(0);
    const answers = answer?.answers.map(statusOf) ?? [];
    expect(answers.map((one) => one?.reason)).toEqual([
      "",
      "MALFORMED_TOKEN",
      "LEASE_LOST",
      "TASK_NOT_FOUND",
      "",
      "",
      "INVALID_REQUEST",
      "INVALID_REQUEST",
      "PAYLOAD_TOO_LARGE",
      "",
      "INTERNAL",
    ]);
    expect(answers.map((one) => one?.fields[0]?.[0])).toEqual([
      undefined,
      "results[1].task_token",
      undefined,
      "results[3].task_token",
      undefined,
      undefined,
      "results[6].outcome",
      "results[7].outcome.failed.code",
      "results[8].outcome.success.output",
      undefined,
      undefined,
    ]);
    expect(answers[2]).toMatchObject({ code: 9, kinds: ["ErrorInfo", "PreconditionFailure"] });
    expect(answers[7]?.fields).toHaveLength(2);
    expect(answers[10]?.message).not.toContain("secret");
    expect(answer?.answers.map(({ repeated }) => repeated).indexOf(true)).toBe(9);
    expect(seen[0]?.results.map(({ token: { fence }, outcome }) => [fence, outcome])).toEqual([
      [1, { kind: "success", output: null }],
      [2, { kind: "released" }],
      [1, { kind: "again", afterMs: 1_000 }],
      [1, { kind: "deferred" }],
      [3, { kind: "unknown", code: "drover.unknown", message: "" }],
      [4, { kind: "success", output: null }],
    ]);
  });

  test("the same outcome has the same digest, and another has another", async () => {
    const digests: string[] = [];
    world.dispatcher.complete = async ({ results }) => {
      digests.push(...results.map(({ digest }) => digest));
      const answers = results.map(() => ({ kind: "accepted" as const, repeated: false }));
      return { answers, tasks: [], waitedMs: 0 };
    };
    const failed = (message: string) => ({
      kind: {
        case: "failed" as const,
        value: { code: "full", failureClass: FailureClass.TRANSIENT, message },
      },
    });
    await grpc.unary(complete, {
      agent: AGENT,
      results: [failed("a"), failed("a"), failed("b")].map((outcome) => ({
        taskToken: token(),
        outcome,
      })),
    });
    expect(digests[0]).toBe(digests[1]);
    expect(digests[0]).not.toBe(digests[2]);
    // Stored with attempts for as long as they are: it must not change from one version to the
    // next.
    const bytes = Buffer.from("120b0a0466756c6c1201611801", "hex");
    const digest = createHash("sha256").update(bytes).digest("hex");
    expect(digests[0]).toBe(digest.slice(0, 32));
  });

  test("with nothing good in it and no next, dispatch is not asked", async () => {
    world.dispatcher.complete = () => Promise.reject(new Error("asked"));
    const { answer } = await grpc.unary(complete, {
      agent: AGENT,
      results: [{ taskToken: "x", outcome: success }],
    });
    expect(answer?.answers.map((one) => statusOf(one)?.reason)).toEqual(["MALFORMED_TOKEN"]);
  });

  test("the next poll is carried, also when every result was refused", async () => {
    const seen: CompleteRequest[] = [];
    const original = world.dispatcher.complete;
    world.dispatcher.complete = (request, signal) => {
      seen.push(request);
      return original(request, signal);
    };
    const { answer } = await grpc.unary(complete, {
      agent: AGENT,
      results: [{ taskToken: "x", outcome: success }],
      next: { pollSeq: 9n, queues: [{ name: "slow" }], maxTasks: 3 },
    });
    expect(answer?.tasks).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      results: [],
      next: { pollSeq: 9, queues: [{ name: "slow", weight: 1 }], tasks: [], maxTasks: 3 },
    });
  });

  test("what is wrong with the call fails the call, and nothing of it is done", async () => {
    world.dispatcher.complete = () => Promise.reject(new Error("asked"));
    const results = [{ taskToken: token(), outcome: success }];
    const badNext = await grpc.unary(complete, { agent: AGENT, results, next: {} });
    expect(badNext.fields).toEqual([["next.poll_seq", "0 must be greater than 0"]]);
    const none = await grpc.unary(complete, { agent: AGENT, results: [] });
    expect(none.fields[0]?.[0]).toBe("results");
    const many = await grpc.unary(complete, {
      agent: AGENT,
      results: Array(1_001).fill(results[0]),
    });
    expect(many.fields).toEqual([["results", expect.stringContaining("1000")]]);
  });
});

describe("Heartbeat", () => {
  test("each report has its own answer", async () => {
    const seen: SessionHeartbeatRequest[] = [];
    world.dispatcher.heartbeat = async (request) => {
      seen.push(request);
      return [
        { kind: "carry-on", leaseMs: 30_000 },
        { kind: "cancel", withinMs: 2_500 },
        { kind: "lease-lost" },
      ];
    };
    const { answer } = await grpc.unary(heartbeat, {
      agent: AGENT,
      lostPolls: [4n],
      reports: [
        { taskToken: token(), progress: { kind: { case: "fraction", value: 0.25 } } },
        { taskToken: "no-token" },
        { taskToken: token({ fence: 2 }), progress: { kind: { case: "counter", value: 7n } } },
        { taskToken: token(), progress: { kind: { case: "fraction", value: 2 } } },
        { taskToken: token({ fence: 3 }), details: { body: { case: "json", value: "[1]" } } },
        { taskToken: token(), details: { body: { case: "json", value: "[1" } } },
      ],
    });
    const answers = answer?.answers.map((one) => one.answer) ?? [];
    expect(answers.map((one) => one.case)).toEqual([
      "carryOn",
      "error",
      "cancel",
      "error",
      "leaseLost",
      "error",
    ]);
    const errors = answers.flatMap((one) => (one.case === "error" ? [readStatus(one.value)] : []));
    expect(errors.map(({ reason, fields }) => [reason, fields[0]?.[0]])).toEqual([
      ["MALFORMED_TOKEN", "reports[1].task_token"],
      ["INVALID_REQUEST", "reports[3].progress.fraction"],
      ["INVALID_REQUEST", "reports[5].details.json"],
    ]);
    const [, , cancel] = answers;
    expect(
      cancel?.case === "cancel" && cancel.value.within && durationMs(cancel.value.within),
    ).toBe(2_500);
    expect(seen[0]).toMatchObject({
      agent: { session: "07".repeat(16) },
      lostPolls: [4],
      reports: [
        { progress: "fraction 0.25", details: null },
        { progress: "counter 7" },
        { progress: null, details: { kind: "json", json: "[1]" } },
      ],
    });
  });

  test("without reports it still reports that the agent lives, and names lost polls", async () => {
    const seen: SessionHeartbeatRequest[] = [];
    world.dispatcher.heartbeat = async (request) => {
      seen.push(request);
      return [];
    };
    const { answer } = await grpc.unary(heartbeat, { agent: AGENT, lostPolls: [1n, 2n] });
    expect(answer?.answers).toEqual([]);
    expect(seen[0]).toMatchObject({ lostPolls: [1, 2], reports: [] });
  });
});

describe("ScheduleBatch", () => {
  const { scheduleBatch } = SchedulerService.method;
  const workflow = { case: "workflow" as const, value: { name: "holiday" } };
  const task = { kind: { case: "task" as const, value: { name: "t" } } };

  test("each run has its own answer, in order, and the good ones continue in one call", async () => {
    const seen: (readonly ScheduleRequest[])[] = [];
    world.scheduler.scheduleBatch = async (requests) => {
      seen.push(requests);
      return [
        { kind: "scheduled", runId: RUN_ID, created: true },
        { kind: "refused", error: new DroverError("WORKFLOW_NOT_FOUND", "There is none.") },
        { kind: "scheduled", runId: RUN_ID, created: false },
      ];
    };
    const { answer, code } = await grpc.unary(scheduleBatch, {
      runs: [
        { target: workflow, key: "k1" },
        { target: workflow, priority: 12 },
        { target: workflow, key: "k2" },
        { target: workflow, namespace: "other" },
        {
          target: {
            case: "definition",
            value: { workflow: "w", steps: [{ id: "a", needs: ["b"], ...task }] },
          },
        },
        { target: workflow, namespace: "default", key: "k3" },
        {},
      ],
    });
    expect(code).toBe(0);
    expect(seen.map((of) => of.map(({ key }) => key))).toEqual([["k1", "k2", "k3"]]);
    const results = answer?.results ?? [];
    expect(results.map(({ runId, created }) => [runId, created])).toEqual([
      [RUN_ID, true],
      ["", false],
      ["", false],
      ["", false],
      ["", false],
      [RUN_ID, false],
      ["", false],
    ]);
    const statuses = results.map(({ status }) => status && readStatus(status));
    expect(statuses.map((one) => one?.reason)).toEqual([
      "",
      "INVALID_REQUEST",
      "WORKFLOW_NOT_FOUND",
      "INVALID_REQUEST",
      "INVALID_DEFINITION",
      "",
      "INVALID_REQUEST",
    ]);
    expect(statuses[1]?.fields[0]?.[0]).toBe("runs[1].priority");
    expect(statuses[2]?.message).toBe("runs[2]: There is none.");
    expect(statuses[3]?.fields[0]?.[0]).toBe("runs[3].namespace");
    expect(statuses[4]?.fields[0]?.[0]).toMatch(/^runs\[4\]\.definition\.steps\[0\]/);
  });

  test("a batch of nothing, or of more than 500, is refused as a call", async () => {
    const none = await grpc.unary(scheduleBatch, {});
    expect(none).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
    const runs = Array.from({ length: 501 }, () => ({ target: workflow }));
    expect(await grpc.unary(scheduleBatch, { runs })).toMatchObject({ code: 3 });
  });

  test("an input that is too large is that run's answer", async () => {
    const input = { body: { case: "json" as const, value: `"${"x".repeat(300_000)}"` } };
    const { answer } = await grpc.unary(scheduleBatch, {
      runs: [{ target: workflow, input }, { target: workflow }],
    });
    const [large, small] = answer?.results ?? [];
    expect(large?.status && readStatus(large.status).reason).toBe("PAYLOAD_TOO_LARGE");
    expect(small?.runId).toBe(RUN_ID);
  });
});
