/** One request over real sockets: whether a byte of it may have been received is always known. */
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Exchange } from "../../../agents/http/exchange.ts";
import { hostsOf, type Resolve } from "../../../agents/http/hosts.ts";
import { follow } from "../../../agents/http/redirects.ts";
import type { HostSettings } from "../../../agents/http/settings.ts";
import { createCertificates } from "../../support/certificates.ts";
import { freeAddress } from "../../support/free-address.ts";
import { answerJson, type Respond, startHttpService } from "../../support/http-service.ts";
import { until } from "../../support/until.ts";

const LOOPBACK = { addresses: ["127.0.0.0/8"] };
const LIMITS = { timeoutMs: 20_000, connectMs: 5_000, bytesMax: 1_000 };

interface Given {
  readonly host?: Partial<HostSettings>;
  readonly limits?: Partial<typeof LIMITS>;
  readonly signal?: AbortSignal;
  readonly resolve?: Resolve;
  readonly method?: string;
  readonly redirects?: number;
}

function send(url: string, given: Given = {}) {
  const { host = LOOPBACK, limits, resolve, method = "POST", redirects = 0 } = given;
  const { signal = new AbortController().signal } = given;
  const { origin } = new URL(url);
  const settings = { agent: "a", hosts: [{ origin, ...host }] };
  const allowed = hostsOf(settings, resolve).get(origin);
  if (!allowed) throw new Error(origin);
  const body = method === "POST" ? Buffer.from("{}") : null;
  const sent = { method, url: new URL(url), headers: { "x-secret": "s3cret-value" }, body };
  return follow({ host: allowed, sent }, redirects, { ...LIMITS, ...limits }, signal);
}

async function exchanged(respond: Respond, given: Given = {}): Promise<Exchange> {
  const { origin } = await startHttpService(respond);
  return (await send(`${origin}/x`, given)).exchange;
}

/** Resolves every name as the test says, a list for each call; the last one stays. */
function resolving(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const resolve = (name: string, _options: object, callback: (...all: unknown[]) => void) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(name);
    const found: LookupAddress[] = addresses.map((address) => ({
      address,
      family: address.includes(":") ? 6 : 4,
    }));
    callback(null, found);
  };
  return { asked, resolve: resolve as unknown as Resolve };
}

describe("nothing was sent", () => {
  test("where the connection is refused", async () => {
    const { exchange: found } = await send(`http://${await freeAddress()}/`);
    expect(found).toMatchObject({ kind: "not-sent", code: "connection-refused", isFinal: false });
  });

  test("where the name has no address", async () => {
    const { exchange: found } = await send("http://no-such-host.invalid/", { host: {} });
    expect(found).toMatchObject({ kind: "not-sent", code: "name-not-found" });
  });

  test("where the connection is not made in time", async () => {
    const never = (() => undefined) as unknown as Resolve;
    const slow = { host: {}, resolve: never, limits: { connectMs: 20 } };
    const { exchange: found } = await send("http://slow.example/", slow);
    expect(found).toMatchObject({ kind: "not-sent", code: "connect-timeout" });
  });

  test("where the task is stopped before", async () => {
    const found = await exchanged(() => undefined, { signal: AbortSignal.abort() });
    expect(found).toEqual({ kind: "stopped", isSent: false });
  });
});

