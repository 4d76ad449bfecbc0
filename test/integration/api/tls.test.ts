// TLS of the one port: gRPC and HTTP over it, client certificates, certificates that are replaced
// while the server runs, and what is refused.
import { copyFileSync, readFileSync } from "node:fs";
import https from "node:https";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createAgent, createClient, type Tls } from "../../../sdk/typescript/index.ts";
import { createTlsListener } from "../../../server/api/transport/tls.ts";
import { systemClock } from "../../../server/clock.ts";
import { startServer } from "../../../server/main.ts";
import type { TlsConfig } from "../../../server/tls-config.ts";
import { type Authority, createCertificates } from "../../support/certificates.ts";
import { guardForTest } from "../../support/connection-guard.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

const DAY_MS = 86_400_000;
const certificates = createCertificates();
let database: TestDatabase;
let ours: Authority;
let strange: Authority;
let own: Pick<TlsConfig, "certFile" | "keyFile">;
const open: (() => Promise<void>)[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  ours = await certificates.authority("ours");
  strange = await certificates.authority("strange");
  own = await ours.issue({ name: "server" });
});
afterAll(async () => {
  for (const close of open) await close();
  await database.drop();
  certificates.remove();
});

async function serve(more: Partial<TlsConfig> = {}) {
  const server = await startServer({
    address: "127.0.0.1:0",
    database: { kind: "url", url: database.connectionString },
    log: { level: "silent" },
    supervisor: "none",
    tls: { ...own, clientCaFile: null, requireClientCert: false, ...more },
  });
  open.push(() => server.stop());
  return server;
}

async function namespaces(address: string, tls: Tls | undefined): Promise<string> {
  const client = createClient({ address, tls, patience: "0s" });
  try {
    const { namespaces: found } = await client.namespaces.list();
    return found.map(({ name }) => name).join(" ");
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    client.close();
  }
}

/** The body of /readyz. */
function page(address: string, files: https.RequestOptions): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  https
    .get(`https://${address}/readyz`, { ...files, agent: false }, (response) => {
      response.setEncoding("utf8");
      let body = "";
      response.on("data", (part: string) => {
        body += part;
      });
      response.once("end", () => resolve(body));
    })
    .once("error", reject);
  return promise;
}

test("gRPC and HTTP share the port", async () => {
  const { address, url } = await serve();
  expect(url).toBe(`https://${address}`);
  expect(await namespaces(address, { ca: ours.certFile })).toBe("default");
  expect(await page(address, { ca: readFileSync(ours.certFile) })).toBe("ready\n");
});

test("an agent works over TLS", async () => {
  const { address } = await serve();
  const tls = { ca: ours.certFile };
  const agent = createAgent({ address, tls, id: "a", handlers: { act: async () => "done" } });
  agent.start();
  const client = createClient({ address, tls });
  open.push(async () => {
    await agent.stop();
    client.close();
  });
  const steps = [{ id: "act", task: "act" }];
  const { runId } = await client.schedule({ workflow: { workflow: "w", steps } });
  expect((await client.waitRun(runId)).state).toBe("COMPLETED");
});

test("a client that does not trust the server, or speaks plain text, gets no answer", async () => {
  const { address } = await serve();
  expect(await namespaces(address, { ca: strange.certFile })).toMatch(/certificate|signature/i);
  expect(await namespaces(address, {})).toMatch(/certificate|issuer/i);
  expect(await namespaces(address, undefined)).toMatch(/UNAVAILABLE|connection|dropped/i);
});

describe("the version of TLS", () => {
  test.each([
    ["TLSv1.3", "TLSv1.3"],
    ["TLSv1.2", "TLSv1.2"],
    ["TLSv1.1", null],
  ] as const)("%s", async (version, spoken) => {
    const { address } = await serve();
    expect(await protocolOf(address, { minVersion: version, maxVersion: version })).toBe(spoken);
  });

  test("a cipher without forward secrecy is refused", async () => {
    const { address } = await serve();
    const weak = { maxVersion: "TLSv1.2", ciphers: "AES128-GCM-SHA256:AES128-SHA" } as const;
    expect(await protocolOf(address, weak)).toBeNull();
  });
});

