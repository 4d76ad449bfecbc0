/**
 * The remote services of the holiday demo: unreliable in how they answer, reliable in what they
 * book. Each test starts the real process on a ledger of its own and talks to it over HTTP.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createBookingClient } from "../../agents-examples/holiday/services/booking-client.ts";
import {
  calmWorld,
  createFaults,
  FAULTS_IN_A_ROW_MAX,
  type Fault,
  flakyWorld,
  parseFaults,
} from "../../agents-examples/holiday/services/faults.ts";
import { activeBookings, parseLedger } from "../../agents-examples/holiday/services/ledger.ts";
import { createSeededRandom } from "../../agents-examples/stage/seeded-random.ts";

const program = fileURLToPath(
  new URL("../../agents-examples/holiday/services/booking-service.ts", import.meta.url),
);
const ada = { traveller: "Ada", from: "ZRH", to: "LIS" };
const never = new AbortController().signal;

let folder: string;
let ledgerPath: string;
let children: ChildProcess[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holiday-service-"));
  ledgerPath = join(folder, "ledger.jsonl");
  children = [];
});

afterEach(async () => {
  await Promise.all(children.map((child) => end(child, "SIGKILL")));
  rmSync(folder, { recursive: true, force: true });
});

function launch(...flags: string[]): ChildProcess {
  const child = spawn(process.execPath, [program, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  return child;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}

async function textOf(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = "";
  for await (const chunk of stream ?? []) text += chunk;
  return text;
}

async function firstLineOf(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the service has no stdout");
  for await (const line of createInterface(child.stdout)) return line;
  throw new Error(`the service ended before it was ready: ${await textOf(child.stderr)}`);
}

/** A service that is ready, without faults unless flags set them. */
async function startService(...flags: string[]) {
  const child = launch("--kind", "hotel", "--ledger", ledgerPath, "--calm", ...flags);
  const ready: { url: string } = JSON.parse(await firstLineOf(child));
  const baseUrl = ready.url;
  const bookRaw = (key: string, body: string) =>
    fetch(`${baseUrl}/bookings`, { method: "POST", headers: { "idempotency-key": key }, body });
  return { child, baseUrl, bookRaw, client: createBookingClient({ baseUrl, timeoutMs: 30_000 }) };
}

function ledgerOnDisk() {
  return parseLedger(readFileSync(ledgerPath, "utf8"));
}

function only(faults: Record<string, number>): string[] {
  return ["--faults", JSON.stringify(faults)];
}

