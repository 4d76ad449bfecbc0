import { readFileSync } from "node:fs";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { ErrorReasonSchema } from "@drover/proto/drover/v1/error_reason_pb.ts";
import {
  ScheduleRequestSchema,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import {
  Effects,
  OnPickup,
  WorkflowDefinitionSchema,
} from "@drover/proto/drover/v1/workflow_pb.ts";
import { Code } from "@drover/proto/google/rpc/code_pb.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { toStatus } from "../../../server/api/calls/errors.ts";
import { DroverError, type Reason } from "../../../server/errors.ts";
import { type GrpcClient, grpcClient, postJson, readStatus } from "./rpc-clients.ts";
import { AGENT, RUN_ID, startWorld, type World } from "./rpc-world.ts";

const scheduler = SchedulerService.method;
const agents = AgentService.method;
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;

let world: World;
let grpc: GrpcClient;
let stored: string[];

beforeAll(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
  const { registerWorkflow, schedule } = world.scheduler;
  world.scheduler.registerWorkflow = (...given) => {
    stored.push("workflow");
    return registerWorkflow(...given);
  };
  world.scheduler.schedule = (...given) => {
    stored.push("run");
    return schedule(...given);
  };
});
afterAll(async () => {
  grpc.close();
  await world.close();
});
beforeEach(() => {
  stored = [];
});

type DefinitionInit = MessageInitShape<typeof WorkflowDefinitionSchema>;
type StepInit = NonNullable<DefinitionInit["steps"]>[number];

const task = (id: string, over: object = {}): StepInit => ({
  id,
  kind: { case: "task", value: { name: "book" } },
  ...over,
});
const workflow = (...steps: StepInit[]): DefinitionInit => ({ workflow: "holiday", steps });

async function register(definition: DefinitionInit) {
  return await grpc.unary(scheduler.registerWorkflow, {
    source: { case: "definition", value: definition },
  });
}

describe("a definition that does not hold together is INVALID_DEFINITION, with the path of each", () => {
  const cases: [string, DefinitionInit, [string, string][]][] = [
    [
      "an unknown step in needs",
      workflow(task("flight"), task("hotel", { needs: ["fligth"] })),
      [["definition.steps[1].needs[0]", 'did you mean "flight"?']],
    ],
    [
      "a cycle",
      workflow(task("a", { needs: ["b"] }), task("b", { needs: ["a"] })),
      [["definition.steps[0].needs", "a needs b needs a"]],
    ],
    [
      "two steps of one name, and one that needs itself",
      workflow(task("a"), task("a"), task("b", { needs: ["b"] })),
      [
        ["definition.steps[1].id", "is taken by steps[0]"],
        ["definition.steps[2].needs[0]", "needs itself"],
      ],
    ],
  ];

  test.each(cases)("%s", async (_name, definition, problems) => {
    for (const answer of [
      await register(definition),
      await grpc.unary(scheduler.schedule, { target: { case: "definition", value: definition } }),
    ]) {
      expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_DEFINITION" });
      expect(answer.fields).toEqual(
        problems.map(([path, expected]) => [path, expect.stringContaining(expected)]),
      );
      expect(answer.message).toContain(problems[0]?.[0]);
    }
    expect(stored).toEqual([]);
  });

  test("fields that this server does not know, at any depth", async () => {
    const definition = create(WorkflowDefinitionSchema, workflow(task("a", { timeouts: {} })));
    const timeouts = definition.steps[0]?.timeouts;
    if (timeouts) timeouts.$unknown = [{ no: 77, wireType: 0, data: new Uint8Array([1]) }];
    const answer = await register(definition);
    expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_DEFINITION" });
    expect(answer.fields).toEqual([
      ["definition.steps[0].timeouts", expect.stringContaining("field number 77 is unknown")],
    ]);
  });
});

