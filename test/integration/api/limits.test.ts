// What never reaches a handler: bytes that are no message, messages over the limit, absurd
// deadlines, connections that are none, and more calls than the server holds. The connection
// survives each.

import { connect } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import {
  GetRunRequestSchema,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { Metadata } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createPort } from "../../../server/api/transport/port.ts";
import { systemClock } from "../../../server/clock.ts";
import { guardForTest } from "../../support/connection-guard.ts";
import { type GrpcClient, grpcClient, postJson, readConnect } from "./rpc-clients.ts";
import { AGENT, RUN_ID, signal, startWorld, type World, type WorldOptions } from "./rpc-world.ts";

const { getRun, schedule, watchRun } = SchedulerService.method;
const { heartbeat, pollTask } = AgentService.method;
const run = { ref: { case: "runId" as const, value: RUN_ID } };
const garbage = new Uint8Array([0x0a, 0xff, 0x01, 0x02]);
const tooMuch = "x".repeat(4 * 1024 * 1024 + 100);

let world: World;
let grpc: GrpcClient;
async function restart(options: WorldOptions): Promise<void> {
  grpc.close();
  await world.close();
  world = await startWorld(options);
  grpc = grpcClient(world.port);
}
beforeEach(async () => {
  world = await startWorld();
  grpc = grpcClient(world.port);
});
afterEach(async () => {
  expect((await grpc.unary(getRun, { run })).code).toBe(0);
  grpc.close();
  await world.close();
});

const post = async (body: Uint8Array | string, type: string) =>
  await fetch(`http://127.0.0.1:${world.port}/drover.v1.SchedulerService/Schedule`, {
    method: "POST",
    headers: { "content-type": type },
    body,
  });

describe("bytes that are no message are MALFORMED_MESSAGE", () => {
  test("over gRPC", async () => {
    const answer = await grpc.raw(schedule, garbage);
    expect(answer).toMatchObject({ code: 3, reason: "MALFORMED_MESSAGE" });
    expect(answer.message).toContain("drover.v1.ScheduleRequest");
  });

  test("over Connect, binary and JSON", async () => {
    for (const [body, type] of [
      [garbage, "application/proto"],
      ['{"workflow":', "application/json"],
      ['{"workflow":{"name":5}}', "application/json"],
    ] as const) {
      const answer = await readConnect(await post(body, type));
      expect(answer).toMatchObject({ http: 400, code: 3, reason: "MALFORMED_MESSAGE" });
    }
  });

  test("over gRPC-Web, in its own form of an error", async () => {
    const framed = Buffer.concat([Buffer.from([0, 0, 0, 0, garbage.length]), garbage]);
    const response = await post(framed, "application/grpc-web+proto");
    const text = Buffer.from(await response.arrayBuffer()).toString();
    expect(response.status).toBe(200);
    expect(text).toMatch(/grpc-status: ?3\r\n/);
    expect(text).toContain("grpc-status-details-bin");
  });

  test("an empty body is an empty request, which the rules then refuse", async () => {
    const answer = await readConnect(await post("", "application/proto"));
    expect(answer).toMatchObject({ code: 3, reason: "INVALID_REQUEST" });
  });
});

describe("a message over 4 MiB is RESOURCE_EXHAUSTED", () => {
  const input = { body: { case: "json" as const, value: JSON.stringify(tooMuch) } };

  test("over gRPC, where it is refused without details", async () => {
    const target = { case: "workflow" as const, value: { name: "holiday" } };
    const answer = await grpc.unary(schedule, { target, input });
    expect(answer.code).toBe(8);
  });

  test("over JSON it is MESSAGE_TOO_LARGE, with and without a length", async () => {
    const body = JSON.stringify({ workflow: { name: "holiday" }, input: { json: tooMuch } });
    expect(await postJson(world.port, schedule, body)).toMatchObject({
      http: 429,
      code: 8,
      reason: "MESSAGE_TOO_LARGE",
      metadata: { limit_bytes: "4194304" },
      retryMs: null,
    });
    const response = await fetch(
      `http://127.0.0.1:${world.port}/drover.v1.SchedulerService/Schedule`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: new Blob([body]).stream(),
        duplex: "half",
      },
    );
    expect(await readConnect(response)).toMatchObject({ code: 8, reason: "MESSAGE_TOO_LARGE" });
  });

  test("over gRPC-Web it is MESSAGE_TOO_LARGE", async () => {
    const baseUrl = `http://127.0.0.1:${world.port}`;
    const client = createClient(
      SchedulerService,
      createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
    );
    const target = { case: "workflow" as const, value: { name: "holiday" } };
    const error = await client.schedule({ target, input }).catch((thrown) => thrown);
    expect(error.code).toBe(8);
    expect(error.message).toContain("4194304");
  });
});

