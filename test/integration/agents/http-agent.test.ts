/** Workflows in YAML alone over the http agent: a real server, a real service, no code. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { prepareAgent } from "../../../agents/run-agent.ts";
import { type StopTracing, startTracing } from "../../../agents/tracing.ts";
import { createAgent } from "../../../sdk/typescript/agent.ts";
import { createClient } from "../../../sdk/typescript/client.ts";
import type { StepSpec } from "../../../sdk/typescript/workflow.ts";
import { silentLog } from "../../support/agent-script.ts";
import { startDroverServer, type TestServer } from "../../support/drover-server.ts";
import { freeAddress } from "../../support/free-address.ts";
import { answerJson, type Respond, startHttpService } from "../../support/http-service.ts";
import { startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { until } from "../../support/until.ts";

const TOKEN = "t0ken-of-the-bookings";

let server: TestServer;
let folder: string;
let receiver: Awaited<ReturnType<typeof startOtlpReceiver>>;
let stopTracing: StopTracing;
beforeAll(async () => {
  stopTracing = startTracing("http", undefined);
  receiver = await startOtlpReceiver();
  const trace = { url: receiver.url, protocol: "http", ratio: 1 } as const;
  server = await startDroverServer(undefined, { trace });
  folder = mkdtempSync(join(tmpdir(), "drover-http-agent-"));
  writeFileSync(join(folder, "token"), `${TOKEN}\n`);
});
afterAll(async () => {
  await server.stop();
  await receiver.close();
  await stopTracing();
  rmSync(folder, { recursive: true });
});

let queues = 0;

/** A service, an agent that may call it, and runs of one step whose input has the service's URL. */
async function given(respond: Respond, more = "") {
  const service = await startHttpService(respond);
  const queue = `http-${++queues}`;
  const settings = `
agent: ${queue}
queues: [${queue}]
timeout: 5s
answer_bytes: 10000
hosts:
  - origin: ${service.origin}
    addresses: [127.0.0.1]
    secrets:
      token: { file: ${join(folder, "token")}, prefix: "Bearer " }
      key: { env: API_KEY }
${more}`;
  const prepared = await prepareAgent("http", settings, { API_KEY: "k3y-of-the-api" });
  if (prepared.kind === "bad") throw new Error(JSON.stringify(prepared.problems));
  const { address } = server;
  const client = createClient({ address });
  const { handler } = prepared.agent;
  const handlers = { http: handler };
  const agent = createAgent({ address, id: queue, queues: [queue], handlers, log: silentLog });
  agent.start();
  onTestFinished(async () => {
    await agent.stop();
    client.close();
  });
  const start = async (input: object, step: Partial<StepSpec> = {}, runInput: object = {}) => {
    const whole: StepSpec = { id: "call", task: "http", queue, input, ...step };
    const workflow = { workflow: "w", steps: [whole] };
    return (await client.schedule({ workflow, input: runInput })).runId;
  };
  const details = (runId: string) => client.getRun(runId, { attempts: true });
  const finished = async (runId: string) => {
    const run = await client.waitRun(runId);
    const { steps, attempts } = await details(runId);
    return { run, step: steps[0], attempts };
  };
  return { service, url: service.origin, client, start, finished, details };
}

const quick = { initial: "1ms", jitter: 0 } as const;
const key = "idempotency-key";