describe("single values out of their limits are INVALID_REQUEST, with path, value and rule", () => {
  const definitions: [string, DefinitionInit, [string, string][]][] = [
    ["an empty workflow", workflow(), [["definition.steps", "at least 1"]]],
    [
      "501 steps",
      workflow(...Array.from({ length: 501 }, (_, no) => task(`s${no}`))),
      [["definition.steps", "500"]],
    ],
    [
      "bad names",
      workflow(task("a b", { kind: { case: "task", value: { name: "", queue: "q/1" } } })),
      [
        ["definition.steps[0].id", '"a b" must be 1 to 128 characters of A-Z, a-z, 0-9'],
        ["definition.steps[0].task.name", '"" must be 1 to 128 characters'],
        ["definition.steps[0].task.queue", '"q/1" must be 0 to 128 characters'],
      ],
    ],
    [
      "a negative duration",
      workflow(task("a", { timeouts: { attempt: { seconds: -5n } } })),
      [["definition.steps[0].timeouts.attempt", "-5.0s must be greater than or equal to 0.001s"]],
    ],
    [
      "a step of no kind",
      workflow({ id: "a" }),
      [["definition.steps[0].kind", "give exactly one of task, wait, signal, approval"]],
    ],
    [
      "an enum value that is not defined",
      workflow(task("a", { onFailure: 77 })),
      [["definition.steps[0].on_failure", "77 is unknown to this server: use one of"]],
    ],
  ];

  test.each(definitions)("%s", async (_name, definition, problems) => {
    const answer = await register(definition);
    expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_REQUEST" });
    expect(answer.fields).toEqual(
      problems.map(([path, expected]) => [path, expect.stringContaining(expected)]),
    );
    expect(stored).toEqual([]);
  });

  test("a poll: session, number, queues, tasks, count, wait and labels", async () => {
    const answer = await grpc.unary(agents.pollTask, {
      agent: { id: "a b", session: new Uint8Array(3), labels: { "x y": "1" } },
      queues: [{ name: "q", weight: -1 }],
      tasks: ["ok", "not ok"],
      maxTasks: 1001,
      wait: { seconds: 61n },
      lostPolls: [0n],
    });
    expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_REQUEST" });
    expect(answer.fields).toEqual([
      ["agent.id", expect.stringContaining('"a b" must be')],
      ["agent.session", "must be 16 bytes"],
      ['agent.labels["x y"]', expect.stringContaining('"x y" is no good key')],
      ["poll_seq", "0 must be greater than 0"],
      ["queues[0].weight", expect.stringContaining("-1 must be")],
      ["tasks[1]", expect.stringContaining('"not ok" must be')],
      ["max_tasks", expect.stringContaining("1001 must be")],
      ["wait", expect.stringContaining("61.0s must be")],
      ["lost_polls[0]", "0 must be greater than 0"],
    ]);
    expect(answer.message).toMatch(/^agent\.id: .* \(and 8 more: see the details\)$/);
  });

  test("a poll number that no counting reaches", async () => {
    const answer = await grpc.unary(agents.pollTask, { agent: AGENT, pollSeq: 2n ** 60n });
    expect(answer.fields).toEqual([["poll_seq", expect.stringContaining("too large")]]);
  });

  test("a request without what it is about", async () => {
    const answer = await grpc.unary(scheduler.schedule, {});
    expect(answer.fields).toEqual([["target", "give exactly one of workflow, definition"]]);
    expect((await grpc.unary(scheduler.getRun, {})).fields).toEqual([
      ["run", "is missing: it is required"],
    ]);
  });

  test("a time outside the calendar", async () => {
    const answer = await grpc.unary(scheduler.listRuns, {
      filter: { createdAfter: { seconds: 2n ** 62n } },
    });
    expect(answer).toMatchObject({ reason: "INVALID_REQUEST" });
    expect(answer.fields[0]?.[0]).toBe("filter.created_after");
  });

  test("JSON gets the same answer as gRPC", async () => {
    const answer = await postJson(world.port, scheduler.schedule, {
      workflow: { name: "holiday" },
      priority: 12,
    });
    expect(answer).toMatchObject({ http: 400, code: 3, reason: "INVALID_REQUEST" });
    expect(answer.fields).toEqual([["priority", expect.stringContaining("12 must be")]]);
    expect(stored).toEqual([]);
  });

  test("JSON that is nested without need is refused before it is parsed", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const parse = vi.spyOn(JSON, "parse");
    const answer = await postJson(world.port, scheduler.schedule, `{"labels":${deep}}`);
    const longest = Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
    parse.mockRestore();
    expect(answer).toMatchObject({ reason: "MALFORMED_MESSAGE" });
    expect(answer.message).toContain("nested deeper than 100");
    expect(longest).toBeLessThan(100_000);
  });
});

