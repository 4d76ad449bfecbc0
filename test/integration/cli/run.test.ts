// drover run start, list and cancel, against a server that answers by script.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import {
  ConcurrencyPolicy,
  RunReason,
  type RunSchema,
  RunState,
  RunSubstate,
} from "@drover/proto/drover/v1/run_pb.ts";
import {
  type CancelRunRequest,
  type ListRunsRequest,
  RunOrder,
  type ScheduleRequest,
  Undo,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { describe, expect, test } from "vitest";
import { drover } from "../../support/drover-process.ts";
import { refusedBy } from "../../support/fake-scheduler.ts";
import { scriptedServer } from "./fixture.ts";

const at = (time: string) => timestampFromDate(new Date(`2026-01-31T${time}Z`));

function runWith(init: MessageInitShape<typeof RunSchema>): MessageInitShape<typeof RunSchema> {
  return {
    runId: "r1",
    namespace: "default",
    workflow: "holiday",
    workflowVersion: 3,
    priority: 5,
    createdTime: at("12:00:00"),
    ...init,
  };
}

const running = runWith({ state: RunState.RUNNING });
const completed = runWith({
  state: RunState.COMPLETED,
  reason: RunReason.DONE,
  endedTime: at("12:01:05"),
});
const undone = runWith({
  state: RunState.COMPENSATED,
  reason: RunReason.STEP_FAILED,
  endedTime: at("12:01:05"),
});

const server = scriptedServer();

const run = (...args: readonly string[]) => server.drover(["run", ...args]);

describe("start", () => {
  test("sends all that was given, and prints what to do next", async () => {
    const requests: ScheduleRequest[] = [];
    server.play({
      schedule(request) {
        requests.push(request);
        return { runId: "r1", created: true };
      },
    });
    const options = '--input {"a":1} --key k1 --version 2 --priority 1 --label a=b --label c=d=e';
    const ended = await run("start", "holiday", ...options.split(" "));
    expect(ended).toEqual({
      code: 0,
      stdout: "started run r1\n",
      stderr: "  next: drover run watch r1\n",
    });
    expect(requests).toMatchObject([
      {
        namespace: "default",
        target: { case: "workflow", value: { name: "holiday", version: 2 } },
        input: { body: { case: "json", value: '{"a":1}' } },
        key: "k1",
        priority: 1,
        labels: { a: "b", c: "d=e" },
      },
    ]);
  });

  const schedules = async (...options: readonly string[]) => {
    const requests: ScheduleRequest[] = [];
    server.play({
      schedule(request) {
        requests.push(request);
        return { runId: "r1", created: true };
      },
    });
    const ended = await run("start", "holiday", ...options);
    return { ...ended, request: requests[0] };
  };

  test("--start-at and --in set when it begins", async () => {
    const then = await schedules("--start-at", "2026-03-01T08:00Z");
    expect(then.request?.startTime).toEqual(timestampFromDate(new Date("2026-03-01T08:00:00Z")));
    const before = Date.now();
    const soon = await schedules("--in", "1h30m");
    const startMs = timestampMs(soon.request?.startTime ?? timestampFromDate(new Date(0)));
    expect(startMs).toBeGreaterThanOrEqual(before + 5_400_000);
    expect(startMs).toBeLessThanOrEqual(Date.now() + 5_400_000);
    expect((await schedules()).request?.startTime).toBeUndefined();
  });

  test("--concurrency names the key that it shares slots with", async () => {
    const alone = await schedules("--concurrency", "customer-17");
    expect(alone.request?.concurrency).toMatchObject({
      key: "customer-17",
      limit: 1,
      policy: ConcurrencyPolicy.QUEUE,
    });
    const options = "--concurrency k --limit 3 --policy cancel-oldest";
    expect((await schedules(...options.split(" "))).request?.concurrency).toMatchObject({
      key: "k",
      limit: 3,
      policy: ConcurrencyPolicy.CANCEL_OLDEST,
    });
  });

  test.each([
    ["--in soon", "--in"],
    ["--start-at tomorrow", "2026-01-31T12:00Z"],
    ["--start-at 2026-03-01 --in 1h", "--start-at"],
    ["--limit 3", "--concurrency"],
    ["--policy refuse", "--concurrency"],
    ["--concurrency k --limit 0", "1 to 1000"],
    ["--concurrency k --policy none", "cancel-oldest"],
  ])("%s is a mistake of usage", async (options, named) => {
    const { code, stderr, request } = await schedules(...options.split(" "));
    expect({ code, request }).toEqual({ code: 2, request: undefined });
    expect(stderr).toContain(named);
  });

  test.each([
    ["CONCURRENCY_LIMIT", "--policy queue"],
    ["HOOK_NOT_FOUND", "drover hook list"],
  ])("what to do about %s", async (reason, next) => {
    server.play({
      schedule: () => {
        throw refusedBy({ code: Code.FailedPrecondition, reason, message: "no" });
      },
    });
    const { code, stderr } = await run("start", "holiday");
    expect(code).toBe(1);
    expect(stderr).toContain(next);
  });

  test("takes the input from a pipe, and answers in JSON", async () => {
    const inputs: unknown[] = [];
    server.play({
      schedule({ input }) {
        inputs.push(input?.body.value);
        return { runId: "r1", created: false };
      },
    });
    const { stdout } = await drover(
      ["run", "start", "holiday", "--input", "@-", "-o", "json", "--address", server.address],
      { stdin: "[1, 2]" },
    );
    expect(JSON.parse(stdout)).toEqual({ runId: "r1" });
    expect(inputs).toEqual(["[1, 2]"]);
  });

  test("--wait asks until the run has ended", async () => {
    let asked = 0;
    server.play({
      schedule: () => ({ runId: "r1", created: true }),
      waitRun: () => (++asked < 3 ? { run: running } : { run: completed, ended: true }),
    });
    const ended = await run("start", "holiday", "--wait");
    expect(ended).toEqual({
      code: 0,
      stdout: "completed after 1m05s\n",
      stderr: "started run r1\n",
    });
    expect(asked).toBe(3);
  });

  test("--wait exits with 1 when the run did not do what it was started for", async () => {
    server.play({
      schedule: () => ({ runId: "r1", created: true }),
      waitRun: () => ({ run: undone, ended: true }),
    });
    const { code, stdout, stderr } = await run("start", "holiday", "--wait");
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: "compensated (a step failed) after 1m05s\n",
    });
    expect(stderr).toContain("next: drover run show r1");
  });

  test("--wait ends with a code of its own when the run waits for a person", async () => {
    server.play({
      schedule: () => ({ runId: "r1", created: true }),
      waitRun: () => ({ run: { ...running, state: RunState.ESCALATED }, ended: false }),
    });
    expect(await run("start", "holiday", "--wait")).toEqual({
      code: 5,
      stdout: "run r1 waits for a person: an escalation is open\n",
      stderr: "started run r1\n  next: drover run why r1\n",
    });
  });

  test("--wait does not end for an approval while other steps can move", async () => {
    const approval = { substate: RunSubstate.WAITING_FOR_APPROVAL, steps: 1 };
    const working = { substate: RunSubstate.WORKING, steps: 1 };
    let asked = 0;
    server.play({
      schedule: () => ({ runId: "r1", created: true }),
      waitRun: () => ({
        run: runWith({
          state: RunState.RUNNING,
          substates: ++asked < 3 ? [working, approval] : [approval],
        }),
      }),
    });
    expect(await run("start", "holiday", "--wait")).toMatchObject({
      code: 5,
      stdout: "run r1 waits for a person: a step waits for approval\n",
    });
    expect(asked).toBe(3);
  });

  test("a key that another request has names the run that it belongs to", async () => {
    server.play({
      schedule() {
        throw refusedBy({
          code: Code.AlreadyExists,
          reason: "KEY_REUSED",
          message: 'the key "k1" was used with another request',
          metadata: { run_id: "r7" },
        });
      },
    });
    expect(await run("start", "holiday", "--key", "k1")).toEqual({
      code: 1,
      stdout: "",
      stderr:
        'drover: the key "k1" was used with another request\n' +
        "  next: drover run show r7, or use another --key\n",
    });
  });

  test("an unknown workflow exits with 4", async () => {
    server.play({
      schedule() {
        throw refusedBy({
          code: Code.NotFound,
          reason: "WORKFLOW_NOT_FOUND",
          message: 'there is no workflow "holidy"',
        });
      },
    });
    const { code, stderr } = await run("start", "holidy");
    expect(code).toBe(4);
    expect(stderr).toContain("next: drover workflow apply FILE");
  });

  test("a server whose database is away exits with 3", async () => {
    server.play({
      schedule() {
        throw refusedBy({
          code: Code.Unavailable,
          reason: "STORE_UNAVAILABLE",
          message: "the database does not answer",
        });
      },
    });
    const { code, stderr } = await run("start", "holiday");
    expect(code).toBe(3);
    expect(stderr).toContain("drover: the database does not answer\n  next: try again");
  });
});

