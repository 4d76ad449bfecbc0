// A page from elsewhere, in the browser of the machine that a server without tokens runs on.
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorld, type World } from "./rpc-world.ts";

const LIST = "/drover.v1.SchedulerService/ListRuns";
let world: World;
beforeAll(async () => {
  world = await startWorld({ config: { hostNames: ["drover.example"] } });
});
afterAll(() => world.close());

function call(headers: Readonly<Record<string, string>>, path = LIST): Promise<number> {
  return new Promise((resolve, reject) => {
    const more = path === LIST ? { "content-type": "application/json" } : {};
    const method = path === LIST ? "POST" : "GET";
    const to = { host: "127.0.0.1", port: world.port, path, method };
    const sent = request({ ...to, headers: { ...more, ...headers } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end(path === LIST ? "{}" : undefined);
  });
}

describe("a call is answered under", () => {
  test.each(["127.0.0.1", "localhost", "drover.localhost", "[::1]", "drover.example"])(
    "%s",
    async (name) => {
      const host = `${name}:${world.port}`;
      expect(await call({ host })).toBe(200);
      expect(await call({ host, origin: `http://${host}` })).toBe(200);
    },
  );
});

describe("a call is refused", () => {
  test.each([
    ["under a name that resolves to loopback", { host: "rebound.example" }],
    ["of a page from elsewhere", { host: "localhost", origin: "https://elsewhere.example" }],
    ["of a page on another port", { host: "localhost:1", origin: "http://localhost:2" }],
    ["of a page that sends no origin", { host: "localhost", origin: "null" }],
  ])("%s", async (_name, headers) => {
    expect(await call(headers)).toBe(403);
  });

  test("and so is every page", async () => {
    const host = "rebound.example";
    expect(await call({ host }, "/")).toBe(403);
    expect(await call({ host }, "/metrics")).toBe(403);
    expect(await call({ host }, "/healthz")).toBe(403);
  });
});