describe("a deadline that is absurdly far away is DEADLINE_TOO_LONG", () => {
  const request = toBinary(GetRunRequestSchema, create(GetRunRequestSchema, { run }));
  const withTimeout = (timeout: string) => {
    const metadata = new Metadata();
    metadata.set("grpc-timeout", timeout);
    return grpc.raw(getRun, request, metadata);
  };

  test.each(["25H", "600H", "99999999H", "99999999S"])("over gRPC: %s", async (timeout) => {
    const answer = await withTimeout(timeout);
    expect(answer).toMatchObject({
      code: 3,
      reason: "DEADLINE_TOO_LONG",
      metadata: { limit_seconds: "86400" },
    });
    expect(answer.message).toContain("at most 86400 s");
  });

  test("over gRPC, also where another server of the process sees the call", async () => {
    const other = await startWorld();
    expect(await withTimeout("99999999H")).toMatchObject({ code: 3, reason: "DEADLINE_TOO_LONG" });
    await other.close();
  });

  test.each(["10S", "99999999u", "23H"])("a sensible one is taken: %s", async (timeout) => {
    expect((await withTimeout(timeout)).code).toBe(0);
  });

  test("over JSON, also where it is longer than any timer", async () => {
    for (const timeout of ["90000000", "9999999999"]) {
      const answer = await postJson(
        world.port,
        getRun,
        { run: { runId: RUN_ID } },
        { "connect-timeout-ms": timeout },
      );
      expect(answer).toMatchObject({ http: 400, code: 3, reason: "DEADLINE_TOO_LONG" });
    }
  });

  test("of a stream, too", async () => {
    const watch = grpc.stream(watchRun, { run }, { deadline: Date.now() + 30 * 86_400_000 });
    expect(await watch.done).toMatchObject({ code: 3, reason: "DEADLINE_TOO_LONG" });
  });
});

describe("a deadline that passes", () => {
  test("is DEADLINE_EXCEEDED over gRPC and over JSON, while the handler still works", async () => {
    const { promise, resolve } = signal();
    const { findRun } = world.reads;
    world.reads.findRun = async (...given) => {
      await promise;
      return findRun(...given);
    };
    const late = grpc.unary(getRun, { run }, { deadline: Date.now() + 150 });
    const json = { run: { runId: RUN_ID } };
    const lateJson = postJson(world.port, getRun, json, { "connect-timeout-ms": "150" });
    expect((await late).code).toBe(4);
    expect(await lateJson).toMatchObject({ code: 4 });
    resolve();
  });
});

describe("more calls than the server holds", () => {
  test("are refused OVERLOADED with a delay, and taken again when there is room", async () => {
    await restart({ config: { callsMax: 1 } });
    const inHand = signal();
    const { promise, resolve } = signal();
    const { findRun } = world.reads;
    world.reads.findRun = async (...given) => {
      inHand.resolve();
      await promise;
      return findRun(...given);
    };
    const first = grpc.unary(getRun, { run });
    await inHand.promise;
    expect(await grpc.unary(getRun, { run })).toMatchObject({
      code: 8,
      reason: "OVERLOADED",
      retryMs: 1_000,
      kinds: ["ErrorInfo", "RetryInfo", "QuotaFailure"],
    });
    resolve();
    expect((await first).code).toBe(0);
  });
});

