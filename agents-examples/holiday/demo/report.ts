/**
 * What is printed and written when all has ended: the summary, the verdict, and where to go next.
 */
import { writeFileSync } from "node:fs";
import { stripVTControlCharacters, styleText } from "node:util";
import type { Attempt, Intervention, RunDetails } from "@drover/sdk";
import { type ServiceKind, serviceKinds } from "../services/booking-desk.ts";
import { standingBookings } from "../services/ledger.ts";
import type { Holiday } from "./holidays.ts";
import type { Killed } from "./kill.ts";
import { bookingsOf, type Ledgers, type Problem } from "./ledgers.ts";
import type { Child } from "./processes.ts";
import { dim, paint } from "./timeline.ts";
import type { Drover } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  readonly startedTime: Date;
  readonly tookMs: number;
  readonly holidays: readonly Holiday[];
  readonly details: ReadonlyMap<string, RunDetails>;
  readonly ledgers: Ledgers;
  readonly killed: Killed | null;
  readonly problems: readonly Problem[];
  /** Where database, ledgers and logs are. */
  readonly folder: string;
  /** Every process that was started. */
  readonly started: readonly Child[];
}

export function summary(outcome: Outcome): string {
  return [
    runTable(outcome),
    failureTable(outcome),
    interventionTable(outcome),
    ledgerTable(outcome),
    verdict(outcome),
  ].join("\n\n");
}

function runTable({ holidays, details, ledgers }: Outcome): string {
  const rows = holidays.map(({ run, traveller, from, to }) => {
    const found = details.get(run);
    const state = found?.run.state ?? "?";
    const cells = serviceKinds.map((kind) => {
      const { standing } = bookingsOf(ledgers[kind], run);
      return `${attemptsOf(found, kind)}${standing > 0 ? "" : " –"}`;
    });
    const undos = found?.attempts.filter(({ kind }) => kind === "COMPENSATE").length ?? 0;
    const took = found ? msBetween(found.run.createdTime, found.run.endedTime) : 0;
    return [
      run,
      traveller,
      `${from} – ${to}`,
      ...cells,
      undos > 0 ? String(undos) : "",
      paint(state === "COMPLETED" ? "good" : state === "COMPENSATED" ? "undo" : "trouble", state),
      seconds(took),
    ];
  });
  const head = ["run", "traveller", "trip", "flight", "hotel", "car", "undo", "ended", "took"];
  return `${title("Runs", "attempts of each step; – no booking stands")}\n${table(head, rows)}`;
}

function attemptsOf(details: RunDetails | undefined, step: ServiceKind): number {
  const isOne = ({ stepId, kind, late }: Attempt) => stepId === step && kind === "PERFORM" && !late;
  return details?.attempts.filter(isOne).length ?? 0;
}

const meanings: Readonly<Record<string, string>> = {
  busy: "the service said 503: asked again after its Retry-After",
  broken: "the connection broke, booked or not: asked again under the same key",
  "timed-out": "no answer, booked or not: asked again under the same key",
  "no-rooms": "refused for good: the holiday is undone",
  "drover.lost": "the agent fell silent: its tasks went to another",
  "drover.timeout": "the agent did not end in time",
};

function failureTable({ details }: Outcome): string {
  const codes = [...details.values()].flatMap(({ attempts }) =>
    attempts.flatMap(({ failure }) => (failure === null ? [] : [failure.code])),
  );
  const rows = [...countBy(codes)].map(([code, count]) => [
    code,
    String(count),
    meanings[code] ?? "",
  ]);
  return `${title("Failures", "of attempts, by kind")}\n${table(["kind", "number", "what it was"], rows)}`;
}

function interventionTable({ details, killed }: Outcome): string {
  const all = [...details.values()].flatMap(({ interventions }) => interventions);
  const rows = [...Map.groupBy(all, ({ rule }) => rule)].map(([rule, group]) => {
    const lateMs = group.map(timeToDetectMs).sort((a, b) => a - b);
    const median = lateMs[Math.floor(lateMs.length / 2)] ?? 0;
    return [rule, String(group.length), `${median} ms`, `${lateMs.at(-1) ?? 0} ms`];
  });
  const head = ["rule", "number", "median", "longest"];
  const parts = [title("Interventions", "of the supervisor: time to detect, from due to acted")];
  parts.push(table(head, rows));
  const lost = all.filter(({ rule, saw }) => rule === "lease" && saw.includes(killed?.agent ?? ""));
  if (killed !== null && lost.length > 0) {
    const after = lost.map(({ actedTime }) => msBetween(killed.at, actedTime));
    const [first, last] = [seconds(Math.min(...after)), seconds(Math.max(...after))];
    const when = first === last ? first : `${first} to ${last}`;
    parts.push(
      `  When ${killed.agent} was killed, ${after.length} ${after.length === 1 ? "lease" : "leases"} ran out; noticed ${when} later, ` +
        "by heartbeats that did not come.",
    );
  }
  return parts.join("\n");
}