describe("it may have been received", () => {
  test("where the connection is reset before the answer", async () => {
    const found = await exchanged((_request, response) => response.socket?.resetAndDestroy());
    expect(found).toMatchObject({ kind: "no-answer", code: "connection-lost" });
  });

  test("where the connection is closed while the request is read", async () => {
    const server = createServer((socket) => socket.once("data", () => socket.end()));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const { exchange: found } = await send(`http://127.0.0.1:${port}/`);
    expect(found).toMatchObject({ kind: "no-answer", code: "connection-lost" });
  });

  test("where no answer comes in time", async () => {
    const found = await exchanged(() => undefined, { limits: { timeoutMs: 1_000 } });
    expect(found).toMatchObject({ kind: "no-answer", code: "timeout" });
  });

  test("where the task is stopped meanwhile, and then the connection is closed", async () => {
    const stop = new AbortController();
    let isClosed = false;
    const found = await exchanged(
      (_request, response) => {
        response.once("close", () => {
          isClosed = true;
        });
        stop.abort();
      },
      { signal: stop.signal },
    );
    expect(found).toEqual({ kind: "stopped", isSent: true });
    await until("the service sees the end", () => isClosed || null);
  });

  test("where what comes is no HTTP", async () => {
    const found = await exchanged((_request, { socket }) => socket?.end("hello\r\n\r\n"));
    expect(found).toMatchObject({ kind: "no-answer", code: "connection-lost" });
  });
});

describe("of an answer", () => {
  test("the body is read to its end", async () => {
    const found = await exchanged((_request, response) => answerJson(response, 201, { id: 1 }));
    expect(found).toMatchObject({ kind: "answered", answer: { status: 201, lacks: null } });
  });

  test("the status counts although the connection is reset half-way", async () => {
    const found = await exchanged((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.socket?.resetAndDestroy());
    });
    expect(found).toMatchObject({ answer: { status: 200, lacks: "cut" } });
  });

  test("the status counts although the body stops coming", async () => {
    const found = await exchanged(
      (_request, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("half");
      },
      { limits: { timeoutMs: 1_000 } },
    );
    expect(found).toMatchObject({ answer: { status: 200, lacks: "cut" } });
  });

  test("no more is read than may be", async () => {
    const found = await exchanged((_request, response) => {
      response.writeHead(200);
      const flood = () => {
        while (!response.destroyed && response.write("x".repeat(10_000)));
        response.once("drain", flood);
      };
      flood();
    });
    expect(found).toMatchObject({ answer: { status: 200, lacks: "too-large" } });
    if (found.kind === "answered") expect(found.answer.bytes).toHaveLength(1_000);
  });

  test("a body with an encoding that was not asked for is not read", async () => {
    const found = await exchanged((request, response) => {
      expect(request.headers["accept-encoding"]).toBeUndefined();
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end("bytes");
    });
    expect(found).toMatchObject({ answer: { lacks: "encoded" } });
  });

  test("a head of any size is not read", async () => {
    const found = await exchanged((_request, response) => {
      response.writeHead(200, { "x-large": "x".repeat(100_000) });
      response.end();
    });
    expect(found).toMatchObject({ kind: "no-answer" });
  });
});

describe("addresses", () => {
  test.for(["127.0.0.1", "169.254.169.254", "::1", "0.0.0.0"])(
    "a name that is %s is refused, without a connection",
    async (address) => {
      const { resolve, asked } = resolving([address]);
      const { exchange: found } = await send("http://api.example/", { host: {}, resolve });
      expect(found).toMatchObject({ kind: "not-sent", code: "address-refused", isFinal: true });
      expect(asked).toEqual(["api.example"]);
    },
  );

  test("one refused address refuses the name", async () => {
    const { resolve } = resolving(["93.184.215.14", "127.0.0.1"]);
    const { exchange: found } = await send("http://api.example/", { host: {}, resolve });
    expect(found).toMatchObject({ code: "address-refused" });
  });

  test("a URL with the address itself is checked too", async () => {
    const service = await startHttpService((_request, response) => answerJson(response, 200, {}));
    const { exchange: found } = await send(service.origin, { host: {} });
    expect(found).toMatchObject({ code: "address-refused" });
    expect(service.requests).toHaveLength(0);
  });

  test("with a list, no address beside it is called", async () => {
    const { resolve } = resolving(["93.184.215.14"]);
    const { exchange: found } = await send("http://api.example/", { host: LOOPBACK, resolve });
    expect(found).toMatchObject({ code: "address-refused" });
  });

  test("a name that changes its address after the check gains nothing: it is resolved once", async () => {
    const service = await startHttpService((_request, response) => answerJson(response, 200, {}));
    const { resolve, asked } = resolving(["127.0.0.1"], ["169.254.169.254"]);
    const url = `http://api.example:${service.port}/`;
    const first = await send(url, { resolve });
    expect(first.exchange).toMatchObject({ kind: "answered" });
    expect(asked).toHaveLength(1);
    const second = await send(url, { resolve: resolving(["169.254.169.254"]).resolve });
    expect(second.exchange).toMatchObject({ code: "address-refused" });
    expect(service.requests).toHaveLength(1);
  });
});

