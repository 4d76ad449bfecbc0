/**
 * docs/READY-AGENTS.md as it is on the page: its settings and workflows, with agents that are
 * processes of the command line, a service with TLS, and a server.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../sdk/typescript/client.ts";
import { createCertificates } from "../support/certificates.ts";
import { type DroverProcess, drover, startDrover } from "../support/drover-process.ts";
import { startDroverServer, type TestServer } from "../support/drover-server.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { answerJson, type ReceivedRequest, startHttpService } from "../support/http-service.ts";
import { startOtlpReceiver } from "../support/otlp-receiver.ts";
import { until } from "../support/until.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/READY-AGENTS.md"), "utf8");
const TOKEN = "t0ken-of-the-traveller";

/** The block of YAML after the sentence that names the file. */
function fileOfPage(name: string): string {
  const [, text] =
    new RegExp(`\`${name}\`:\\n\\n\`\`\`yaml\\n(.*?)^\`\`\`$`, "ms").exec(page) ?? [];
  if (text === undefined) throw new Error(`the page has no file ${name}`);
  return text;
}

const certificates = createCertificates();
let server: TestServer;
let receiver: Awaited<ReturnType<typeof startOtlpReceiver>>;
beforeAll(async () => {
  receiver = await startOtlpReceiver();
  const trace = { url: receiver.url, protocol: "http", ratio: 1 } as const;
  server = await startDroverServer(undefined, { trace });
});
afterAll(async () => {
  await server.stop();
  await receiver.close();
  certificates.remove();
});

let folder: string;
beforeEach(() => {
  folder = makeTestFolder();
});
afterEach(() => rmSync(folder, { recursive: true }));

const environment = () => ({
  PATH: process.env.PATH ?? "",
  DROVER_ADDRESS: server.address,
  TRAVEL_TOKEN: TOKEN,
});

async function startAgent(...args: string[]): Promise<DroverProcess> {
  const agent = startDrover(["agent", ...args], { env: environment(), cwd: folder });
  onTestFinished(async () => {
    agent.signal("SIGTERM");
    await agent.ended;
  });
  await agent.wrote("performs");
  return agent;
}

interface Faults {
  readonly loseFirst?: boolean;
  readonly noTicket?: boolean;
}

/** The bookings of the page's service, with what is to go wrong. */
function travel({ loseFirst = false, noTicket = false }: Faults) {
  const bookings = new Map<string, string>();
  let polls = 0;

  function book(key: string, response: ServerResponse): void {
    if (!bookings.has(key)) bookings.set(key, `b-${bookings.size + 1}`);
    if (loseFirst) response.socket?.resetAndDestroy();
    else answerJson(response, 201, { state: "booked", id: bookings.get(key) });
  }

  function find(key: string, response: ServerResponse): void {
    const id = bookings.get(key);
    answerJson(response, 200, id === undefined ? [] : [{ id }]);
  }

  function remove(path: string, response: ServerResponse): void {
    for (const [key, id] of bookings) if (path === `/bookings/${id}`) bookings.delete(key);
    response.writeHead(204).end();
  }

  function print(authorization: string, response: ServerResponse): void {
    if (noTicket) answerJson(response, 422, { why: `no paper, says ${authorization}` });
    else answerJson(response, 202, {}, { location: "/tickets/1", "retry-after": "0" });
  }

  function respond({ method, headers, url }: ReceivedRequest, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, "http://x");
    const { authorization = "", "idempotency-key": key } = headers;
    if (authorization !== `Bearer ${TOKEN}`) answerJson(response, 401, {});
    else if (pathname.endsWith("/ticket")) print(authorization, response);
    else if (method === "POST") book(String(key), response);
    else if (method === "DELETE") remove(pathname, response);
    else if (pathname === "/bookings") find(searchParams.get("reference") ?? "", response);
    else if (++polls < 3) answerJson(response, 202, {});
    else answerJson(response, 200, { number: "TK-7" });
  }
  return { respond, bookings };
}

