/** What an address may do: its connections, how fast it opens them, and how it is distrusted. */
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { guardForTest } from "../support/connection-guard.ts";
import { createServerClock } from "../support/server-clock.ts";

function from(remoteAddress: string): Socket {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: remoteAddress });
  return socket;
}

test("an address may have so many connections, and others have their own", () => {
  const { guard, refused } = guardForTest({ connectionsPerPeerMax: 20 });
  const sockets = Array.from({ length: 20 }, () => from("10.0.0.1"));
  expect(sockets.every(guard.admit)).toBe(true);
  const more = from("10.0.0.1");
  expect([guard.admit(more), more.destroyed]).toEqual([false, true]);
  expect(guard.admit(from("10.0.0.2"))).toBe(true);
  expect(refused).toEqual(["address-connections"]);
});

test("a connection that has closed makes room, but not faster than a tenth a second", () => {
  const clock = createServerClock();
  const { guard, refused } = guardForTest({ clock, connectionsPerPeerMax: 20 });
  const comeAndGo = () => {
    const socket = from("10.0.0.1");
    const admitted = guard.admit(socket);
    socket.emit("close");
    return admitted;
  };
  expect(Array.from({ length: 20 }, comeAndGo).every(Boolean)).toBe(true);
  expect(comeAndGo()).toBe(false);
  clock.advance(1_000);
  expect([comeAndGo(), comeAndGo(), comeAndGo()]).toEqual([true, true, false]);
  expect(refused).toEqual(["connection-rate", "connection-rate"]);
});

test("addresses of one IPv6 network are one peer, and IPv4 in IPv6 is IPv4", () => {
  const { guard } = guardForTest();
  const alike = (one: string, other: string) => {
    guard.distrust(one);
    return guard.isDistrusted(other);
  };
  expect(alike("2001:db8:1:2::9", "2001:db8:1:2:3:4:5:6")).toBe(true);
  expect(alike("2001:db8:1:3::9", "2001:db8:1:4::9")).toBe(false);
  expect(alike("2001:db8::", "2001:db8::1:2:3:4")).toBe(true);
  expect(alike("::1", "::2:0:0:0:1")).toBe(false);
  expect(alike("::ffff:10.0.0.1", "10.0.0.1")).toBe(true);
});

test("refusals are logged once a minute for each address and reason, with their count", () => {
  const clock = createServerClock();
  const { guard, warned, refused } = guardForTest({ clock });
  for (let n = 0; n < 5; n++) guard.refused("handshake", "10.0.0.1", "no shared cipher");
  guard.refused("handshake", "10.0.0.2");
  guard.refused("headers", "10.0.0.1");
  expect(warned).toEqual([
    "10.0.0.1 was refused: a TLS handshake failed (no shared cipher)",
    "10.0.0.2 was refused: a TLS handshake failed",
    "10.0.0.1 was refused: a request had headers that are too large or too many",
  ]);
  clock.advance(60_000);
  guard.refused("handshake", "10.0.0.1");
  expect(warned).toHaveLength(4);
  expect(refused).toHaveLength(8);
});

test("an HTTP/2 connection of a distrusted address begins a second late, unless it has gone", () => {
  const clock = createServerClock();
  const { guard } = guardForTest({ clock });
  const started: string[] = [];
  const accept = (name: string) => {
    const socket = from("10.0.0.1");
    guard.accept(socket, () => void started.push(name));
    return socket;
  };
  accept("before");
  guard.distrust("10.0.0.1");
  accept("after");
  const gone = accept("gone");
  expect(started).toEqual(["before"]);
  gone.emit("close");
  clock.advance(1_000);
  expect(started).toEqual(["before", "after"]);
});