describe("list", () => {
  test("shows runs as a table without empty columns", async () => {
    server.play({ listRuns: () => ({ runs: [running, { ...undone, runId: "r22" }] }) });
    expect(await run("list")).toEqual({
      code: 0,
      stdout: [
        "RUN  WORKFLOW    STATE                        CREATED               TOOK",
        "r1   holiday v3  running                      2026-01-31 12:00:00Z",
        "r22  holiday v3  compensated (a step failed)  2026-01-31 12:00:00Z  1m05s",
        "",
      ].join("\n"),
      stderr: "",
    });
  });

  test("sends the filters, and reads page after page up to the limit", async () => {
    const requests: ListRunsRequest[] = [];
    server.play({
      listRuns(request) {
        requests.push(request);
        const ids = request.pageToken === "" ? ["r1", "r2"] : ["r3"];
        return { runs: ids.map((runId) => ({ runId })), nextPageToken: `after-${ids.at(-1)}` };
      },
    });
    const options =
      "--state running --state failed --workflow w --label a=b --created-after 2026-01-31 " +
      "--order oldest --limit 3 -o jsonl";
    const { stdout, stderr } = await run("list", ...options.split(" "));
    expect(stdout).toBe('{"runId":"r1"}\n{"runId":"r2"}\n{"runId":"r3"}\n');
    expect(stderr).toBe("more exist\n  next: --limit 30\n");
    expect(requests).toMatchObject([
      {
        filter: {
          states: [RunState.RUNNING, RunState.FAILED],
          workflow: "w",
          labels: { a: "b" },
          createdAfter: at("00:00:00"),
        },
        order: RunOrder.CREATED_ASC,
        pageSize: 3,
        pageToken: "",
      },
      { pageSize: 1, pageToken: "after-r2" },
    ]);
  });

  test.each(["running", "RUNNING", "Running"])("takes %s as a state", async (state) => {
    const asked: RunState[] = [];
    server.play({
      listRuns({ filter }) {
        asked.push(...(filter?.states ?? []));
        return {};
      },
    });
    await run("list", "--state", state);
    expect(asked).toEqual([RunState.RUNNING]);
  });

  test("as JSON it is the answer of the service", async () => {
    server.play({ listRuns: () => ({ runs: [{ runId: "r1", state: RunState.PENDING }] }) });
    const { stdout } = await run("list", "-o", "json");
    expect(JSON.parse(stdout)).toEqual({ runs: [{ runId: "r1", state: "RUN_STATE_PENDING" }] });
  });

  test("an empty list is no error", async () => {
    server.play({ listRuns: () => ({}) });
    expect(await run("list")).toEqual({
      code: 0,
      stdout: "",
      stderr: "no runs\n  next: drover run start WORKFLOW\n",
    });
  });
});