describe("more polls than may wait", () => {
  const one = { callsMax: 1, waitingCallsMax: 9 };
  test.each([
    ["on a server", { ...one, waitingCallsMax: 1 }, "This server"],
    ["from an address", { ...one, waitingCallsPerPeerMax: 1 }, "The address 127.0.0.1"],
    ["in a namespace", { ...one, waitingCallsPerNamespaceMax: 1 }, 'The namespace "default"'],
  ])(
    "%s are answered with nothing after a while, or refused; heartbeats are answered",
    async (_, config, who) => {
      await restart({ config });
      const parked = signal();
      const { promise, resolve } = signal();
      const { poll } = world.dispatcher;
      world.dispatcher.poll = async (request, ended) => {
        parked.resolve();
        await promise;
        return poll(request, ended);
      };
      const first = grpc.unary(pollTask, { agent: AGENT, pollSeq: 1n });
      await parked.promise;
      const other = grpcClient(world.port);
      const soon = { agent: AGENT, wait: durationFromMs(50) };
      const second = await other.unary(pollTask, { ...soon, pollSeq: 2n });
      expect(second).toMatchObject({ code: 0, answer: { tasks: [] } });
      const pausing = [3n, 4n, 5n, 6n, 7n].map((pollSeq) =>
        other.open(pollTask, { agent: AGENT, pollSeq, wait: durationFromMs(60_000) }),
      );
      const refused = await Promise.race(pausing.map(({ done }) => done));
      expect(refused).toMatchObject({ code: 8, reason: "OVERLOADED", retryMs: 1_000 });
      expect(refused.message).toContain(who);
      expect(world.logged.filter((line) => line.includes("--waiting-calls"))).toHaveLength(1);
      for (const { cancel } of pausing) cancel();
      await Promise.all(pausing.map(({ done }) => done));
      other.close();
      expect((await grpc.unary(heartbeat, { agent: AGENT })).code).toBe(0);
      resolve();
      expect((await first).code).toBe(0);
      const after = await grpc.unary(pollTask, { agent: AGENT, pollSeq: 8n });
      expect(after).toMatchObject({ code: 0, answer: { tasks: [{ stepId: expect.any(String) }] } });
    },
  );

  test("are checked like all others, and end with their caller", async () => {
    await restart({ config: { waitingCallsMax: 1 } });
    const { promise, resolve } = signal();
    const parked = signal();
    world.dispatcher.poll = async () => {
      parked.resolve();
      await promise;
      return { tasks: [], waitedMs: 0 };
    };
    const first = grpc.unary(pollTask, { agent: AGENT, pollSeq: 1n });
    await parked.promise;
    const wrong = await grpc.unary(pollTask, { agent: AGENT, pollSeq: 0n });
    expect(wrong.reason).toBe("INVALID_REQUEST");
    const long = { agent: AGENT, pollSeq: 2n, wait: durationFromMs(60_000) };
    const { done, cancel } = grpc.open(pollTask, long);
    cancel();
    expect((await done).code).toBe(1);
    resolve();
    expect((await first).code).toBe(0);
  });
});

describe("the port", () => {
  test("is recognized by its first bytes, however they are cut", async () => {
    const socket = connect(world.port, "127.0.0.1");
    for (const part of [
      "P",
      "O",
      "ST /healthz HTTP/1.1\r\nHost: localhost\r\nconnection: close\r\n\r\n",
    ])
      await new Promise<void>((sent) => {
        socket.write(part, () => setImmediate(sent));
      });
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toContain("405 Method Not Allowed");
  });

  test("answers a caller that has closed its own side", async () => {
    const socket = connect({ port: world.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.end("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let text = "";
    for await (const chunk of socket) text += chunk;
    expect(text).toContain("200 OK");
  });

  test("cuts a connection that sends too little for too long", async () => {
    const due: (() => void)[] = [];
    const clock = {
      ...systemClock,
      after: (_ms: number, fn: () => void) => {
        due.push(fn);
        return { cancel: () => {} };
      },
    };
    await restart({ clock });
    const socket = connect(world.port, "127.0.0.1");
    const gone = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => {});
    socket.resume();
    await new Promise<void>((sent) => socket.write("PR", () => sent()));
    while (due.length === 0) await new Promise((turn) => setImmediate(turn));
    for (const callback of due.splice(0)) callback();
    await gone;
    await restart({});
  });

  test("bears connections that come and go without a byte", async () => {
    for (const bytes of ["", "PR", "\x00\x01\x02\x03"]) {
      const socket = connect(world.port, "127.0.0.1");
      socket.on("error", () => {});
      await new Promise<void>((gone) => {
        socket.once("close", () => gone());
        socket.once("connect", () => socket.end(bytes));
        socket.resume();
      });
    }
  });

  const deps = {
    onHttp1: () => {},
    onHttp2: () => {},
    guard: guardForTest().guard,
    clock: systemClock,
    log: { info: () => {}, warn: () => {}, error: () => {} },
  };
  const closed = { insecureNoAuth: false, requireTokens: false, tlsInFront: false, tls: null };
  const options = { port: 0, connectionsMax: 10, ...closed };

  test.each(["0.0.0.0", "::", "192.168.1.5", "example.org", "1270.0.0.1"])(
    "refuses to listen on %s without identities, and prints how to allow it",
    (host) => {
      expect(() => createPort({ ...options, host }, deps)).toThrow(/--insecure-no-auth/);
    },
  );

  test("with tokens another address needs TLS in front, so that none travels in plain text", () => {
    const open = { ...options, host: "0.0.0.0", requireTokens: true };
    expect(() => createPort(open, deps)).toThrow(/plain text.*--tls-in-front/);
    expect(() => createPort({ ...open, tlsInFront: true }, deps)).not.toThrow();
    expect(() => createPort({ ...open, insecureNoAuth: true }, deps)).toThrow(/one of them/);
  });

  test.each(["127.0.0.1", "127.3.2.1", "::1", "localhost"])("%s is loopback", (host) => {
    expect(() => createPort({ ...options, host }, deps)).not.toThrow();
  });
});