describe("what does not go together in a step is INVALID_DEFINITION", () => {
  test("all of it at once", async () => {
    const answer = await register(
      workflow(
        task("a", {
          effects: Effects.VERIFIABLE,
          onPickup: OnPickup.FALLBACK,
          retry: [{ on: ["drover.lots"] }],
          outputSchema: { body: { case: "json", value: "1" } },
        }),
        {
          id: "b",
          kind: { case: "wait", value: { over: { case: "until", value: "noon" } } },
          fallback: [{ queue: "q" }],
        },
        task("c", { always: true, pivot: true, needs: ["b"] }),
      ),
    );
    expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_DEFINITION" });
    expect(answer.fields.map(([path]) => path)).toEqual(
      [
        "steps[2].needs[0]",
        "steps[0].verify",
        "steps[0].on_pickup",
        "steps[0].retry[0].on[0]",
        "steps[0].output_schema",
        "steps[1].fallback",
        "steps[1].wait.until",
        "steps[2].pivot",
      ].map((field) => `definition.${field}`),
    );
    expect(stored).toEqual([]);
  });

  test("and so is what is checked beyond the structure, such as an expression", async () => {
    const definition = workflow(task("a"), task("b", { when: "nothing" }));
    for (const answer of [
      await register(definition),
      await grpc.unary(scheduler.schedule, { target: { case: "definition", value: definition } }),
    ]) {
      expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_DEFINITION" });
      expect(answer.fields).toEqual([["definition.steps[1].when", '"nothing" is unknown here']]);
    }
    expect(stored).toEqual([]);
  });
});

describe("payloads", () => {
  const scheduleWith = (value: string) =>
    grpc.unary(scheduler.schedule, {
      target: { case: "workflow", value: { name: "holiday" } },
      input: { body: { case: "json", value } },
    });

  test("over the limit of the namespace: PAYLOAD_TOO_LARGE with both sizes", async () => {
    const answer = await scheduleWith(JSON.stringify("x".repeat(256 * 1024)));
    expect(answer).toMatchObject({
      code: INVALID_ARGUMENT,
      reason: "PAYLOAD_TOO_LARGE",
      metadata: { size_bytes: "262146", limit_bytes: "262144" },
    });
    expect(answer.fields[0]).toEqual(["input", expect.stringContaining("object storage")]);
    expect(stored).toEqual([]);
  });

  test("over the hard limit of 2 MiB: INVALID_REQUEST", async () => {
    const answer = await scheduleWith(JSON.stringify("x".repeat(2 * 1024 * 1024)));
    expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_REQUEST" });
    expect(answer.fields[0]?.[0]).toBe("input.json");
  });

  test("anywhere in a request, as in the input of a step", async () => {
    const data = new Uint8Array(300_000);
    const answer = await register(
      workflow(task("a"), task("b", { input: { body: { case: "data", value: data } } })),
    );
    expect(answer).toMatchObject({ reason: "PAYLOAD_TOO_LARGE" });
    expect(answer.fields[0]?.[0]).toBe("definition.steps[1].input");
  });

  test.each([
    ['{"a":x}', 5],
    ['{"a":1,}', 7],
    [`{"${"long".repeat(20)}":1, "b":[1,2,tru]}`, 99],
    ["1 2", 2],
  ])("JSON that does not parse is refused with the position: %s", async (json, position) => {
    const answer = await scheduleWith(json);
    expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_REQUEST" });
    expect(answer.fields[0]).toEqual([
      "input.json",
      expect.stringContaining(`at position ${position} is unexpected`),
    ]);
  });

  test("JSON that ends too early is reported as such", async () => {
    expect((await scheduleWith('{"a":[1')).message).toContain("it ends too early, after 7");
  });

  test("a payload without a body", async () => {
    const answer = await grpc.unary(scheduler.schedule, {
      target: { case: "workflow", value: { name: "holiday" } },
      input: {},
    });
    expect(answer.fields).toEqual([["input.body", "give exactly one of json, data"]]);
  });
});

