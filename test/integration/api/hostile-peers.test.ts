import type http2 from "node:http2";
import { connect } from "node:net";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { describe, expect, test } from "vitest";
import { FLOODS, rapidResets, times } from "../../support/http2-bytes.ts";
import { until } from "../../support/until.ts";
import {
  answerOn,
  beside,
  closed,
  ELSEWHERE,
  EMPTY,
  getRun,
  INVALID,
  movedClock,
  open,
  PATH,
  type RawAnswer,
  rawCall,
  refused,
  run,
  secure,
  served,
  session,
  start,
  useHostileWorld,
  world,
} from "./hostile-world.ts";
import { grpcClient } from "./rpc-clients.ts";
import { runRecord } from "./rpc-world.ts";

useHostileWorld();

/** Small messages, so that bytes of no call are soon too many. */
const SMALL = {
  config: { messageBytesMax: 16_384 },
  transportLimits: { surplusBytesMax: 65_536 },
};

describe.each(["plain text", "TLS"])("over %s, a flood", (transport) => {
  const started = () => start(SMALL, transport === "TLS" ? secure : null);

  test.each([
    ["PING", "control-frames"],
    ["SETTINGS", "control-frames"],
    ["empty DATA", "frames"],
    ["CONTINUATION", "frames"],
    ["DATA of padding", "frames"],
    ["empty HEADERS", "frames"],
    // Node may count it before the check of all sessions does, or after it.
    ["PRIORITY", "frames", "surplus-bytes"],
    ["WINDOW_UPDATE", "surplus-bytes"],
    ["unknown frames", "frames"],
  ] as const)("of %s closes its connection", async (name, ...reasons) => {
    await started();
    const flood = FLOODS[name](PATH);
    const socket = open().resume();
    socket.write(flood.opening);
    const frames = times(2_000, flood);
    const send = () => {
      while (!socket.destroyed && socket.write(frames));
    };
    socket.on("drain", send);
    send();
    await beside(closed(socket));
    const [why, ...others] = new Set(world.refused);
    expect(reasons).toContain(why);
    expect(others).toEqual([]);
  });

  test.each([PATH, "/nothing"])(
    "of streams of %s that are cancelled at once, too",
    async (path) => {
      await started();
      const socket = open().resume();
      socket.write(rapidResets(900, path));
      await beside(closed(socket));
      expect(new Set(world.refused)).toEqual(new Set(["resets"]));
    },
  );
});

describe("a request that does not arrive whole", () => {
  /** Time passes while the good client has nothing but its parked poll. */
  const timed = async (ms: number, begin: () => Promise<RawAnswer>) => {
    const { clock, move } = movedClock();
    await start({ clock, transportLimits: { connectionAgeMs: 10 ** 9 } });
    const attack = begin();
    await served();
    await until("it is cut", () => {
      move(ms);
      return world.refused.length > 0 || null;
    });
    return attack;
  };

  test("whose message does not begin for 10 s is cut", async () => {
    const cut = timed(10_000, () => rawCall({ neverEnds: true }));
    expect(await cut).toMatchObject({ rst: 11 });
    await served();
    expect(world.refused).toEqual(["slow-request"]);
  });

  test("of one byte each 10 s is cut after 30 s", async () => {
    const cut = timed(30_000, () => rawCall({ body: Buffer.alloc(1), neverEnds: true }));
    expect(await cut).toMatchObject({ rst: 11 });
    await served();
    expect(world.refused).toEqual(["slow-request"]);
  });

  test("whose caller never ends it is cut after 30 s", async () => {
    const whole = Buffer.from([0, 0, 0, 0, 0]);
    const cut = timed(30_000, () => rawCall({ body: whole, neverEnds: true }));
    expect(await cut).toMatchObject({ rst: 11 });
    await served();
    expect(world.refused).toEqual(["slow-request"]);
  });

  test.each([
    ["headers", "POST / HTTP/1.1\r\nhost: localhost\r\nx: "],
    [
      "body of a trigger",
      "POST /hooks/default/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{",
    ],
    [
      "body",
      `POST ${PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    ],
  ])("over HTTP/1.1, in its %s, is answered 408", async (_, bytes) => {
    await start({ transportLimits: { firstMessageMs: 1_000, requestMs: 1_000 } });
    const socket = open();
    socket.write(bytes);
    const answer = answerOn(socket);
    await beside(answer);
    expect(await answer).toContain("408 Request Timeout");
    expect(world.refused).toEqual(["slow-request"]);
  });

  test("from 300 connections that say nothing, or half of a preface, closes them", async () => {
    await start({ transportLimits: { firstBytesMs: 300 } });
    const silent = Array.from({ length: 300 }, () => open().resume());
    for (const socket of silent.slice(150)) socket.write("PR");
    await beside(Promise.all(silent.map(closed)));
    expect(world.refused).toEqual(Array(300).fill("first-bytes"));
    expect(world.logged.filter((line) => line.includes("show its protocol"))).toHaveLength(1);
  });

  test("of a TLS handshake that stalls closes its connection", async () => {
    await start({ transportLimits: { tlsHandshakeMs: 300 } }, secure);
    const to = { port: world.port, host: "127.0.0.1", localAddress: ELSEWHERE };
    const silent = Array.from({ length: 50 }, () => connect(to).resume());
    // The head of a ClientHello that does not come.
    for (const socket of silent)
      socket.on("error", () => undefined).write("\x16\x03\x01\x02\x00\x01");
    await beside(Promise.all(silent.map(closed)));
    expect(new Set(world.refused)).toEqual(new Set(["handshake"]));
  });
});

describe("an answer that is not read", () => {
  const LIST = `/${SchedulerService.typeName}/ListRuns`;
  const large = runRecord({ workflow: "x".repeat(24 * 2 ** 20) });
  async function startTimed() {
    const { clock, move } = movedClock();
    await start({ clock, transportLimits: { connectionAgeMs: 10 ** 9 } });
    return move;
  }

  test("over gRPC, with a window of nothing, ends its call alone", async () => {
    const move = await startTimed();
    const stalled = session({ settings: { initialWindowSize: 0 } });
    const cut = rawCall({ path: LIST, body: EMPTY }, stalled);
    const other = rawCall({ path: "/drover.v1.SchedulerService/Nothing" }, stalled);
    expect(await other).toMatchObject({ code: 12 });
    await until("the answer waits", async () => {
      move(10_000);
      return world.refused.length > 0 || null;
    });
    expect(await cut).toMatchObject({ rst: 11 });
    await served();
    expect(world.refused).toEqual(["stalled-reader"]);
    expect(stalled.destroyed).toBe(false);
  });

  test("over HTTP/1.1 ends its connection", async () => {
    const move = await startTimed();
    world.lists.runs = async () => [large];
    const socket = open().pause();
    socket.write(
      `POST ${LIST} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
    );
    await until("the answer waits", async () => {
      await served();
      move(10_000);
      return world.refused.length > 0 || null;
    });
    await served();
    expect(world.refused).toEqual(["stalled-reader"]);
  });
});