describe("a request", () => {
  test("is made of the step's input, and its answer is the output", async () => {
    const { url, service, start, finished } = await given((request, response) =>
      answerJson(response, 201, { id: 7, seat: JSON.parse(request.body).seat }, { etag: '"1"' }),
    );
    const runId = await start(
      {
        method: "PUT",
        url: `${url}/bookings`,
        path: ["${input.city}", "a/../b"],
        query: { class: "${input.class}", tag: ["x", "y"] },
        headers: { "x-team": "sea" },
        secrets: { authorization: "token" },
        body: { seat: "${input.seat}" },
      },
      {},
      { city: "São Paulo?", class: 2, seat: "12A" },
    );
    const { run, step } = await finished(runId);
    expect(run.state).toBe("COMPLETED");
    expect(step?.output).toEqual({
      status: 201,
      headers: { "content-type": "application/json", etag: '"1"' },
      body: { id: 7, seat: "12A" },
    });
    expect(service.requests).toMatchObject([
      {
        method: "PUT",
        url: "/bookings/S%C3%A3o%20Paulo%3F/a%2F..%2Fb?class=2&tag=x&tag=y",
        body: '{"seat":"12A"}',
        headers: {
          "x-team": "sea",
          authorization: `Bearer ${TOKEN}`,
          "content-type": "application/json",
          [key]: expect.stringMatching(/.{16}/),
          traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0\d$/),
        },
      },
    ]);
    expect(service.requests[0]?.headers.traceparent).toContain(runId.replaceAll("-", ""));
  });

  test("has an output by an expression, with every digit of a large number", async () => {
    const { url, start, finished } = await given((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"id": 9007199254740993, "cents": 5}');
    });
    const output = "{'id': response.body.id, 'cents': response.body.cents, 'for': key}";
    const { step, attempts } = await finished(await start({ method: "POST", url, output }));
    expect(step?.output).toMatchObject({ id: "9007199254740993", cents: 5 });
    expect(attempts).toHaveLength(1);
  });

  test("carries the same key at each attempt", async () => {
    const { url, service, start, finished } = await given((_request, response, count) => {
      if (count === 1) response.socket?.resetAndDestroy();
      else if (count === 2) answerJson(response, 500, {});
      else answerJson(response, 200, {});
    });
    const { run, attempts } = await finished(
      await start({ method: "POST", url }, { retry: { ...quick, attempts: 5 } }),
    );
    expect(run.state).toBe("COMPLETED");
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["UNKNOWN", "UNKNOWN", "SUCCESS"]);
    expect(new Set(service.requests.map(({ headers }) => headers[key])).size).toBe(1);
  });

  test("has the header that its host wants for the key", async () => {
    const { url, service, start, finished } = await given(
      (_request, response) => answerJson(response, 200, {}),
      "    idempotency_header: X-Request-Id",
    );
    await finished(await start({ method: "POST", url }));
    expect(service.requests[0]?.headers).toHaveProperty("x-request-id");
    expect(service.requests[0]?.headers).not.toHaveProperty(key);
  });

  test("may be a form", async () => {
    const { url, service, start, finished } = await given((_request, response) =>
      answerJson(response, 200, {}),
    );
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    await finished(await start({ url, headers, body: { a: "1 & 2", b: 3 } }));
    expect(service.requests[0]).toMatchObject({ method: "POST", body: "a=1+%26+2&b=3" });
  });
});

