/** What a connection may cancel before its requests have arrived. */
import { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { createResetGuard, type GuardedStream } from "../../server/api/transport/reset-guard.ts";
import { createServerClock } from "../support/server-clock.ts";

const CANCEL = 8;

function world() {
  const clock = createServerClock();
  const warned: string[] = [];
  const warn = (_fields: object, text: string) => void warned.push(text);
  const log = { info: warn, warn, error: warn };
  const guard = createResetGuard(clock, log);
  /** A connection of an address, which opens streams that end as given. */
  const session = (remoteAddress: string) => {
    const one = {
      destroyed: false,
      socket: { remoteAddress },
      destroy() {
        one.destroyed = true;
      },
    };
    const streams = (count: number, end: Partial<GuardedStream> = {}) => {
      for (let n = 0; n < count; n++) {
        const stream = Object.assign(new EventEmitter(), {
          session: one,
          closed: true,
          rstCode: CANCEL,
          readableEnded: false,
          ...end,
        });
        guard.opened(stream);
        stream.emit("close");
      }
    };
    return { streams, isClosed: () => one.destroyed };
  };
  return { clock, guard, session, warned };
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
  one.streams(128, { once: () => undefined });
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

test("a connection of a distrusted address begins a second late, unless it has gone by then", () => {
  const { clock, guard, session } = world();
  const started: string[] = [];
  const accept = (name: string) => {
    const socket = new Socket();
    Object.defineProperty(socket, "remoteAddress", { value: "10.0.0.1" });
    guard.accept(socket, () => void started.push(name));
    return socket;
  };
  accept("before");
  session("10.0.0.1").streams(101);
  accept("after");
  const gone = accept("gone");
  expect(started).toEqual(["before"]);
  gone.emit("close");
  clock.advance(1_000);
  expect(started).toEqual(["before", "after"]);
});