describe("a redirect", () => {
  const to =
    (location: string, status: number): Respond =>
    (request, response) =>
      request.url === "/x"
        ? response.writeHead(status, { location }).end()
        : answerJson(response, 200, { was: request.method, body: request.body });

  test("is not followed unless it is allowed", async () => {
    expect(await exchanged(to("/y", 307))).toMatchObject({ answer: { status: 307 } });
  });

  test.each([
    [303, "POST", "GET", ""],
    [307, "POST", "POST", "{}"],
    [308, "POST", "POST", "{}"],
    [302, "GET", "GET", ""],
  ])("of %i after %s leads to %s", async (status, method, was, body) => {
    const found = await exchanged(to("/y", status), { method, redirects: 1 });
    if (found.kind !== "answered") throw new Error(found.kind);
    expect(JSON.parse(found.answer.bytes.toString())).toEqual({ was, body });
  });

  test.for([301, 302])(
    "of %i after a POST is not followed: it may have been done",
    async (status) => {
      const found = await exchanged(to("/y", status), { redirects: 1 });
      expect(found).toMatchObject({ answer: { status } });
    },
  );

  test("to another host is not followed, and no header goes there", async () => {
    const other = await startHttpService((_request, response) => answerJson(response, 200, {}));
    const found = await exchanged(to(`${other.origin}/y`, 307), { redirects: 5 });
    expect(found).toMatchObject({ answer: { status: 307 } });
    expect(other.requests).toHaveLength(0);
  });

  test("without end is given up", async () => {
    const { origin, requests } = await startHttpService((_request, response) => {
      response.writeHead(307, { location: "/again" }).end();
    });
    const { exchange: found } = await send(`${origin}/x`, { redirects: 3 });
    expect(found).toMatchObject({ answer: { status: 307 } });
    expect(requests).toHaveLength(4);
  });
});

describe("TLS", () => {
  const certificates = createCertificates();
  afterAll(() => certificates.remove());
  let own: Awaited<ReturnType<typeof certificates.authority>>;
  beforeAll(async () => {
    own = await certificates.authority("own");
  });
  const ok: Respond = (_request, response) => answerJson(response, 200, {});

  test("a certificate of an unknown authority is refused before anything is sent", async () => {
    const { origin, requests } = await startHttpService(ok, await own.issue({ name: "a" }));
    const { exchange: found } = await send(origin);
    expect(found).toMatchObject({ kind: "not-sent", code: "tls-failed" });
    expect(requests).toHaveLength(0);
  });

  test("an authority of one's own is trusted for its host", async () => {
    const { origin } = await startHttpService(ok, await own.issue({ name: "a" }));
    const { exchange: found } = await send(origin, { host: { ...LOOPBACK, ca: own.certFile } });
    expect(found).toMatchObject({ kind: "answered" });
  });

  test("a certificate that has expired is refused", async () => {
    const until = new Date(Date.now() - 1_000);
    const { origin } = await startHttpService(ok, await own.issue({ name: "a", until }));
    const { exchange: found } = await send(origin, { host: { ...LOOPBACK, ca: own.certFile } });
    expect(found).toMatchObject({ kind: "not-sent", code: "tls-failed" });
  });
});

test("each request has a connection of its own", async () => {
  const ports = new Set<number | undefined>();
  const { origin } = await startHttpService((_request, response) => {
    ports.add(response.socket?.remotePort);
    answerJson(response, 200, {});
  });
  for (let i = 0; i < 3; i++) await send(origin);
  expect(ports.size).toBe(3);
});