describe("a workflow as text", () => {
  const text = (value: string) =>
    grpc.unary(scheduler.registerWorkflow, { source: { case: "text", value } });

  test("is stored like a message", async () => {
    const { code, message } = await text(
      "workflow: holiday\nsteps:\n  - id: flight\n    task: book\n",
    );
    expect([code, message]).toEqual([0, ""]);
    expect(stored).toEqual(["workflow"]);
  });

  test("a mistake in the graph names line and column", async () => {
    const answer = await text(
      "workflow: holiday\nsteps:\n  - id: flight\n    task: book\n    needs: [hotel]\n",
    );
    expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_DEFINITION" });
    expect(answer.fields).toEqual([
      ["steps[0].needs[0]", expect.stringMatching(/ \(line 5, column \d+\)$/)],
    ]);
    expect(answer.message).toContain("(line 5, column");
    expect(stored).toEqual([]);
  });

  test("and so does a mistake beyond the structure", async () => {
    const answer = await text(
      "workflow: holiday\nsteps:\n  - id: flight\n    task: book\n    when: nothing\n",
    );
    expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_DEFINITION" });
    expect(answer.fields).toEqual([
      ["steps[0].when", '"nothing" is unknown here (line 5, column 11)'],
    ]);
    expect(stored).toEqual([]);
  });

  test("a wait without a time is INVALID_DEFINITION with its place", async () => {
    const answer = await text("workflow: holiday\nsteps:\n  - id: a\n    wait: {}\n");
    expect(answer).toMatchObject({ reason: "INVALID_DEFINITION" });
    expect(answer.fields).toEqual([
      ["steps[0].wait.over", "give exactly one of for, until (line 4, column 11)"],
    ]);
  });

  test("a value out of its limits is INVALID_DEFINITION with its place", async () => {
    const answer = await text("workflow: holiday\nsteps:\n  - id: a b\n    task: book\n");
    expect(answer).toMatchObject({ reason: "INVALID_DEFINITION" });
    expect(answer.fields[0]).toEqual(["steps[0].id", expect.stringContaining("(line 3, column")]);
  });
});

describe("names that lead nowhere are NOT_FOUND, each with its reason", () => {
  const run = (value: string) => ({ ref: { case: "runId" as const, value } });

  test("a namespace", async () => {
    const answer = await grpc.unary(scheduler.listRuns, { namespace: "nowhere" });
    expect(answer).toMatchObject({ code: NOT_FOUND, reason: "NAMESPACE_NOT_FOUND" });
    expect(answer.kinds).toContain("ResourceInfo");
    expect(answer.message).toContain('"nowhere"');
  });

  test("a workflow, and a version of one", async () => {
    for (const request of [{ name: "nothing" }, { name: "holiday", version: 9 }]) {
      const answer = await grpc.unary(scheduler.getWorkflow, request);
      expect(answer).toMatchObject({ code: NOT_FOUND, reason: "WORKFLOW_NOT_FOUND" });
    }
  });

  test("a run by id or key, and an id that is none", async () => {
    const other = RUN_ID.replace("2a", "2b");
    for (const ref of [run(other), run("no-id"), { ref: { case: "key" as const, value: "x" } }]) {
      const answer = await grpc.unary(scheduler.getRun, { run: ref });
      expect(answer).toMatchObject({ code: NOT_FOUND, reason: "RUN_NOT_FOUND" });
    }
  });

  test("an id with characters that no id has is INVALID_REQUEST", async () => {
    const answer = await grpc.unary(scheduler.getRun, { run: run("a b") });
    expect(answer).toMatchObject({ code: INVALID_ARGUMENT, reason: "INVALID_REQUEST" });
    expect(answer.fields[0]?.[0]).toBe("run.run_id");
  });
});

