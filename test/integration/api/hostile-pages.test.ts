import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { ConnectionGuard } from "../../../server/api/transport/connection-guard.ts";
import { createPagesPort } from "../../../server/api/transport/pages.ts";
import { systemClock } from "../../../server/clock.ts";
import type { TlsConfig } from "../../../server/tls-config.ts";
import { guardForTest } from "../../support/connection-guard.ts";
import { until } from "../../support/until.ts";

import { answerOn, closed, ELSEWHERE, secure, sockets, useHostileWorld } from "./hostile-world.ts";

useHostileWorld();

describe("the pages of a supervisor", () => {
  const ok = { status: 200, contentType: "text/plain", body: "fine" };

  async function serve(guard: ConnectionGuard, tls: TlsConfig | null = null) {
    const at = { host: "127.0.0.1", port: 0, tls };
    const log = { info: () => {}, warn: () => {}, error: () => {} };
    const port = createPagesPort({ "/ok": async () => ok }, at, { guard, clock: systemClock, log });
    pages.push(port);
    return (await port.start()).port;
  }
  const pages: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const port of pages.splice(0)) await port.stop();
  });

  const to = (port: number) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: ELSEWHERE });
    sockets.push(socket);
    return socket.on("error", () => undefined);
  };
  const good = async (port: number) => {
    expect(await (await fetch(`http://127.0.0.1:${port}/ok`)).text()).toBe("fine");
  };

  test.each([
    ["slow headers", "GET /ok HTTP/1.1\r\nhost: x\r\n", "408", "slow-request"],
    [
      "1,000 headers",
      `GET /ok HTTP/1.1\r\nhost: x\r\n${"x: 1\r\n".repeat(1_000)}\r\n`,
      "431",
      "headers",
    ],
  ])("refuse %s", async (_, bytes, status, reason) => {
    const limits = { firstMessageMs: 500, requestMs: 500, checkEveryMs: 20 };
    const { guard, refused } = guardForTest({ limits });
    const port = await serve(guard);
    const socket = to(port);
    socket.write(bytes);
    const answer = answerOn(socket);
    await good(port);
    expect(await answer).toContain(status);
    await good(port);
    expect(refused).toEqual([reason]);
  });

  test("refuse more connections of an address than it may have", async () => {
    const { guard, refused } = guardForTest({ connectionsPerPeerMax: 10 });
    const port = await serve(guard);
    const many = Array.from({ length: 15 }, () => to(port).resume());
    await until("five are closed", () => many.filter((one) => one.closed).length === 5 || null);
    await good(port);
    expect(refused).toEqual(Array(5).fill("address-connections"));
  });

  test("close a TLS handshake that stalls", async () => {
    const { guard, refused } = guardForTest({ limits: { tlsHandshakeMs: 200 } });
    const port = await serve(guard, secure.tls);
    await closed(to(port).resume());
    expect(refused).toEqual(["handshake"]);
  });
});
