// Client certificates that prove who calls, over native gRPC and HTTP on the one port: what is
// mapped, what a token beside a certificate does, and what is refused.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../../sdk/typescript/index.ts";
import { createClientIdentities } from "../../../server/api/auth/client-identities.ts";
import { certificateFrom } from "../../../server/api/transport/client-certificate.ts";
import { systemClock } from "../../../server/clock.ts";
import { startServer } from "../../../server/main.ts";
import { type Authority, createCertificates } from "../../support/certificates.ts";
import { at, textAt } from "../../support/json-call.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

type Issued = Awaited<ReturnType<Authority["issue"]>>;

const FLIGHTS = "spiffe://example.org/flights";
const MAPPED = `identities:
  - uri: ${FLIGHTS}
    role: agent
    name: flights
    queues: [travel]
  - dns: metrics.example.com
    role: viewer
    namespaces: "*"
  - cn: ada
    role: operator
    name: ada@example.com
  - cn: root
    role: admin
    namespaces: [default]
`;

const certificates = createCertificates();
const folder = mkdtempSync(join(tmpdir(), "drover-identities-"));
const file = join(folder, "identities.yaml");
let database: TestDatabase;
let ours: Authority;
let server: Awaited<ReturnType<typeof startServer>>;
let ada: Issued;

beforeAll(async () => {
  database = await createTestDatabase();
  ours = await certificates.authority("ours");
  ada = await ours.issue({ name: "ada" });
  writeFileSync(file, MAPPED);
  server = await startServer({
    address: "127.0.0.1:0",
    database: { kind: "url", url: database.connectionString },
    log: { level: "silent" },
    supervisor: "none",
    requireTokens: true,
    tls: {
      ...(await ours.issue({ name: "server" })),
      clientCaFile: ours.certFile,
      requireClientCert: false,
    },
    identities: { clientIdentitiesFile: file },
  });
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
  certificates.remove();
  rmSync(folder, { recursive: true });
});

/** The answer of native gRPC, or its error. */
async function native(issued: Issued | null, token?: string): Promise<string> {
  const own = issued ? { cert: issued.certFile, key: issued.keyFile } : {};
  const tls = { ca: ours.certFile, ...own };
  const client = createClient({ address: server.address, tls, token, patience: "0s" });
  try {
    const { namespaces } = await client.namespaces.list();
    return namespaces.map(({ name }) => name).join(" ");
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    client.close();
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

function get(issued: Issued | null, path: string, options: https.RequestOptions = {}, body = "") {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const own = issued
    ? { cert: readFileSync(issued.certFile), key: readFileSync(issued.keyFile) }
    : {};
  const asked = { ca: readFileSync(ours.certFile), ...own, agent: false, ...options };
  https
    .request(`${server.url}${path}`, asked, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(Buffer.from(chunk));
      resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
    })
    .once("error", reject)
    .end(body);
  return promise;
}

async function json(issued: Issued | null, call: string, body: object, headers: object = {}) {
  const options = { method: "POST", headers: { "content-type": "application/json", ...headers } };
  const answer = await get(issued, `/drover.v1.${call}`, options, JSON.stringify(body));
  const read: unknown = JSON.parse(answer.body);
  return { status: answer.status, body: read };
}

describe("a client certificate", () => {
  test("that is mapped needs no token, over gRPC and HTTP", async () => {
    expect(await native(ada)).toBe("default");
    expect(await json(ada, "SchedulerService/ListRuns", {})).toMatchObject({ status: 200 });
  });

  test("that is not mapped needs a token, as a call without one does", async () => {
    const stranger = await ours.issue({ name: "stranger" });
    expect(await native(stranger)).toMatch(/no API token, and its certificate is not mapped/);
    expect(await native(null)).toMatch(/The call has no API token, and this server requires/);
    for (const issued of [stranger, null])
      expect(await json(issued, "SchedulerService/ListRuns", {})).toMatchObject({ status: 401 });
  });

  test("beside a token proves nothing: the call is that of the token", async () => {
    const unknown = `drover_${"A".repeat(43)}`;
    expect(await native(ada, unknown)).toMatch(/The API token of the call is not known/);
    const root = await ours.issue({ name: "root" });
    const request = { name: "watch", role: "ROLE_VIEWER" };
    const { body } = await json(root, "OperatorService/CreateToken", request);
    const viewer = { authorization: `Bearer ${textAt(body, "secret")}` };
    const pause = { queue: "mail", reason: "r" };
    expect(await json(root, "OperatorService/PauseQueue", pause, viewer)).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(/^The API token "watch" has the role "viewer"/) },
    });
  });

  test("has the role, the namespaces and the queues that the file gives it", async () => {
    const flights = await ours.issue({ name: "x", uris: [FLIGHTS] });
    const agent = { id: "a-1", session: Buffer.alloc(16, 1).toString("base64") };
    const poll = (name: string) => ({ agent, queues: [{ name }], pollSeq: "1", wait: "0s" });
    expect(await json(flights, "AgentService/PollTask", poll("travel"))).toMatchObject({
      status: 200,
    });
    expect(await json(flights, "AgentService/PollTask", poll("cars"))).toMatchObject({
      status: 403,
      body: { message: expect.stringMatching(/certificate of "flights" may poll travel, and/) },
    });
    const foreign = { namespace: "payments" };
    expect(await json(ada, "SchedulerService/ListRuns", foreign)).toMatchObject({ status: 403 });
    const metrics = await ours.issue({ name: "x", dnsNames: ["metrics.example.com"] });
    expect((await get(metrics, "/metrics")).status).toBe(200);
    expect((await get(ada, "/metrics")).status).toBe(403);
    expect((await get(null, "/metrics")).status).toBe(401);
  });

  test("proves the name in the audit", async () => {
    const pause = { queue: "post", reason: "r" };
    expect(await json(ada, "OperatorService/PauseQueue", pause)).toMatchObject({ status: 200 });
    const other = { "drover-by": "bob" };
    expect(await json(ada, "OperatorService/ResumeQueue", { queue: "post" }, other)).toMatchObject({
      status: 403,
      body: {
        message: expect.stringMatching(/^The client certificate of "ada@example.com" proves/),
      },
    });
    const subject = { kind: "queue", name: "post" };
    const { body } = await json(ada, "OperatorService/ListAudit", { subject });
    expect(at(body, "entries", 0)).toMatchObject({
      by: "ada@example.com",
      byVerified: true,
      tokenId: "cn:ada",
      tokenRole: "ROLE_OPERATOR",
    });
  });

  test("of a browser is not lent to the page of another site", async () => {
    const headers = { origin: "https://evil.example" };
    expect(await json(ada, "SchedulerService/ListRuns", {}, headers)).toMatchObject({
      status: 403,
      body: {
        message:
          "A page of https://evil.example may not call this server. If a proxy shows this server under that name, start it with --host-name.",
      },
    });
    const own = { origin: server.url };
    expect(await json(ada, "SchedulerService/ListRuns", {}, own)).toMatchObject({ status: 200 });
  });
});

