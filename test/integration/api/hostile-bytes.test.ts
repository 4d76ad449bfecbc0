import { deflateSync, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { GetRunRequestSchema } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { describe, expect, test } from "vitest";
import {
  answerOn,
  beside,
  EMPTY,
  framed,
  INVALID,
  open,
  PATH,
  type RawCall,
  rawCall,
  run,
  served,
  session,
  start,
  useHostileWorld,
  world,
} from "./hostile-world.ts";
import { RUN_ID } from "./rpc-world.ts";

useHostileWorld();

const EXHAUSTED = 8;
const UNIMPLEMENTED = 12;

describe("bytes over gRPC that are no call are answered, and never INTERNAL", () => {
  const request = toBinary(GetRunRequestSchema, create(GetRunRequestSchema, { run }));
  const bomb = Buffer.alloc(64 * 2 ** 20);
  const gzip = { "grpc-encoding": "gzip" };
  /** 20,000 groups, each in the one before, which no message of the contract has. */
  const nested = Buffer.alloc(20_000, 0x7b);
  const cases: readonly [string, RawCall, number][] = [
    ["a bomb of gzip", { headers: gzip, body: framed(gzipSync(bomb), 1) }, EXHAUSTED],
    ["a bomb in a bomb", { headers: gzip, body: framed(gzipSync(gzipSync(bomb)), 1) }, INVALID],
    [
      "a bomb of deflate",
      { headers: { "grpc-encoding": "deflate" }, body: framed(deflateSync(bomb), 1) },
      EXHAUSTED,
    ],
    ["corrupt gzip", { headers: gzip, body: framed(Buffer.from("gzip?"), 1) }, INVALID],
    [
      "truncated gzip",
      { headers: gzip, body: framed(gzipSync(request).subarray(0, 12), 1) },
      INVALID,
    ],
    [
      "an unknown encoding",
      { headers: { "grpc-encoding": "br" }, body: framed(request, 1) },
      UNIMPLEMENTED,
    ],
    ["compressed bytes without an encoding", { body: framed(gzipSync(request), 1) }, INVALID],
    ["bytes that are no message", { body: framed(Buffer.from([0x0a, 0xff, 0x01, 0x02])) }, INVALID],
    ["a message nested too deeply", { body: framed(nested) }, INVALID],
    ["a varint that is too long", { body: framed(Buffer.alloc(12, 0xff)) }, INVALID],
    ["text that is not UTF-8", { body: framed(Buffer.from([0x0a, 0x02, 0xc3, 0x28])) }, INVALID],
    ["a truncated frame", { body: framed(request).subarray(0, 8) }, INVALID],
    ["a truncated head", { body: Buffer.from([0, 0]) }, INVALID],
    ["no message", {}, INVALID],
    ["a second message", { body: Buffer.concat([framed(request), framed(request)]) }, INVALID],
    ["a declared length of 4 GiB", { body: framed(request, 0, 2 ** 32 - 1) }, EXHAUSTED],
    [
      "an unknown method",
      { path: "/drover.v1.SchedulerService/Nothing", body: EMPTY },
      UNIMPLEMENTED,
    ],
    [
      "a deadline of 600 hours",
      { headers: { "grpc-timeout": "600H" }, body: framed(request) },
      INVALID,
    ],
    ...["soon", "-5S", "10", "123456789S", "5Sx", "0x10S"].map(
      (timeout): [string, RawCall, number] => [
        `a deadline of "${timeout}"`,
        { headers: { "grpc-timeout": timeout }, body: framed(request) },
        INVALID,
      ],
    ),
  ];

  test("one after the other on one connection, which stays usable", async () => {
    await start();
    const hostile = session();
    const answers: [string, number][] = [];
    await beside(
      (async () => {
        for (const [name, call] of cases) answers.push([name, (await rawCall(call, hostile)).code]);
      })(),
    );
    expect(answers).toEqual(cases.map(([name, , code]) => [name, code]));
    expect((await rawCall({ body: framed(request) }, hostile)).code).toBe(0);
  });

  test("a oneof that is set twice is its last value", async () => {
    await start();
    const other = toBinary(
      GetRunRequestSchema,
      create(GetRunRequestSchema, { run: { ref: { case: "key", value: "nothing" } } }),
    );
    expect((await rawCall({ body: framed(Buffer.concat([other, request])) })).code).toBe(0);
  });

  test("another content type is 415", async () => {
    await start();
    const { headers } = await rawCall({ headers: { "content-type": "text/html" } });
    expect(headers[":status"]).toBe(415);
    await served();
  });

  test("the answers say what is wrong", async () => {
    await start();
    const messageOf = async (call: RawCall) =>
      decodeURIComponent(String((await rawCall(call)).headers["grpc-message"]));
    expect(await messageOf({ headers: gzip, body: framed(Buffer.from("gzip?"), 1) })).toContain(
      "compressed",
    );
    expect(await messageOf({})).toContain("without a whole message");
    expect(await messageOf({ headers: { "grpc-timeout": "soon" }, body: EMPTY })).toContain(
      "grpc-timeout",
    );
    expect(await messageOf({ body: framed(request, 0, 2 ** 32 - 1) })).toContain("4194304");
  });
});

describe("bytes over HTTP/1.1 that are no call are answered", () => {
  const body = JSON.stringify({ run: { runId: RUN_ID } });
  const json = { "content-type": "application/json" };
  const post = async (headers: Record<string, string>, sent: string | Uint8Array = body) => {
    const url = `http://127.0.0.1:${world.port}${PATH}`;
    const response = await fetch(url, { method: "POST", headers, body: Buffer.from(sent) });
    return { status: response.status, text: await response.text() };
  };

  test("compressed, they are unimplemented, so that no bomb is read", async () => {
    await start();
    const encoded = { ...json, "content-encoding": "gzip" };
    const answer = post(encoded, gzipSync(Buffer.alloc(64 * 2 ** 20)));
    await beside(answer);
    expect((await answer).text).toContain("unimplemented");
  });

  test.each(["soon", "-5", "123456789012"])('a deadline of "%s" is invalid', async (timeout) => {
    await start();
    const { status, text } = await post({ ...json, "connect-timeout-ms": timeout });
    expect([status, text]).toEqual([400, expect.stringContaining("invalid_argument")]);
  });

  test("what is not HTTP is 400", async () => {
    await start();
    const socket = open();
    socket.write("\x00\x01\x02\r\n\r\n");
    expect(await answerOn(socket)).toContain("400 Bad Request");
    expect(world.refused).toEqual(["malformed"]);
  });
});