describe("an answer", () => {
  test.for<[status: number, outcome: string, code: string]>([
    [400, "FAILURE", "http-400"],
    [404, "FAILURE", "http-404"],
    [422, "FAILURE", "http-422"],
    [408, "UNKNOWN", "http-408"],
    [500, "UNKNOWN", "http-500"],
    [503, "UNKNOWN", "http-503"],
    [504, "UNKNOWN", "http-504"],
    [302, "UNKNOWN", "http-302"],
    [308, "FAILURE", "http-308"],
  ])("of %i to a POST is %s, and not repeated", async ([status, outcome, code]) => {
    const { url, start, finished, service, client } = await given((_request, response) =>
      answerJson(response, status, { why: "no seats" }, { location: "/elsewhere" }),
    );
    const runId = await start({ method: "POST", url }, { effects: "once" });
    if (outcome === "FAILURE") {
      const { attempts, run, step } = await finished(runId);
      expect(run.state).toBe("FAILED");
      expect(step?.error?.code).toBe(code);
      expect(step?.error?.message).toContain(`answered ${status}: {"why":"no seats"}`);
      expect(attempts).toMatchObject([{ outcome }]);
    } else {
      for await (const { run } of client.watchRun(runId)) if (run.state === "ESCALATED") break;
      const { attempts } = await client.getRun(runId, { attempts: true });
      expect(attempts).toMatchObject([{ outcome }]);
    }
    expect(service.requests).toHaveLength(1);
  });

  test.for([429, 503])("of %i is tried again when the service says", async (status) => {
    const { url, start, finished, service } = await given((_request, response, count) =>
      count === 1
        ? answerJson(response, status, {}, { "retry-after": "1" })
        : answerJson(response, 200, {}),
    );
    const step = { effects: "once", retry: { ...quick, attempts: 2 } } as const;
    const begun = performance.now();
    const { run, attempts } = await finished(await start({ method: "POST", url }, step));
    expect(run.state).toBe("COMPLETED");
    expect(performance.now() - begun).toBeGreaterThan(950);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["FAILURE", "SUCCESS"]);
    expect(service.requests).toHaveLength(2);
  });

  test("that never comes leaves a POST unknown, and a GET to be tried again", async () => {
    const { url, start, finished, client } = await given((request, response, count) => {
      if (request.method === "GET" && count > 2) answerJson(response, 200, {});
    });
    const timeout = "1s";
    const post = await start({ method: "POST", url, timeout }, { effects: "once" });
    for await (const { run } of client.watchRun(post)) if (run.state === "ESCALATED") break;
    const { attempts } = await client.getRun(post, { attempts: true });
    expect(attempts).toMatchObject([{ outcome: "UNKNOWN", failure: { code: "timeout" } }]);
    const retry = { ...quick, attempts: 10 };
    const get = await finished(await start({ url, timeout }, { effects: "once", retry }));
    expect(get.run.state).toBe("COMPLETED");
    expect(get.attempts[0]).toMatchObject({ outcome: "FAILURE", failure: { code: "timeout" } });
  });

  test("larger than may be is done, and its output is lost: the step is undone", async () => {
    const { url, start, finished, service } = await given((request, response) => {
      if (request.method === "DELETE") response.writeHead(204).end();
      else answerJson(response, 200, { large: "x".repeat(20_000) });
    });
    const input = { method: "POST", url, undo: { method: "DELETE", url } };
    const { run, step } = await finished(await start(input, { compensate: "http" }));
    expect(run.state).toBe("COMPENSATED");
    expect(step?.error?.code).toBe("drover.output");
    expect(service.requests.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
  });
});

test("a service that is not among the hosts is not called", async () => {
  const { start, details } = await given(() => undefined);
  const origin = `http://${await freeAddress()}`;
  const runId = await start({ method: "POST", url: origin }, { effects: "once" });
  const { attempts } = await until("the attempt has ended", async () => {
    const found = await details(runId);
    return found.attempts.some(({ outcome }) => outcome === "FAILURE") ? found : null;
  });
  // It is not among the hosts, which is found first.
  expect(attempts).toMatchObject([{ failure: { code: "host-not-allowed" } }]);
});

describe("202", () => {
  const accepted = { location: "/jobs/1", "retry-after": "0" };

  test("is followed until the result is there; no attempt is counted, and nothing is sent again", async () => {
    const { url, start, finished, service } = await given((request, response, count) => {
      if (request.method === "POST") answerJson(response, 202, {}, accepted);
      else if (count < 3) answerJson(response, 202, {}, { "retry-after": "0" });
      else if (count < 4) answerJson(response, 503, {});
      else if (request.url === "/jobs/1") response.writeHead(303, { location: "/videos/9" }).end();
      else answerJson(response, 200, { video: 9 });
    });
    const input = {
      method: "POST",
      url,
      body: { a: 1 },
      secrets: { authorization: "token" },
      output: "response.body.video",
      poll: { every: "100ms" },
    };
    const step = { effects: "once", retry: { attempts: 1 } } as const;
    const { run, attempts, step: ended } = await finished(await start(input, step));
    expect(run.state).toBe("COMPLETED");
    expect(ended?.output).toBe(9);
    expect(new Set(attempts.map(({ attempt }) => attempt)).size).toBe(1);
    expect(service.requests.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
      "POST /",
      "GET /jobs/1",
      "GET /jobs/1",
      "GET /jobs/1",
      "GET /videos/9",
    ]);
    const [, poll] = service.requests;
    expect(poll?.headers).toMatchObject({ authorization: `Bearer ${TOKEN}` });
    expect(poll?.headers).not.toHaveProperty(key);
    expect(poll?.headers).not.toHaveProperty("content-length");
  });

  test("with a Location on another host is not followed", async () => {
    const { url, start, client, service } = await given((_request, response) =>
      answerJson(response, 202, {}, { location: "http://169.254.169.254/latest" }),
    );
    const runId = await start({ method: "POST", url }, { effects: "once" });
    for await (const { run } of client.watchRun(runId)) if (run.state === "ESCALATED") break;
    const { attempts } = await client.getRun(runId, { attempts: true });
    expect(attempts).toMatchObject([{ failure: { code: "location-elsewhere" } }]);
    expect(service.requests).toHaveLength(1);
  });
});