describe("the file of identities", () => {
  const log = { info: () => {}, warn: () => {}, error: () => logged++ };
  let logged = 0;

  test("is read again, and a wrong one leaves those before in place", () => {
    let now = 0;
    const clock = { ...systemClock, monotonicMs: () => now };
    const of = join(folder, "changing.yaml");
    writeFileSync(of, "identities: [{ cn: ada, role: viewer }]");
    const find = createClientIdentities(of, { clock, log });
    const certificate = { commonName: "ada", uris: [], dnsNames: [], validUntil: 0 };
    expect(find(certificate)).toMatchObject({
      name: "ada",
      role: "viewer",
      namespaces: ["default"],
    });
    writeFileSync(of, "identities: [{ cn: ada, role: operator }]");
    now += 10_001;
    expect(find(certificate)).toMatchObject({ role: "operator" });
    writeFileSync(of, "identities: [{ cn: ada, role: king }]");
    now += 10_001;
    expect(find(certificate)).toMatchObject({ role: "operator" });
    expect(logged).toBe(1);
  });

  test.each([
    ["identities: {}", "it must contain `identities:` with a list"],
    ["identities: [{ cn: a, role: king }]", "identities[0].role must be one of viewer, client"],
    ["identities: [{ role: viewer }]", "identities[0] must have one of uri, dns and cn"],
    ["identities: [{ cn: a, dns: a, role: viewer }]", "must have one of uri, dns and cn"],
    ["identities: [{ cn: a, role: viewer, rights: x }]", 'identities[0] has the key "rights"'],
    ["identities: [{ cn: a, role: viewer, queues: [x] }]", "queues are for the role agent"],
    ["identities: [{ cn: a, role: viewer, namespaces: blue }]", "namespaces must be a list"],
    [
      "identities: [{ cn: a, role: viewer }, { cn: a, role: admin }]",
      "identities[1]: cn:a is mapped twice",
    ],
  ])("is refused with a sentence: %s", (text, message) => {
    const of = join(folder, "wrong.yaml");
    writeFileSync(of, text);
    expect(() => createClientIdentities(of, { clock: systemClock, log })).toThrow(message);
  });
});

test("a name with a comma in it is not another name", () => {
  const certificate = certificateFrom({
    subject: { C: "", ST: "", L: "", O: "", OU: "", CN: "x" },
    subjectaltname: `DNS:a.example, DNS:"b.example, URI:${FLIGHTS}", URI:spiffe://x`,
    valid_to: "Jan  1 00:00:00 2030 GMT",
  });
  expect(certificate).toMatchObject({
    dnsNames: ["a.example", `b.example, URI:${FLIGHTS}`],
    uris: ["spiffe://x"],
  });
});