function ledgerTable({ ledgers }: Outcome): string {
  const rows = serviceKinds.map((kind) => {
    const entries = ledgers[kind];
    const booked = entries.filter(({ op }) => op === "booked").length;
    const standing = standingBookings(entries).length;
    return [kind, String(booked), String(booked - standing), String(standing)];
  });
  const note = "what the remote services really did";
  return `${title("Ledgers", note)}\n${table(["ledger", "booked", "cancelled", "stand"], rows)}`;
}

function verdict({ holidays, details, problems, tookMs }: Outcome): string {
  const states = countBy([...details.values()].map(({ run }) => run.state));
  const counts = [...states].map(([state, count]) => `${count} ${state}`).join(", ");
  const head = `${holidays.length} holidays in ${seconds(tookMs)}: ${counts}.`;
  if (problems.length === 0) {
    const good = "RIGHT: every wanted booking stands once, and of an undone holiday none.";
    return `${head}\n${styleText(["bold", "green"], good)}`;
  }
  const lines = problems.map(({ run, message }) => `  ${run}  ${message}`);
  const bad = `WRONG: ${problems.length} thing(s) are not as they must be:`;
  return [head, styleText(["bold", "red"], bad), ...lines].join("\n");
}

export const nextSteps = `${title("Try next", "")}
  npm run demo -- --seed 7      other faults, the same ledgers
  npm run demo -- --keep        leave it running, and look inside with psql and drover
  npm run drover -- dev         a server of your own, its data in ./.drover

${title("Where to look", "")}
  agents-examples/holiday/holiday.yaml            the workflow
  agents-examples/holiday/agents/hotel-agent.ts   an agent, whole
  agents-examples/holiday/README.md               what happened here, and how it is checked`;

export function insideSteps(
  { address, connectionString }: Drover,
  run = "holiday-01",
  folder: string,
): string {
  const drover = `npm run drover -- --address ${address}`;
  const psql = `psql '${connectionString}'`;
  return `${title("Still running", "until Ctrl-C")}
  ${drover} run list
  ${drover} run show key:${run}
  ${psql} -c 'select * from intervention_view order by acted_at'
  ${psql} -c 'select * from run_view'          (and step_view)

${title("Where to look", "")}
  ${folder}/ledgers/   what the remote services did, a fact a line
  ${folder}/logs/      what the processes said`;
}

export function writeJson(path: string, outcome: Outcome): void {
  const { holidays, details, ledgers, killed, problems, started } = outcome;
  const runs = holidays.map((holiday) => {
    const found = details.get(holiday.run);
    return {
      ...holiday,
      runId: found?.run.runId ?? null,
      state: found?.run.state ?? null,
      reason: found?.run.reason ?? null,
      attempts: found?.attempts ?? [],
    };
  });
  const interventions = [...details].flatMap(([run, found]) =>
    found.interventions.map((intervention) => ({
      run,
      ...intervention,
      timeToDetectMs: timeToDetectMs(intervention),
    })),
  );
  const content = {
    seed: outcome.seed,
    startedTime: outcome.startedTime,
    tookMs: outcome.tookMs,
    folder: outcome.folder,
    problems,
    killed,
    processes: started.map(({ name, pid }) => ({ name, pid })),
    runs,
    interventions,
    ledgers,
  };
  const bigints = (_: string, value: unknown) =>
    typeof value === "bigint" ? Number(value) : value;
  writeFileSync(path, `${JSON.stringify(content, bigints, 2)}\n`);
}

function timeToDetectMs({ dueTime, actedTime }: Intervention): number {
  return msBetween(dueTime, actedTime);
}

function msBetween(from: Date | null, to: Date | null): number {
  return (to?.getTime() ?? 0) - (from?.getTime() ?? 0);
}

/** The most frequent first. */
function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const groups = [...Map.groupBy(names, (name) => name)];
  return new Map(
    groups
      .map(([name, { length }]): [string, number] => [name, length])
      .sort(([, a], [, b]) => b - a),
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function title(name: string, note: string): string {
  return note === "" ? styleText("bold", name) : `${styleText("bold", name)}  ${dim(note)}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => visibleLength(row[column] ?? ""))),
  );
  const line = (cells: readonly string[]) => {
    const padded = cells.map(
      (cell, column) => cell + " ".repeat((widths[column] ?? 0) - visibleLength(cell)),
    );
    return `  ${padded.join("  ")}`.trimEnd();
  };
  return [dim(line(head)), ...rows.map(line)].join("\n");
}

function visibleLength(text: string): number {
  return stripVTControlCharacters(text).length;
}
