/**
 * What is printed and written when all has ended: the summary, the conclusion, and where to go
 * next.
 */
import { writeFileSync } from "node:fs";
import type { Attempt, RunDetails } from "@drover/sdk";
import type { Child } from "../../stage/processes.ts";
import {
  conclusionLines,
  countBy,
  failureTable,
  interventionTable,
  msBetween,
  seconds,
  table,
  timeToDetectMs,
  title,
} from "../../stage/tables.ts";
import { paint } from "../../stage/timeline.ts";
import type { Drover } from "../../stage/workspace.ts";
import { type ServiceKind, serviceKinds } from "../services/booking-desk.ts";
import { activeBookings } from "../services/ledger.ts";
import type { Holiday } from "./holidays.ts";
import type { Killed } from "./kill.ts";
import { bookingsOf, type Ledgers, type Problem } from "./ledgers.ts";

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
    failureTable(outcome.details, meanings),
    interventionTable(outcome.details) + killNote(outcome),
    ledgerTable(outcome),
    conclusion(outcome),
  ].join("\n\n");
}

function runTable({ holidays, details, ledgers }: Outcome): string {
  const rows = holidays.map(({ run, traveller, from, to }) => {
    const found = details.get(run);
    const state = found?.run.state ?? "?";
    const cells = serviceKinds.map((kind) => {
      const { active } = bookingsOf(ledgers[kind], run);
      return `${attemptsOf(found, kind)}${active > 0 ? "" : " –"}`;
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
  return `${title("Runs", "attempts of each step; – no active booking")}\n${table(head, rows)}`;
}

function attemptsOf(details: RunDetails | undefined, step: ServiceKind): number {
  const isOne = ({ stepId, kind, late }: Attempt) => stepId === step && kind === "PERFORM" && !late;
  return details?.attempts.filter(isOne).length ?? 0;
}

const meanings: Readonly<Record<string, string>> = {
  busy: "the service answered 503: tried again after its Retry-After",
  broken: "the connection broke, effect unknown: a flight is verified, others tried again by key",
  "timed-out": "no answer, effect unknown: the same",
  "did-not-happen": "verified: no flight was booked",
  "no-rooms": "permanent: the second hotel, or the holiday is undone",
  "drover.lost": "the agent fell silent: its tasks went to another",
  "drover.timeout": "the agent did not end in time",
};

/** When what the killed agent held was noticed. */
function killNote({ details, killed }: Outcome): string {
  if (killed === null)
    return "\n  No agent was killed: the hotel agent held too few tasks each time it was checked.";
  const all = [...details.values()].flatMap(({ interventions }) => interventions);
  const lost = all.filter(({ rule, saw }) => rule === "lease" && saw.includes(killed.agent));
  if (lost.length === 0) return "";
  const after = lost.map(({ actedTime }) => msBetween(killed.at, actedTime));
  const first = seconds(Math.min(...after));
  const last = seconds(Math.max(...after));
  const when = first === last ? first : `${first} to ${last}`;
  const leases = `${after.length} ${after.length === 1 ? "lease" : "leases"}`;
  return (
    `\n  When ${killed.agent} was killed, ${leases} ran out; noticed ${when} later, ` +
    "by heartbeats that did not come."
  );
}

function ledgerTable({ ledgers }: Outcome): string {
  const rows = serviceKinds.map((kind) => {
    const entries = ledgers[kind];
    const booked = entries.filter(({ op }) => op === "booked").length;
    const active = activeBookings(entries).length;
    return [kind, String(booked), String(booked - active), String(active)];
  });
  const note = "what the remote services really did";
  return `${title("Ledgers", note)}\n${table(["ledger", "booked", "cancelled", "active"], rows)}`;
}

export const right =
  "every wanted booking is active once, and an undone holiday has no active booking.";

function conclusion({ holidays, details, problems, tookMs }: Outcome): string {
  const states = countBy([...details.values()].map(({ run }) => run.state));
  const counts = [...states].map(([state, count]) => `${count} ${state}`).join(", ");
  const head = `${holidays.length} holidays in ${seconds(tookMs)}: ${counts}.`;
  return [head, ...conclusionLines(problems, right)].join("\n");
}

export const nextSteps = `${title("Try next", "")}
  npm run demo -- --seed 7      other faults, the same ledgers
  npm run demo -- --keep        leave it running: dashboard, psql, drover run list
  npm run drover -- dev         a server of your own, its data in ./.drover

${title("Where to find more", "")}
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
  http://${address}/          the dashboard: what needs attention, and the history of each run
  ${drover} run list
  ${drover} run show key:${run}
  ${psql} -c 'select * from drover.intervention_view order by acted_at'
  ${psql} -c 'select * from drover.run_view'          (and step_view)

${title("Where to find more", "")}
  ${folder}/ledgers/   what the remote services did, a fact a line
  ${folder}/logs/      the logs of the processes`;
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
