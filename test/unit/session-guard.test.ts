/** What an HTTP/2 connection may cancel, send without calls, and hold, and when it is closed. */
import { EventEmitter } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import { expect, test } from "vitest";
import {
  createSessionGuard,
  type GuardedStream,
} from "../../server/api/transport/session-guard.ts";
import { guardForTest } from "../support/connection-guard.ts";
import { createServerClock } from "../support/server-clock.ts";

const CANCEL = 8;
const MESSAGE_BYTES = 1_000_000;
/** No jitter. */
const random = { fraction: () => 0.5 };

function world() {
  const clock = createServerClock();
  const { guard, warned, refused } = guardForTest({ clock });
  const sessions = createSessionGuard({ clock, random, guard, messageBytesMax: MESSAGE_BYTES });

  /** A connection of an address. */
  const session = (remoteAddress: string) => {
    const done: string[] = [];
    const one = Object.assign(new EventEmitter(), {
      destroyed: false,
      socket: { remoteAddress, remotePort: 1, bytesRead: 0 },
      goaway: () => void done.push("goaway"),
      close: () => void done.push("close"),
      destroy() {
        one.destroyed = true;
      },
    });
    sessions.begin(one as unknown as ServerHttp2Session);
    /** A stream that stays open. */
    const open = (of: Partial<GuardedStream> = {}, isOpenEnded = false) => {
      const stream = Object.assign(new EventEmitter(), {
        session: one as never,
        closed: false,
        rstCode: 0,
        readableEnded: true,
        readableDidRead: true,
        writableLength: 0,
        cuts: 0,
        close: () => {
          stream.cuts++;
        },
        ...of,
      });
      sessions.opened(stream, isOpenEnded);
      return stream;
    };
    const streams = (count: number, end: Partial<GuardedStream> = {}) => {
      for (let n = 0; n < count; n++) {
        const reset = { closed: true, rstCode: CANCEL, readableEnded: false };
        open({ ...reset, ...end }).emit("close");
      }
    };
    const frames = (count: number, name = "ping") => {
      for (let n = 0; n < count; n++) one.emit(name);
    };
    return { open, streams, frames, socket: one.socket, done, isClosed: () => one.destroyed };
  };
  const pass = (ms: number) => {
    clock.advance(ms);
    sessions.check();
  };
  return { clock, guard, sessions, session, pass, warned, refused };
}

test("a connection may cancel a hundred streams, and ten more each second", () => {
  const { clock, session, warned } = world();
  const one = session("10.0.0.1");
  one.streams(100);
  expect(one.isClosed()).toBe(false);
  clock.advance(1_000);
  one.streams(10);
  expect(one.isClosed()).toBe(false);
  one.streams(1);
  expect(one.isClosed()).toBe(true);
  expect(warned).toHaveLength(1);
});

test("calls that were answered, or cancelled once their request had arrived, are not counted", () => {
  const { session } = world();
  const one = session("10.0.0.1");
  one.streams(500, { rstCode: 0 });
  one.streams(500, { readableEnded: true });
  expect(one.isClosed()).toBe(false);
});

test("streams of one read are counted before any event is received", () => {
  const { session } = world();
  const one = session("10.0.0.1");
  const reset = { closed: true, rstCode: CANCEL, readableEnded: false, once: () => undefined };
  for (let n = 0; n < 128; n++) one.open(reset as never);
  expect(one.isClosed()).toBe(true);
});

test("a distrusted address may cancel ten streams of a connection, for a minute", () => {
  const { clock, session } = world();
  session("10.0.0.1").streams(101);
  const same = session("10.0.0.1");
  const other = session("10.0.0.2");
  same.streams(11);
  other.streams(11);
  expect([same.isClosed(), other.isClosed()]).toEqual([true, false]);
  clock.advance(60_001);
  const later = session("10.0.0.1");
  later.streams(11);
  expect(later.isClosed()).toBe(false);
});

test.each(["ping", "remoteSettings"])(
  "a connection may send a hundred %s frames, and one more each second",
  (name) => {
    const { clock, session, refused, guard } = world();
    const one = session("10.0.0.1");
    one.frames(100, name);
    clock.advance(1_000);
    one.frames(1, name);
    expect(one.isClosed()).toBe(false);
    one.frames(1, name);
    expect(one.isClosed()).toBe(true);
    expect(refused).toEqual(["control-frames"]);
    expect(guard.isDistrusted("10.0.0.1")).toBe(true);
  },
);