describe("what scheduler, dispatch and store refuse keeps its reason", () => {
  const request = toBinary(
    ScheduleRequestSchema,
    create(ScheduleRequestSchema, { target: { case: "workflow", value: { name: "holiday" } } }),
  );
  const refuse = async (error: unknown) => {
    const { schedule } = world.scheduler;
    world.scheduler.schedule = () => Promise.reject(error);
    try {
      return await grpc.raw(scheduler.schedule, request);
    } finally {
      world.scheduler.schedule = schedule;
    }
  };

  test("a key that was used with another request", async () => {
    const error = new DroverError("KEY_REUSED", "The key is taken.", {
      metadata: { run_id: RUN_ID },
    });
    expect(await refuse(error)).toMatchObject({
      code: 6,
      reason: "KEY_REUSED",
      message: "The key is taken.",
      metadata: { run_id: RUN_ID },
      kinds: ["ErrorInfo", "ResourceInfo"],
    });
  });

  test("the database is away", async () => {
    const error = new DroverError("STORE_UNAVAILABLE", "Away.", { retryAfterMs: 1_500 });
    expect(await refuse(error)).toMatchObject({
      code: 14,
      reason: "STORE_UNAVAILABLE",
      retryMs: 1_500,
    });
  });

  test("a defect is INTERNAL, shows nothing of the inside, and is logged", async () => {
    const answer = await refuse(new Error("password=hunter2 in table run"));
    expect(answer).toMatchObject({ code: 13, reason: "INTERNAL" });
    expect(answer.message).not.toContain("hunter2");
    expect(world.logged).toContain("a call met a defect and was answered INTERNAL");
  });

  test("a run whose state does not allow a cancel", async () => {
    world.scheduler.command = async () => ({
      kind: "refused",
      run: "COMPLETED",
      why: "The run has COMPLETED.",
    });
    const answer = await grpc.unary(scheduler.cancelRun, {
      run: { ref: { case: "runId", value: RUN_ID } },
    });
    expect(answer).toMatchObject({
      code: 9,
      reason: "RUN_STATE",
      metadata: { state: "COMPLETED" },
      kinds: ["ErrorInfo", "PreconditionFailure"],
    });
  });

  test("many problems stay within what headers hold", async () => {
    const steps = Array.from({ length: 400 }, (_, no) =>
      task(`step-${no}`, { needs: ["x".repeat(100)] }),
    );
    const answer = await register(workflow(...steps));
    expect(answer.reason).toBe("INVALID_DEFINITION");
    expect(answer.message).toContain("(and 399 more");
    expect(answer.fields.length).toBeGreaterThan(5);
    expect(answer.fields.length).toBeLessThan(50);
  });
});

describe("the reasons of the contract", () => {
  const file = new URL("../../../proto/drover/v1/error_reason.proto", import.meta.url);
  const reasons = [
    ...readFileSync(file, "utf8").matchAll(
      /\/\/ ([A-Z_]+)[.,](?:[^/]|\/(?!\/)|\/\/)*?ERROR_REASON_([A-Z_]+) = [1-9]/g,
    ),
  ].map(([, code = "", reason = ""]) => [reason, code] as const);

  test("are all here", () => {
    const names = ErrorReasonSchema.values.map(({ name }) => name.replace("ERROR_REASON_", ""));
    expect(["UNSPECIFIED", ...reasons.map(([reason]) => reason)]).toEqual(names);
  });

  test.each(reasons)("%s is %s, and is named in ErrorInfo", (reason, code) => {
    const answer = readStatus(toStatus(new DroverError(reason as Reason, "It is so.")));
    expect(answer).toMatchObject({ reason, code: Code[code as keyof typeof Code] });
    expect(answer.retryMs !== null).toBe(
      ["OVERLOADED", "STORE_UNAVAILABLE", "DRAINING", "KEYS_UNAVAILABLE"].includes(reason),
    );
  });
});