describe("headers", () => {
  test("of 60 KB and of 200 KB, and 1,000 of them, are refused over HTTP/2", async () => {
    await start();
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`x-${n}`, "1"]));
    const attacks = [{ x: "x".repeat(60_000) }, { x: "x".repeat(200_000) }, many];
    const answers = Promise.all(
      attacks.map((headers) => {
        const on = session({ maxSendHeaderBlockLength: 2 ** 20 });
        return rawCall({ headers, body: EMPTY }, on);
      }),
    );
    await beside(answers);
    for (const { code, rst } of await answers) {
      expect(code).toBe(-1);
      expect(rst).not.toBe(0);
    }
  });

  test.each([
    ["of 60 KB", `x: ${"x".repeat(60_000)}\r\n`],
    ["of 200 KB", `x: ${"x".repeat(200_000)}\r\n`],
    ["in 1,000 pairs", "x: 1\r\n".repeat(1_000)],
  ])("%s are answered 431 over HTTP/1.1", async (_, headers) => {
    await start();
    const socket = open();
    socket.write(`GET /healthz HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`);
    const answer = answerOn(socket);
    await beside(answer);
    expect(await answer).toContain("431 ");
    expect(world.refused).toEqual(["headers"]);
  });

  test("and streams have limits that a client can read", async () => {
    await start();
    const read = session();
    const settings = await new Promise<http2.Settings>((seen) => read.once("remoteSettings", seen));
    expect(settings).toMatchObject({ maxHeaderListSize: 16_384, maxConcurrentStreams: 1_000 });
  });
});

describe("one address", () => {
  test("has so many connections and no more, and others are served", async () => {
    await start({ config: { connectionsPerPeerMax: 20 } });
    const many = Array.from({ length: 30 }, () => open().resume());
    await beside(refused("address-connections"));
    await until("the last is closed", () => many.filter((one) => one.closed).length === 10 || null);
    expect(world.logged.filter((line) => line.includes("--connections-per-address"))).toHaveLength(
      1,
    );
  });

  test("opens no more connections a second than a tenth of them", async () => {
    await start({ config: { connectionsPerPeerMax: 20 } });
    const comeAndGo = async () => {
      for (let n = 0; n < 30; n++) await closed(open().end().resume());
    };
    await beside(comeAndGo());
    expect(world.refused).toContain("connection-rate");
  });

  test("has so many streams on a connection, and another connection has its own", async () => {
    await start({ config: { streamsPerConnectionMax: 4 } });
    const full = session();
    await new Promise((seen) => full.once("remoteSettings", seen));
    const parked = Array.from({ length: 6 }, () =>
      full.request({ ":method": "POST", ":path": PATH, "content-type": "application/grpc" }),
    );
    for (const stream of parked) stream.on("error", () => undefined).resume();
    expect((await rawCall({ body: EMPTY })).code).toBe(INVALID);
    await served();
  });
});

describe("an old connection", () => {
  test("is closed between two calls, and none of them fails", async () => {
    await start({ transportLimits: { connectionAgeMs: 300, closingNoticeMs: 50 } });
    const agent = grpcClient(world.port, "127.0.0.1", { retries: true });
    const other = session();
    await rawCall({ body: EMPTY }, other);
    await beside(
      (async () => {
        while (!other.closed) expect((await agent.unary(getRun, { run })).code).toBe(0);
        for (let n = 0; n < 50; n++) expect((await agent.unary(getRun, { run })).code).toBe(0);
      })(),
    );
    agent.close();
    expect(world.refused).toEqual([]);
  });
});
