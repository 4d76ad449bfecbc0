// What a client without a schema can find out: health, reflection, and the pages for probes.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fromBinary } from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { ErrorInfoSchema } from "@drover/proto/google/rpc/error_details_pb.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "@drover/proto/grpc/health/v1/health_pb.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GrpcClient, grpcClient, postJson } from "./rpc-clients.ts";
import {
  runDetail as detailOf,
  RUN_ID,
  runRecord,
  startWorld,
  token,
  type World,
} from "./rpc-world.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const run = promisify(execFile);

let world: World;
let grpc: GrpcClient;
beforeAll(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
});
afterAll(async () => {
  grpc.close();
  await world.close();
});

/** `buf curl` with no schema but what the server publishes. */
async function bufCurl(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const buf = [
    `${root}node_modules/.bin/buf`,
    "curl",
    "--protocol",
    "grpc",
    "--http2-prior-knowledge",
  ];
  const [command = "", ...before] = buf;
  try {
    const { stdout, stderr } = await run(command, [...before, ...args], { cwd: "/" });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const failed = error as { code: number; stdout: string; stderr: string };
    return { code: failed.code, out: failed.stdout, err: failed.stderr };
  }
}

describe("a client without any schema", () => {
  const url = (path = "") => `http://127.0.0.1:${world.port}${path}`;

  test("lists every method by reflection v1", async () => {
    const { out } = await bufCurl("--list-methods", url());
    const methods = out.trim().split("\n");
    for (const service of [SchedulerService, OperatorService, AgentService])
      for (const { name } of service.methods)
        expect(methods).toContain(`${service.typeName}/${name}`);
    expect(methods).toContain("grpc.health.v1.Health/Check");
  });

  test("calls a unary method, with a message that has payloads and durations", async () => {
    const { out, err } = await bufCurl(
      "--data",
      JSON.stringify({
        agent: { id: "a", session: Buffer.alloc(16).toString("base64") },
        results: [{ taskToken: token(), outcome: { success: { output: { json: "1" } } } }],
        next: { pollSeq: "1" },
      }),
      url("/drover.v1.AgentService/Complete"),
    );
    expect(err).toBe("");
    expect(JSON.parse(out)).toMatchObject({
      answers: [{}],
      tasks: [{ stepId: "flight", leaseFor: "30s" }],
    });
  });

  test("calls a stream", async () => {
    const { runDetail } = world.reads;
    const ended = { state: "COMPLETED", reason: "DONE", endedAt: 1_700_000_100_000 } as const;
    world.reads.runDetail = async () => detailOf({ run: runRecord(ended) });
    const { out } = await bufCurl(
      "--data",
      `{"run":{"runId":"${RUN_ID}"}}`,
      url("/drover.v1.SchedulerService/WatchRun"),
    );
    world.reads.runDetail = runDetail;
    expect(JSON.parse(out)).toMatchObject({ run: { state: "RUN_STATE_COMPLETED" } });
  });

  test("finds the schema by reflection v1alpha, too", async () => {
    const { out } = await bufCurl(
      "--reflect-protocol",
      "grpc-v1alpha",
      "--data",
      "{}",
      url("/grpc.health.v1.Health/Check"),
    );
    expect(JSON.parse(out)).toEqual({ status: "SERVING" });
  });

  test("reads an error with its details", async () => {
    const { code, err } = await bufCurl(
      "--data",
      '{"run":{"runId":"nothing"}}',
      url("/drover.v1.SchedulerService/GetRun"),
    );
    expect(code).not.toBe(0);
    const error = JSON.parse(err);
    expect(error).toMatchObject({
      code: "not_found",
      details: [{ type: "google.rpc.ErrorInfo" }, { type: "google.rpc.ResourceInfo" }],
    });
    const info = fromBinary(ErrorInfoSchema, Buffer.from(error.details[0].value, "base64"));
    expect(info).toMatchObject({ reason: "RUN_NOT_FOUND", domain: "drover" });
  });

  test("gets an error for a symbol that is not there", async () => {
    const { code, err } = await bufCurl("--data", "{}", url("/drover.v1.Nothing/Call"));
    expect(code).not.toBe(0);
    expect(err).toContain("drover.v1.Nothing");
  });
});

describe("health", () => {
  test.each(["", ...[SchedulerService, OperatorService, AgentService].map((of) => of.typeName)])(
    'of "%s" is SERVING',
    async (service) => {
      const { answer } = await grpc.unary(Health.method.check, { service });
      expect(answer?.status).toBe(Status.SERVING);
    },
  );

  test("of a service that is not here is NOT_FOUND, and its watch reports SERVICE_UNKNOWN", async () => {
    const service = "drover.v1.Nothing";
    const answer = await grpc.unary(Health.method.check, { service });
    expect(answer).toMatchObject({ code: 5, reason: "" });
    expect(answer.message).toContain("drover.v1.SchedulerService");
    const watch = grpc.stream(Health.method.watch, { service });
    await watch.count(1);
    expect(watch.messages[0]?.status).toBe(Status.SERVICE_UNKNOWN);
    watch.cancel();
    expect((await watch.done).code).toBe(1);
  });

  test("is there as JSON, and as a list", async () => {
    expect((await postJson(world.port, Health.method.check, {})).json).toEqual({
      status: "SERVING",
    });
    const { json } = await postJson(world.port, Health.method.list, {});
    expect(Object.keys(json.statuses).sort()).toEqual([
      "",
      "drover.v1.AgentService",
      "drover.v1.OperatorService",
      "drover.v1.SchedulerService",
    ]);
  });
});

describe("pages for probes", () => {
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${world.port}${path}`);
    return [response.status, await response.text()] as const;
  };

  test("/healthz reports that the process lives, and that it is well", async () => {
    expect(await get("/healthz")).toEqual([200, '{"status":"ok","reasons":[]}\n']);
  });

  test("/readyz asks the store, and does not pass on the answer", async () => {
    expect(await get("/readyz?verbose")).toEqual([200, "ready\n"]);
    const { ready } = world.store;
    world.store.ready = () => Promise.reject(new Error("password=hunter2"));
    const [status, text] = await get("/readyz");
    world.store.ready = ready;
    expect(status).toBe(503);
    expect(text).toContain("database");
    expect(text).not.toContain("hunter2");
  });

  test("a call of a person answers beside them", async () => {
    const { json } = await postJson(world.port, SchedulerService.method.getRun, {
      run: { runId: RUN_ID },
    });
    expect(json.run.runId).toBe(RUN_ID);
  });
});
