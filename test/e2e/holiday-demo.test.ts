/**
 * The demo as a user runs it: a process of its own that ends by itself, reports by its exit code
 * whether the ledgers are right, and leaves nothing behind. And its check, over ledgers that are
 * wrong.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Attempt, createClient } from "@drover/sdk";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Holiday, holidays } from "../../agents-examples/holiday/demo/holidays.ts";
import { checkLedgers, type Ledgers } from "../../agents-examples/holiday/demo/ledgers.ts";
import type { LedgerEntry } from "../../agents-examples/holiday/services/ledger.ts";
import { callJson, listAt } from "../support/json-call.ts";

const program = fileURLToPath(new URL("../../agents-examples/holiday/demo.ts", import.meta.url));
const demoMsMax = 120_000;

interface Report {
  readonly folder: string;
  readonly problems: readonly unknown[];
  readonly killed: { readonly agent: string; readonly held: readonly string[] } | null;
  readonly processes: readonly { readonly name: string; readonly pid: number }[];
  readonly runs: readonly {
    readonly run: string;
    readonly state: string;
    readonly end: string;
    readonly attempts: readonly Attempt[];
  }[];
  readonly interventions: readonly {
    readonly rule: string;
    readonly saw: string;
    readonly timeToDetectMs: number;
  }[];
  readonly ledgers: Ledgers;
}

interface Demo {
  readonly child: ChildProcess;
  readonly lines: readonly string[];
  readonly ended: Promise<number | null>;
  /** Resolves when a line with these words is printed. */
  readonly printed: (text: string) => Promise<void>;
}

/** Its temporary folders are made in a folder of the test, so that what stays is seen. */
function runDemo(folder: string, ...args: readonly string[]): Demo {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TMPDIR: folder },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const output = [child.stdout, child.stderr].map((input) => createInterface({ input }));
  for (const reader of output) reader.on("line", (line) => void lines.push(line));
  const [stdout] = output;
  return {
    child,
    lines,
    ended: once(child, "close").then(([code]) => code),
    async printed(text) {
      const isPrinted = (line: string) => line.includes(text);
      while (!lines.some(isPrinted)) {
        if (child.exitCode !== null) throw new Error(`ended early:\n${lines.join("\n")}`);
        await Promise.race([stdout && once(stdout, "line"), once(child, "close")]);
      }
    },
  };
}

function givenFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holiday-demo-"));
  // As root, PostgreSQL runs under another account, which must be able to pass.
  chmodSync(folder, 0o711);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Processes whose command line or working directory names the folder. */
function processesIn(folder: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        const isOurs = command.includes(folder) && !command.includes("demo.ts");
        return isOurs ? [`${pid} ${command}`] : [];
      } catch {
        return [];
      }
    });
}

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

test(
  "25 holidays end as they must although an agent is killed, and nothing stays behind",
  async () => {
    const folder = givenFolder();
    const file = join(folder, "report.json");
    const demo = runDemo(folder, "--json", file);
    const code = await demo.ended;
    expect(code, demo.lines.join("\n")).toBe(0);

    const report: Report = JSON.parse(readFileSync(file, "utf8"));
    expect(report.runs).toHaveLength(25);
    expect(report.runs.filter(({ state }) => state === "COMPLETED")).toHaveLength(22);
    const undone = report.runs.filter(({ state }) => state === "COMPENSATED");
    expect(undone.map(({ run }) => run)).toEqual(["holiday-03", "holiday-12", "holiday-20"]);

    const states = new Map(report.runs.map(({ run, state }) => [run, state]));
    expect(checkLedgers(holidays, states, report.ledgers)).toEqual([]);
    expect(report.problems).toEqual([]);

    const verified = report.runs.flatMap(({ attempts }) =>
      attempts.filter(({ kind, outcome }) => kind === "VERIFY" && outcome === "SUCCESS"),
    );
    expect(verified.length).toBeGreaterThan(0);
    const inSecondHotel = report.ledgers.hotel.flatMap((entry) =>
      entry.op === "booked" && entry.booking.hotel === "Foz Guesthouse" ? [entry.traveller] : [],
    );
    expect(inSecondHotel.sort()).toEqual(["Ken", "Margaret", "Niklaus", "Ole"]);

    const { killed } = report;
    expect(killed?.held.length).toBeGreaterThan(0);
    const noticed = report.interventions.filter(
      ({ rule, saw }) => rule === "lease" && saw.includes(killed?.agent ?? "no agent"),
    );
    expect(noticed.length).toBeGreaterThan(0);
    for (const { timeToDetectMs } of noticed) expect(timeToDetectMs).toBeGreaterThanOrEqual(0);

    expect(report.processes.map(({ name }) => name)).toContain("server");
    expect(report.processes.filter(({ pid }) => isRunning(pid))).toEqual([]);
    expect(processesIn(report.folder)).toEqual([]);
    expect(existsSync(report.folder)).toBe(false);
  },
  demoMsMax,
);