/** The files of the page, with the address of a service that speaks TLS. */
async function givenTravel(faults: Faults = {}) {
  const authority = await certificates.authority("authority of travel");
  const { respond, bookings } = travel(faults);
  const service = await startHttpService(respond, await authority.issue({ name: "travel" }));
  const origin = `https://localhost:${service.port}`;
  const here = (text: string) => text.replaceAll("https://travel.example", origin);
  const addresses = `${origin}\n    addresses: [127.0.0.0/8, "::1"]`;
  const settings = here(fileOfPage("http-agent.yaml")).replace(origin, addresses);
  writeFileSync(join(folder, "http-agent.yaml"), settings);
  writeFileSync(join(folder, "trip.yaml"), here(fileOfPage("trip.yaml")));
  writeFileSync(join(folder, "travel-ca.pem"), readFileSync(authority.certFile));
  const cli = (...args: string[]) => drover(args, { env: environment(), cwd: folder });
  const checked = await cli("agent", "http", "http-agent.yaml", "--check");
  expect(checked).toMatchObject({ code: 0, stderr: expect.stringContaining("is valid") });
  expect(await cli("workflow", "apply", "trip.yaml")).toMatchObject({ code: 0 });
  const start = async () => {
    const input = JSON.stringify({ city: "Lisbon" });
    const { stdout } = await cli("run", "start", "trip", "--input", input, "--wait", "-o", "json");
    const client = createClient({ address: server.address });
    onTestFinished(() => client.close());
    const { run } = JSON.parse(stdout);
    return client.getRun(run.runId ?? run.run_id, { attempts: true });
  };
  return { service, bookings, cli, start };
}

test("the workflow of the page books, and waits for the ticket", async () => {
  const { service, start, bookings } = await givenTravel();
  const agent = await startAgent("http", "http-agent.yaml", "--trace", receiver.url);
  const { run, steps } = await start();
  expect(run.state).toBe("COMPLETED");
  expect(steps.map(({ output }) => output)).toEqual([{ id: "b-1" }, "TK-7"]);
  expect(bookings.size).toBe(1);
  const { traceparent } = service.requests[0]?.headers ?? {};
  agent.signal("SIGTERM");
  const { code, stderr } = await agent.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const span = await until("the span of the request is received", () => {
    const all = receiver.spans.filter(({ name }) => name === "POST");
    return all.find(({ spanId }) => String(traceparent).includes(spanId)) ?? null;
  });
  expect(span.traceId).toBe(run.runId.replaceAll("-", ""));
  expect(JSON.stringify(receiver.spans)).not.toContain(TOKEN);
});

test("an answer that is lost is found by its key, and the booking is made once", async () => {
  const { start, bookings } = await givenTravel({ loseFirst: true });
  await startAgent("http", "http-agent.yaml");
  const { run, attempts } = await start();
  expect(run.state).toBe("COMPLETED");
  const ofBooking = attempts.filter(({ stepId }) => stepId === "book");
  expect(ofBooking.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
    "PERFORM UNKNOWN",
    "VERIFY SUCCESS",
  ]);
  expect(bookings.size).toBe(1);
});

test("a ticket that is refused undoes the booking; no secret is in what the agent says", async () => {
  const { start, bookings, cli } = await givenTravel({ noTicket: true });
  const agent = await startAgent("http", "http-agent.yaml", "--log", "debug");
  const { run, steps } = await start();
  expect(run.state).toBe("COMPENSATED");
  expect(bookings.size).toBe(0);
  expect(steps[1]?.error?.message).toContain("no paper, says Bearer [secret token]");
  const shown = await cli("run", "show", run.runId);
  agent.signal("SIGTERM");
  const { stdout, stderr } = await agent.ended;
  // A server stores lines a little after it has taken them.
  const logs = await until("the lines of the call are stored", async () => {
    const found = await cli("run", "logs", run.runId);
    return found.stdout.includes("POST https://localhost") ? found : null;
  });
  for (const text of [stdout, stderr, shown.stdout, logs.stdout]) expect(text).not.toContain(TOKEN);
});

test("the commands of the page run", async () => {
  writeFileSync(join(folder, "shell-agent.yaml"), fileOfPage("shell-agent.yaml"));
  writeFileSync(join(folder, "count.yaml"), fileOfPage("count.yaml"));
  writeFileSync(join(folder, "README.md"), "one\ntwo\n");
  const env = environment();
  expect(await drover(["workflow", "apply", "count.yaml"], { env, cwd: folder })).toMatchObject({
    code: 0,
  });
  await startAgent("shell", "shell-agent.yaml");
  const client = createClient({ address: server.address });
  onTestFinished(() => client.close());
  const { runId } = await client.schedule({ workflow: "count", input: { file: "README.md" } });
  expect(await client.waitRun(runId)).toMatchObject({ state: "COMPLETED" });
  const { steps } = await client.getRun(runId);
  expect(steps.map(({ output }) => output)).toEqual([
    "2 README.md\n",
    { for: expect.stringContaining(runId) },
  ]);
});

test("settings with mistakes end the command, each with its place", async () => {
  writeFileSync(join(folder, "a.yaml"), "agent: a\nhost: []\nhosts:\n  - orgin: x\n");
  const { code, stderr } = await drover(["agent", "http", "a.yaml"], { cwd: folder });
  expect(code).toBe(2);
  expect(stderr).toContain("a.yaml has mistakes");
  expect(stderr).toContain('unknown key "host": did you mean "hosts"? (line 2, column 7)');
  expect(stderr).toContain('unknown key "orgin": did you mean "origin"?');
});