describe("a booking service", () => {
  test("books once for a key, however often it is asked", async () => {
    const { client, bookRaw } = await startService();
    expect(await client.book("k1", ada, never)).toEqual({
      kind: "booked",
      bookingId: "hotel-0001",
    });
    const again = await bookRaw("k1", JSON.stringify({ to: "LIS", from: "ZRH", traveller: "Ada" }));
    expect(again.status).toBe(200);
    expect(await again.json()).toEqual({ booking_id: "hotel-0001" });
    expect(ledgerOnDisk()).toMatchObject([{ op: "booked", key: "k1", traveller: "Ada" }]);
  });

  test("books once for a key that is asked by many at the same time", async () => {
    const { client } = await startService();
    const asked = Array.from({ length: 20 }, () => client.book("k1", ada, never));
    for (const result of await Promise.all(asked)) {
      expect(result).toEqual({ kind: "booked", bookingId: "hotel-0001" });
    }
    expect(ledgerOnDisk()).toHaveLength(1);
  });

  test("refuses another booking under a used key, and keeps the first", async () => {
    const { client, bookRaw } = await startService();
    await client.book("k1", ada, never);
    expect((await bookRaw("k1", JSON.stringify({ ...ada, to: "OPO" }))).status).toBe(409);
    const result = await client.book("k1", { ...ada, room: 7 }, never);
    expect(result).toMatchObject({ kind: "refused", code: "key-reused" });
    expect(ledgerOnDisk()).toHaveLength(1);
  });

  test("cancels the booking of a key, as often as it is asked", async () => {
    const { client } = await startService();
    await client.book("k1", ada, never);
    expect(await client.cancel("k1", never)).toEqual({ kind: "cancelled" });
    expect(await client.cancel("k1", never)).toEqual({ kind: "cancelled" });
    expect(ledgerOnDisk().map(({ op, booking_id }) => [op, booking_id])).toEqual([
      ["booked", "hotel-0001"],
      ["cancelled", "hotel-0001"],
    ]);
    expect(activeBookings(ledgerOnDisk())).toEqual([]);
  });

  test("refuses a booking that comes after its cancel", async () => {
    const { client, bookRaw } = await startService();
    expect(await client.cancel("late", never)).toEqual({ kind: "cancelled" });
    expect((await bookRaw("late", JSON.stringify(ada))).status).toBe(410);
    const result = await client.book("late", ada, never);
    expect(result).toMatchObject({ kind: "refused", code: "cancelled" });
    expect(ledgerOnDisk()).toMatchObject([{ op: "cancelled", key: "late", booking_id: null }]);
    expect(activeBookings(ledgerOnDisk())).toEqual([]);
  });

  test("has no room for a traveller named as full, whenever and however asked", async () => {
    const { client } = await startService("--full", "Grace", "Edsger");
    for (const [key, traveller] of [
      ["k1", "Grace"],
      ["k1", "Grace"],
      ["k2", "Grace"],
      ["k3", "Edsger"],
    ] as const) {
      const result = await client.book(key, { ...ada, traveller }, never);
      expect(result).toMatchObject({ kind: "refused", code: "no-rooms" });
    }
    expect(await client.book("k4", ada, never)).toMatchObject({ kind: "booked" });
    expect(activeBookings(ledgerOnDisk()).map((entry) => entry.key)).toEqual(["k4"]);
  });

  test("finds what was booked under a key, and shows all of its ledger", async () => {
    const { client, baseUrl } = await startService();
    await client.book("a/b_c?", ada, never);
    const found = await fetch(`${baseUrl}/bookings/${encodeURIComponent("a/b_c?")}`);
    expect(await found.json()).toMatchObject({ state: "booked", booking_id: "hotel-0001" });
    expect((await fetch(`${baseUrl}/bookings/other`)).status).toBe(404);
    expect(await client.find("a/b_c?", never)).toEqual({ kind: "booked", bookingId: "hotel-0001" });
    expect(await client.find("other", never)).toEqual({ kind: "none" });
    await client.cancel("a/b_c?", never);
    expect(await client.find("a/b_c?", never)).toEqual({ kind: "none" });
    const ledger = await fetch(`${baseUrl}/ledger`);
    expect(await ledger.json()).toEqual({ entries: ledgerOnDisk() });
  });
});

describe("a booking service that is started again on its ledger", () => {
  test("knows its bookings and its blocked keys after a kill", async () => {
    const first = await startService();
    await first.client.book("k1", ada, never);
    await first.client.book("k2", ada, never);
    await first.client.cancel("k2", never);
    await first.client.cancel("k3", never);
    await end(first.child, "SIGKILL");

    const { client } = await startService();
    expect(await client.book("k1", ada, never)).toMatchObject({ bookingId: "hotel-0001" });
    expect(await client.book("k2", ada, never)).toMatchObject({ code: "cancelled" });
    expect(await client.book("k3", ada, never)).toMatchObject({ code: "cancelled" });
    expect(await client.book("k4", ada, never)).toMatchObject({ bookingId: "hotel-0003" });
  });

  test("forgets an entry that a kill cut off in the middle", async () => {
    const first = await startService();
    await first.client.book("k1", ada, never);
    await end(first.child, "SIGKILL");
    appendFileSync(ledgerPath, '{"at":"2026-01-01T00:00:00.000Z","op":"boo');

    const { client } = await startService();
    expect(await client.book("k2", ada, never)).toMatchObject({ bookingId: "hotel-0002" });
    expect(ledgerOnDisk().map((entry) => entry.key)).toEqual(["k1", "k2"]);
  });

  test("does not start on a ledger that makes no sense, and names the line", async () => {
    appendFileSync(ledgerPath, '{"op":"stolen"}\n');
    const child = launch("--kind", "car", "--ledger", ledgerPath);
    expect(await textOf(child.stderr)).toContain('ledger line 1 is no entry: {"op":"stolen"}');
  });
});