test(
  "with --keep the dashboard, the runs and the agents stay until Ctrl-C, which stops everything",
  async () => {
    const folder = givenFolder();
    const demo = runDemo(folder, "--keep");
    await demo.printed("Still running");
    const [url = ""] = /http:\/\/[\d.:]+\/(?= +the dashboard)/.exec(demo.lines.join("\n")) ?? [];
    const page = await fetch(url);
    expect(page.status, demo.lines.join("\n")).toBe(200);
    expect(await page.text()).toContain('id="app"');

    const { host } = new URL(url);
    const { body } = await callJson(host, "SchedulerService/ListRuns", {});
    expect(listAt(body, "runs")).toHaveLength(25);
    // The agents still work: another holiday is booked.
    const client = createClient({ address: host });
    onTestFinished(() => client.close());
    const input = { ...holidays[0], run: "one-more" };
    const one = await client.schedule({ workflow: "book-holiday", input });
    expect((await client.waitRun(one.runId)).state).toBe("COMPLETED");

    demo.child.kill("SIGINT");
    expect(await demo.ended, demo.lines.join("\n")).toBe(0);
    expect(processesIn(folder)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  },
  demoMsMax,
);

test(
  "Ctrl-C in the middle stops everything, and the temporary folder is removed",
  async () => {
    const folder = givenFolder();
    const demo = runDemo(folder);
    await demo.printed("scheduled");
    demo.child.kill("SIGINT");
    expect(await demo.ended, demo.lines.join("\n")).toBe(130);
    expect(processesIn(folder)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  },
  demoMsMax,
);

test(
  "the naive caller leaves flights without a hotel",
  async () => {
    const demo = runDemo(givenFolder(), "--naive");
    expect(await demo.ended, demo.lines.join("\n")).toBe(1);
    expect(demo.lines.join("\n")).toMatch(/holiday-12 +flight: 1 booking\(s\) left standing/);
  },
  demoMsMax,
);

test("wrong words are answered with the usage and exit code 2", async () => {
  const demo = runDemo(givenFolder(), "--seed", "many");
  expect(await demo.ended).toBe(2);
  expect(demo.lines.join("\n")).toContain("--seed is many; give a whole number");
});

describe("the check of the ledgers", () => {
  const trip = { traveller: "T", from: "A", to: "B", hotel: "H", second_hotel: "G", car: "C" };
  const wanted: readonly Holiday[] = [
    { ...trip, run: "holiday-01", end: "COMPLETED" },
    { ...trip, run: "holiday-03", end: "COMPENSATED" },
  ];

  function booked(run: string, bookingId: string): LedgerEntry {
    const booking = { traveller: "T", from: "A", to: "B", run };
    const key = `key-${bookingId}`;
    return { at: "now", op: "booked", key, traveller: "T", booking_id: bookingId, booking };
  }

  function cancelled(bookingId: string | null): LedgerEntry {
    const key = `key-${bookingId}`;
    return { at: "now", op: "cancelled", key, traveller: "T", booking_id: bookingId };
  }

  /** As they must be: the first holiday is booked, the second one undone. */
  const right: Ledgers = {
    flight: [booked("holiday-01", "f1"), booked("holiday-03", "f2"), cancelled("f2")],
    hotel: [booked("holiday-01", "h1")],
    car: [cancelled(null), booked("holiday-01", "c1")],
  };
  const ends = new Map([
    ["holiday-01", "COMPLETED"],
    ["holiday-03", "COMPENSATED"],
  ]);

  function contradictions(ledgers: Partial<Ledgers>, states: ReadonlyMap<string, string> = ends) {
    const problems = checkLedgers(wanted, states, { ...right, ...ledgers });
    return problems.map(({ run, message }) => `${run} ${message}`);
  }

  test("finds nothing wrong where each booking was made once, or cancelled", () => {
    expect(contradictions({})).toEqual([]);
  });

  test("finds a booking that was made twice", () => {
    const hotel = [...right.hotel, booked("holiday-01", "h2")];
    expect(contradictions({ hotel })).toEqual([
      "holiday-01 hotel: booked 2 times; once was wanted",
    ]);
  });

  test("finds a booking that was made twice even if one of them was cancelled", () => {
    const hotel = [...right.hotel, booked("holiday-01", "h2"), cancelled("h2")];
    expect(contradictions({ hotel })).toEqual([
      "holiday-01 hotel: booked 2 times; once was wanted",
    ]);
  });

  test("finds a booking that is missing", () => {
    expect(contradictions({ car: [] })).toEqual(["holiday-01 car: the booking is missing"]);
  });

  test("finds a booking of a completed holiday that was cancelled", () => {
    const hotel = [...right.hotel, cancelled("h1")];
    expect(contradictions({ hotel })).toEqual([
      "holiday-01 hotel: the booking was cancelled; it had to stand",
    ]);
  });

  test("finds a booking that an undone holiday left standing", () => {
    const flight = right.flight.slice(0, 2);
    expect(contradictions({ flight })).toEqual([
      "holiday-03 flight: 1 booking(s) left standing; none may be",
    ]);
  });

  test("finds a booking that belongs to no holiday", () => {
    const car = [...right.car, booked("holiday-99", "c9")];
    expect(contradictions({ car })).toEqual(["holiday-99 car: c9 for T belongs to no holiday"]);
  });

  test("finds a run that ended otherwise than it had to, whatever the ledgers show", () => {
    const states = new Map([...ends, ["holiday-01", "FAILED"]]);
    expect(contradictions({}, states)).toEqual([
      "holiday-01 the run is FAILED; it had to end COMPLETED",
    ]);
  });

  test("finds a run that Drover does not know", () => {
    expect(contradictions({}, new Map([["holiday-03", "COMPENSATED"]]))).toEqual([
      "holiday-01 the run is unknown to Drover; it had to end COMPLETED",
    ]);
  });
});