/** null: the handshake failed. */
function protocolOf(address: string, options: object): Promise<string | null> {
  const [host = "", port = ""] = address.split(":");
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const socket: TLSSocket = connect(
    { host, port: Number(port), ca: readFileSync(ours.certFile), ...options },
    () => {
      resolve(socket.getProtocol());
      socket.destroy();
    },
  );
  socket.once("error", () => resolve(null));
  return promise;
}

describe("client certificates", () => {
  const filesOf = (issued: { certFile: string; keyFile: string }): Tls => ({
    ca: ours.certFile,
    cert: issued.certFile,
    key: issued.keyFile,
  });

  test("that are required: only a valid one of the authority connects", async () => {
    const { address } = await serve({ clientCaFile: ours.certFile, requireClientCert: true });
    const agent = await ours.issue({ name: "agent" });
    const foreign = await strange.issue({ name: "agent" });
    const old = await ours.issue({
      name: "agent",
      from: new Date(Date.now() - 2 * DAY_MS),
      until: new Date(Date.now() - DAY_MS),
    });
    expect(await namespaces(address, filesOf(agent))).toBe("default");
    expect(await namespaces(address, { ca: ours.certFile })).not.toBe("default");
    expect(await namespaces(address, filesOf(foreign))).not.toBe("default");
    expect(await namespaces(address, filesOf(old))).not.toBe("default");
    await expect(page(address, { ca: readFileSync(ours.certFile) })).rejects.toThrow();
  });

  test("that are not required: one that is presented must still be valid", async () => {
    const { address } = await serve({ clientCaFile: ours.certFile });
    const foreign = await strange.issue({ name: "agent" });
    expect(await namespaces(address, { ca: ours.certFile })).toBe("default");
    expect(await namespaces(address, filesOf(foreign))).not.toBe("default");
  });
});

describe("the files", () => {
  const log = { info: () => {}, warn: () => {}, error: vi.fn() };

  test("are read again: the next connection gets the new certificate, and bad ones change nothing", async () => {
    const mine = await ours.issue({ name: "first" });
    const { server, reload } = createTlsListener(
      { ...mine, clientCaFile: null, requireClientCert: false },
      {
        onSocket: (socket) => void socket.end(),
        guard: guardForTest().guard,
        clock: systemClock,
        log,
      },
    );
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    open.push(async () => void server.close());
    const bound = server.address();
    if (bound === null || typeof bound === "string") throw new Error("it listens nowhere");
    const address = `127.0.0.1:${bound.port}`;
    expect(await subjectAt(address)).toBe("first");
    const next = await ours.issue({ name: "second" });
    copyFileSync(next.certFile, mine.certFile);
    await reload.runOnce();
    expect(await subjectAt(address)).toBe("first");
    expect(log.error).toHaveBeenCalledWith(
      {
        err: new Error(
          `The key of ${mine.keyFile} does not belong to the certificate of ${mine.certFile}.`,
        ),
      },
      "the TLS files cannot be used; the ones before stay in place",
    );
    copyFileSync(next.keyFile, mine.keyFile);
    await reload.runOnce();
    expect(await subjectAt(address)).toBe("second");
  });

  test.each([
    [
      "an expired certificate",
      { until: new Date(Date.now() - DAY_MS / 4) },
      /expired on .*: renew it/,
    ],
    [
      "one that is not valid yet",
      { from: new Date(Date.now() + DAY_MS / 2) },
      /is valid from .* on/,
    ],
  ])("%s is refused at the start", async (_, times, message) => {
    await expect(serve(await ours.issue({ name: "server", ...times }))).rejects.toThrow(message);
  });

  test("a key of another certificate, and files that cannot be read, are refused at the start", async () => {
    const { keyFile } = await ours.issue({ name: "other" });
    await expect(serve({ keyFile })).rejects.toThrow(/does not belong to the certificate/);
    await expect(serve({ keyFile: own.certFile })).rejects.toThrow(/no private key/);
    await expect(serve({ certFile: own.keyFile })).rejects.toThrow(/no certificate of PEM/);
    await expect(serve({ clientCaFile: "missing.pem" })).rejects.toThrow(/cannot be read from/);
  });
});

function subjectAt(address: string): Promise<string> {
  const [host = "", port = ""] = address.split(":");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host, port: Number(port), ca: readFileSync(ours.certFile) }, () => {
    resolve(String(socket.getPeerCertificate().subject.CN));
    socket.destroy();
  });
  socket.once("error", reject);
  return promise;
}