describe("a fault", () => {
  test("that drops the connection leaves the booking in the ledger", async () => {
    const { client } = await startService(...only({ "drop-after": 1 }));
    const dropped = await client.book("k1", ada, never);
    expect(dropped).toMatchObject({ kind: "unknown", why: "broken" });
    expect(activeBookings(ledgerOnDisk())).toMatchObject([{ key: "k1", traveller: "Ada" }]);
  });

  test("that drops the connection on a cancel leaves the cancel in the ledger", async () => {
    const { client } = await startService(...only({ "drop-after": 1 }));
    await client.book("k1", ada, never);
    expect(await client.cancel("k1", never)).toMatchObject({ kind: "unknown", why: "broken" });
    expect(activeBookings(ledgerOnDisk())).toEqual([]);
  });

  test("that never answers may have booked", async () => {
    const { client } = await startService(...only({ "hang-after": 1 }));
    const giveUp = new AbortController();
    const result = client.book("k1", ada, giveUp.signal);
    await vi.waitFor(() => expect(ledgerOnDisk()).toHaveLength(1), 10_000);
    giveUp.abort();
    expect(await result).toMatchObject({ kind: "unknown", why: "aborted" });
  });

  test("that never answers may not have booked", async () => {
    const { baseUrl } = await startService(...only({ "hang-before": 1 }));
    const client = createBookingClient({ baseUrl, timeoutMs: 100 });
    const result = await client.book("k1", ada, never);
    expect(result).toMatchObject({ kind: "unknown", why: "timed-out" });
    expect(ledgerOnDisk()).toEqual([]);
  });

  test("that answers busy has the time to come back, and has no effect", async () => {
    const { client } = await startService(...only({ busy: 1 }));
    const result = await client.book("k1", ada, never);
    expect(result).toMatchObject({ kind: "busy", retryAfterMs: 1000 });
    expect(ledgerOnDisk()).toEqual([]);
  });

  test("that delays does not let a booking outlive its cancel, whichever comes first", async () => {
    const { client } = await startService(...only({ delay: 0.5 }));
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
    const booked = keys.map((key) => client.book(key, ada, never));
    const cancelled = keys.map((key) => client.cancel(key, never));
    for (const result of await Promise.all(booked)) {
      expect(["booked", "refused"]).toContain(result.kind);
    }
    for (const result of await Promise.all(cancelled)) expect(result.kind).toBe("cancelled");
    expect(activeBookings(ledgerOnDisk())).toEqual([]);
  });

  test("comes at most twice in a row for a key, so that repeating succeeds", async () => {
    const { client } = await startService(...only({ busy: 0.5, "drop-after": 0.5 }));
    for (const key of ["k1", "k2", "k3"]) {
      const kinds = [];
      for (let tries = 0; tries <= FAULTS_IN_A_ROW_MAX; tries += 1) {
        kinds.push((await client.book(key, ada, never)).kind);
      }
      expect(kinds.at(-1)).toBe("booked");
    }
    expect(
      activeBookings(ledgerOnDisk())
        .map((entry) => entry.key)
        .sort(),
    ).toEqual(["k1", "k2", "k3"]);
  });
});