describe("cancel", () => {
  test("has work undone unless asked to leave it, and keeps the reason", async () => {
    const requests: CancelRunRequest[] = [];
    server.play({
      cancelRun(request) {
        requests.push(request);
        return { run: runWith({ state: RunState.STOPPING, reason: RunReason.CANCELLED_BY_USER }) };
      },
    });
    expect(await run("cancel", "r1", "--reason", "not needed")).toEqual({
      code: 0,
      stdout: "run r1 is stopping (cancelled by a person)\n",
      stderr: "  next: drover run watch r1\n",
    });
    await run("cancel", "r1", "--leave");
    expect(requests).toMatchObject([
      { undo: Undo.COMPENSATE, reason: "not needed" },
      { undo: Undo.LEAVE, reason: "" },
    ]);
  });

  test("a run that has ended otherwise is refused with 1", async () => {
    server.play({
      cancelRun() {
        throw refusedBy({
          code: Code.FailedPrecondition,
          reason: "RUN_STATE",
          message: "the run has ended COMPLETED",
          metadata: { state: "COMPLETED" },
        });
      },
    });
    const { code, stderr } = await run("cancel", "r1");
    expect(code).toBe(1);
    expect(stderr).toBe(
      "drover: the run has ended COMPLETED\n" +
        "  next: drover run show RUN prints the state of the run\n",
    );
  });
});