describe("an attempt whose answer was lost", () => {
  const input = (url: string) => ({
    method: "POST",
    url: `${url}/charges`,
    output: "response.body.id",
    verify: {
      url: `${url}/charges`,
      compute: { query: "{'key': key}" },
      did: "size(response.body.found) == 1",
      did_not: "size(response.body.found) == 0",
      output: "response.body.found[0].id",
    },
  });
  const step = {
    effects: "verifiable",
    verify: { task: "http", retry: quick },
    retry: quick,
  } as const;

  test("is found by the verify request, under the key of the effect", async () => {
    const { url, start, finished, service } = await given((request, response) => {
      if (request.method === "POST") response.socket?.resetAndDestroy();
      else answerJson(response, 200, { found: [{ id: "c-1" }] });
    });
    const { step: ended, attempts } = await finished(await start(input(url), step));
    expect(ended).toMatchObject({ state: "SUCCEEDED", output: "c-1" });
    expect(attempts.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ["PERFORM", "UNKNOWN"],
      ["VERIFY", "SUCCESS"],
    ]);
    const [post, get] = service.requests;
    expect(get?.url).toBe(`/charges?key=${encodeURIComponent(String(post?.headers[key]))}`);
    expect(get?.headers["drover-effect-key"]).toBe(post?.headers[key]);
    expect(get?.headers).not.toHaveProperty(key);
  });

  test("that did not happen is made again; one that cannot be found out is asked again", async () => {
    let posts = 0;
    const { url, start, finished } = await given((request, response, count) => {
      if (request.method === "POST" && ++posts === 1) response.socket?.resetAndDestroy();
      else if (request.method === "POST") answerJson(response, 201, { id: "c-2" });
      else if (count === 2) answerJson(response, 503, {});
      else answerJson(response, 200, { found: [] });
    });
    const { attempts, step: ended } = await finished(await start(input(url), step));
    expect(ended?.output).toBe("c-2");
    expect(attempts.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ["PERFORM", "UNKNOWN"],
      ["VERIFY", "UNKNOWN"],
      ["VERIFY", "FAILURE"],
      ["PERFORM", "SUCCESS"],
    ]);
  });
});

test("an undo knows the output and the key of the effect, and has a key of its own", async () => {
  const { url, client, service } = await given((request, response) => {
    if (request.url === "/fail") answerJson(response, 422, {});
    else if (request.method === "POST") answerJson(response, 201, { id: "a/b" });
    else response.writeHead(410).end();
  });
  const queue = `http-${queues}`;
  const undo = {
    method: "DELETE",
    url: `${url}/bookings`,
    compute: { path: "[output.body.id]", query: "{'booked': key}" },
    answers: [{ status: [404, 410], outcome: "success" }],
  };
  const steps: StepSpec[] = [
    {
      id: "book",
      task: "http",
      queue,
      input: { method: "POST", url: `${url}/bookings`, undo },
      compensate: { task: "http" },
    },
    {
      id: "fail",
      needs: ["book"],
      task: "http",
      queue,
      input: { method: "POST", url: `${url}/fail` },
    },
  ];
  const { runId } = await client.schedule({ workflow: { workflow: "w", steps } });
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPENSATED" });
  const [post, , undone] = service.requests;
  expect(undone?.url).toBe(
    `/bookings/a%2Fb?booked=${encodeURIComponent(String(post?.headers[key]))}`,
  );
  expect(undone?.headers["drover-effect-key"]).toBe(post?.headers[key]);
  expect(undone?.headers[key]).not.toBe(post?.headers[key]);
});