describe("the dealing of faults", () => {
  function drawFaults(seed: string, requests: number): Fault[] {
    const faults = createFaults(flakyWorld, createSeededRandom(seed));
    return Array.from({ length: requests }, (_, index) => faults.next(`key-${index % 7}`));
  }

  test("is the same for a seed, and another for another", () => {
    expect(drawFaults("flight:7", 200)).toEqual(drawFaults("flight:7", 200));
    expect(drawFaults("flight:7", 200)).not.toEqual(drawFaults("hotel:7", 200));
  });

  test("gives each fault about as often as its table sets", () => {
    const faults = createFaults(flakyWorld, createSeededRandom("any"));
    const requests = 20_000;
    const counts = new Map<string, number>();
    for (let index = 0; index < requests; index += 1) {
      const { kind } = faults.next(`key-${index}`);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    for (const [name, probability] of Object.entries(flakyWorld)) {
      const share = (counts.get(name) ?? 0) / requests;
      expect(Math.abs(share - probability)).toBeLessThan(0.01);
    }
  });

  test("delays by 200 to 1500 ms", () => {
    const faults = createFaults({ ...calmWorld, delay: 1 }, createSeededRandom("any"));
    for (let index = 0; index < 1000; index += 1) {
      const fault = faults.next(`key-${index}`);
      if (fault.kind !== "delay") throw new Error(`drew ${fault.kind}`);
      expect(fault.delayMs).toBeGreaterThanOrEqual(200);
      expect(fault.delayMs).toBeLessThanOrEqual(1500);
    }
  });

  test.each([
    ["no json", "no json is not a JSON object"],
    ["[1]", "[1] is not a JSON object"],
    ['{"fire": 1}', 'no fault is named "fire"; there are delay, busy'],
    ['{"busy": 2}', "busy is 2; give a probability from 0 to 1"],
    ['{"busy": 0.9}', "add up to 1.32"],
  ])("refuses the table %s", (text, message) => {
    expect(() => parseFaults(text, flakyWorld)).toThrow(message);
  });
});

describe("bad input", () => {
  test("is refused with a sentence that helps, and nothing is stored", async () => {
    const { baseUrl, bookRaw } = await startService();
    const cases: [Promise<Response>, number, string][] = [
      [fetch(`${baseUrl}/bookings`, { method: "POST", body: "{}" }), 400, "no Idempotency-Key"],
      [bookRaw("k".repeat(201), "{}"), 400, "201 characters"],
      [bookRaw("a b", "{}"), 400, "not visible ASCII"],
      [bookRaw("k", "nonsense"), 400, 'not JSON: \\"nonsense\\"'],
      [bookRaw("k", "[]"), 400, "not a JSON object"],
      [bookRaw("k", '{"traveller":"Ada","from":"ZRH"}'), 400, '\\"to\\" is missing'],
      [bookRaw("k", JSON.stringify({ ...ada, from: " " })), 400, '\\"from\\" is not a text'],
      [bookRaw("k", JSON.stringify({ ...ada, seats: [] })), 400, '\\"seats\\" is not'],
      [bookRaw("k", "x".repeat(1_000_000)), 413, "over 4096 bytes"],
      [fetch(`${baseUrl}/bookings/%ff`, { method: "DELETE" }), 400, "Idempotency-Key"],
      [fetch(`${baseUrl}/nowhere`), 404, "no such address: /nowhere"],
      [fetch(`${baseUrl}/ledger`, { method: "DELETE" }), 405, "GET only"],
    ];
    for (const [answer, status, text] of cases) {
      const response = await answer;
      expect(await response.text()).toContain(text);
      expect(response.status).toBe(status);
    }
    expect(ledgerOnDisk()).toEqual([]);
  });

  test.each([
    [["--ledger", "x"], "--kind is missing; give flight, hotel, car"],
    [["--kind", "train", "--ledger", "x"], "--kind is train"],
    [["--kind", "car"], "--ledger is missing"],
    [["--kind", "car", "--ledger", "x", "--port", "-"], "--port is -"],
    [["--kind", "car", "--ledger", "x", "--full", "Ada"], "--full is for hotels only"],
    [["--kind", "car", "--ledger", "x", "extra"], '"extra" belongs to no flag'],
    [["--colour", "red"], "--colour"],
  ])("on the command line %j ends with code 2", async (flags, message) => {
    const child = launch(...flags);
    const exited = once(child, "exit");
    expect(await textOf(child.stderr)).toContain(message);
    expect(await exited).toEqual([2, null]);
  });
});

describe("the end of a service", () => {
  test("comes on SIGTERM with code 0, though a request is still held open", async () => {
    const { child, client } = await startService(...only({ "hang-after": 1 }));
    const held = client.book("k1", ada, never);
    await vi.waitFor(() => expect(ledgerOnDisk()).toHaveLength(1), 10_000);
    const exited = once(child, "exit");
    // One alone: a second would end a process that has stopped already, and is about to exit.
    child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
    expect(await held).toMatchObject({ kind: "unknown", why: "broken" });
  });

  test("is known to its callers: where no server listens, nothing can have been booked", async () => {
    const { child, client } = await startService();
    await end(child, "SIGTERM");
    expect(await client.book("k1", ada, never)).toMatchObject({ kind: "busy" });
  });
});