test("each call, and each message of a stream, allows one more ping", () => {
  const { session, sessions } = world();
  const one = session("10.0.0.1");
  one.frames(100);
  for (let n = 0; n < 500; n++) {
    one.streams(1, { rstCode: 0 });
    one.frames(1);
    sessions.answered("10.0.0.1:1");
    one.frames(1);
  }
  expect(one.isClosed()).toBe(false);
  one.frames(1);
  expect(one.isClosed()).toBe(true);
});

test("bytes that belong to no call close a connection, and those of large messages do not", () => {
  const { session, pass, refused } = world();
  const good = session("10.0.0.1");
  const bad = session("10.0.0.2");
  for (let n = 0; n < 8; n++) good.open();
  good.socket.bytesRead = 8 * MESSAGE_BYTES;
  bad.socket.bytesRead = 1_024 * 1_024;
  pass(2_000);
  expect([good.isClosed(), bad.isClosed()]).toEqual([false, false]);
  bad.socket.bytesRead += 200_000;
  pass(2_000);
  expect([good.isClosed(), bad.isClosed()]).toEqual([false, true]);
  expect(refused).toEqual(["surplus-bytes"]);
});

test("a request may take 10 s until it begins and 30 s in all; a parked poll may take longer", () => {
  const { session, pass, refused } = world();
  const one = session("10.0.0.1");
  const poll = one.open();
  const silent = one.open({ readableEnded: false, readableDidRead: false });
  const slow = one.open({ readableEnded: false });
  const chat = one.open({ readableEnded: false }, true);
  const cut = () => [poll, silent, slow, chat].map(({ cuts }) => cuts);
  pass(0);
  pass(9_999);
  expect(cut()).toEqual([0, 0, 0, 0]);
  pass(1);
  expect(cut()).toEqual([0, 1, 0, 0]);
  silent.emit("close");
  pass(20_000);
  expect(cut()).toEqual([0, 1, 1, 0]);
  slow.emit("close");
  pass(60_000);
  expect(cut()).toEqual([0, 1, 1, 0]);
  expect(refused).toEqual(["slow-request", "slow-request"]);
  expect(one.isClosed()).toBe(false);
});

test("a call whose answer is not read for 30 s is cut, and its connection if that is not read", () => {
  const { session, pass, refused } = world();
  const one = session("10.0.0.1");
  const slow = one.open({ writableLength: 900 });
  const stalled = one.open({ writableLength: 500 });
  pass(2_000);
  pass(20_000);
  Object.assign(slow, { writableLength: 800 });
  pass(10_000);
  expect([slow.cuts, stalled.cuts]).toEqual([0, 1]);
  expect(one.isClosed()).toBe(false);
  pass(2_000);
  expect(one.isClosed()).toBe(true);
  expect(refused).toEqual(["stalled-reader"]);
});

test("an old connection is closed when its last call ends, with a notice", () => {
  const { clock, session, pass } = world();
  const one = session("10.0.0.1");
  const poll = one.open();
  pass(600_000);
  expect(one.done).toEqual([]);
  poll.emit("close");
  expect(one.done).toEqual(["goaway"]);
  const raced = one.open();
  clock.advance(1_000);
  expect(one.done).toEqual(["goaway", "close"]);
  raced.emit("close");
  expect(one.isClosed()).toBe(false);
});

test("an old connection that always has calls is asked to open no more", () => {
  const { session, pass } = world();
  const one = session("10.0.0.1");
  const watch = one.open();
  pass(669_999);
  expect(one.done).toEqual([]);
  pass(1);
  pass(1_000);
  expect(one.done).toEqual(["goaway", "close"]);
  expect([watch.cuts, one.isClosed()]).toEqual([0, false]);
});

test("a connection that has had no calls for 15 minutes is closed", () => {
  const clock = createServerClock();
  const { guard } = guardForTest({ clock, limits: { connectionAgeMs: 10 ** 9 } });
  const sessions = createSessionGuard({ clock, random, guard, messageBytesMax: MESSAGE_BYTES });
  const sent: string[] = [];
  const idle = Object.assign(new EventEmitter(), {
    destroyed: false,
    socket: { remoteAddress: "10.0.0.1", remotePort: 1, bytesRead: 0 },
    goaway: () => void sent.push("goaway"),
    close: () => undefined,
  });
  sessions.begin(idle as unknown as ServerHttp2Session);
  sessions.check();
  clock.advance(899_999);
  sessions.check();
  expect(sent).toEqual([]);
  clock.advance(1);
  sessions.check();
  expect(sent).toEqual(["goaway"]);
});