test("a cancelled run ends the request", async () => {
  let isClosed = false;
  const { url, start, client, service } = await given((_request, response) => {
    response.once("close", () => {
      isClosed = true;
    });
  });
  const input = { method: "POST", url, timeout: "1m" };
  const runId = await start(input, { timeouts: { heartbeat: "3s" } });
  await until("the request has come", () => service.requests[0] ?? null);
  await client.cancelRun(runId);
  await until("the connection is closed", () => isClosed || null);
  expect(await client.waitRun(runId)).toMatchObject({ state: "CANCELLED" });
});

describe("an input is refused before anything is sent", () => {
  test.for<[what: string, input: (url: string) => object, message: RegExp]>([
    ["without a URL", () => ({ method: "POST" }), /url is missing/],
    ["with an unknown key", (url) => ({ url, metod: "POST" }), /metod.*did you mean "method"/],
    [
      "with a host that is not listed",
      () => ({ url: "https://evil.example/" }),
      /may not call https:\/\/evil\.example/,
    ],
    ["with the same host on another port", () => ({ url: "http://127.0.0.1:1/" }), /may not call/],
    ["with another scheme", () => ({ url: "file:///etc/passwd" }), /may not call/],
    [
      "with a password in its URL",
      (url) => ({ url: url.replace("//", "//u:p@") }),
      /user or a password/,
    ],
    ["with a path that leads elsewhere", (url) => ({ url, path: [".."] }), /no name of a resource/],
    [
      "with a header of the agent",
      (url) => ({ url, headers: { Host: "x" } }),
      /sets Host by itself/,
    ],
    ["with a key of its own", (url) => ({ url, headers: { "Idempotency-Key": "x" } }), /by itself/],
    [
      "with a line break in a header",
      (url) => ({ url, headers: { a: "b\r\nc: d" } }),
      /characters/,
    ],
    [
      "with a secret that its host has not",
      (url) => ({ url, secrets: { a: "other" } }),
      /no secret "other"/,
    ],
    ["with a mistaken expression", (url) => ({ url, output: "response.bod" }), /output: .*bod/],
    ["with an undo that is mistaken", (url) => ({ url, undo: { method: "KILL" } }), /undo\.method/],
  ])("%s", async ([, input, message]) => {
    const { url, start, finished, service } = await given((_request, response) =>
      answerJson(response, 200, {}),
    );
    const { run, step } = await finished(await start(input(url)));
    expect(run.state).toBe("FAILED");
    expect(step?.error?.message).toMatch(message);
    expect(service.requests).toHaveLength(0);
  });
});

test("what a run's input says is data: neither an expression nor a secret", async () => {
  const { url, service, start, finished } = await given((_request, response) =>
    answerJson(response, 200, {}),
  );
  const hostile = {
    note: "${secret:token} $${key}",
    nested: { secret: "token", expression: "key" },
  };
  const body = { note: "${input.note}", nested: "${input.nested}" };
  await finished(await start({ url, body }, {}, hostile));
  expect(JSON.parse(service.requests[0]?.body ?? "")).toEqual(hostile);
});

test("a secret that a service repeats is in no output, failure, or line of a log", async () => {
  const echo =
    (status: number): Respond =>
    (request, response) => {
      const { authorization = "", "x-api-key": api } = request.headers;
      const encoded = Buffer.from(authorization.slice(7)).toString("base64");
      const body = { authorization, [String(api)]: encodeURIComponent(TOKEN), encoded };
      answerJson(response, status, body, { etag: authorization });
    };
  for (const status of [200, 422]) {
    const { url, client, start, finished } = await given(echo(status));
    const secrets = { Authorization: "token", "X-Api-Key": "key" };
    const runId = await start({ url, method: "POST", secrets });
    const found = await finished(runId);
    const lines = await client.getRun(runId, { attempts: true, escalations: true });
    const all = inspect([found, lines], { depth: 20 });
    expect(all).toContain("[secret token]");
    for (const secret of [TOKEN, "k3y-of-the-api", Buffer.from(TOKEN).toString("base64")])
      expect(all).not.toContain(secret.replace(/=+$/, ""));
  }
});
