// Heartbeats of many sessions in two statements.
import type { BeatAnswer, BeatsHeard, SessionBeat } from "../beats.ts";
import { cancels } from "./codes.ts";
import { columns, payloadColumns } from "./columns.ts";
import type { Query } from "./transaction.ts";

interface HeardRow {
  readonly place: number;
  readonly heartbeat_ms: number;
  readonly busy: boolean;
  readonly cancel: number;
  readonly cancel_left_ms: number | null;
}

interface ForgottenRow {
  readonly place: null;
  readonly run_id: string;
  readonly partition: number;
  readonly step_no: number;
  readonly fence: number;
  readonly secret: string;
}

export async function beat(query: Query, beats: readonly SessionBeat[]): Promise<BeatsHeard> {
  const sessions = [...new Map(beats.map((one) => [one.session, one])).values()];
  const others = await query<{ session: string; namespace_id: number | null }>(
    "beat_sessions",
    columns(
      sessions,
      (one) => one.session,
      (one) => one.namespaceId,
      (one) => one.agentId,
      (one) => one.agentVersion,
    ),
  );
  const bound = new Map(sessions.map(({ session, namespaceId }) => [session, namespaceId]));
  for (const { session, namespace_id: namespaceId } of others) bound.set(session, namespaceId ?? 0);
  const foreign = new Set(
    beats.filter(({ session, namespaceId }) => bound.get(session) !== namespaceId),
  );
  const rows = await beatLeases(
    query,
    beats.filter((one) => !foreign.has(one)),
  );
  const byPlace = new Map(rows.flatMap((row) => (row.place === null ? [] : [[row.place, row]])));
  let place = 0;
  return {
    answers: beats.map((one) =>
      one.reports.map(() => {
        if (foreign.has(one)) return { kind: "lease-lost" };
        place += 1;
        return beatAnswer(byPlace.get(place));
      }),
    ),
    foreign,
    forgotten: rows.flatMap((row) => {
      if (row.place !== null) return [];
      const { run_id: runId, partition, step_no: step, fence, secret } = row;
      return [{ runId, partition, step, fence, secret }];
    }),
  };
}

async function beatLeases(
  query: Query,
  beats: readonly SessionBeat[],
): Promise<readonly (HeardRow | ForgottenRow)[]> {
  const reports = beats.flatMap(({ session, reports: of }) =>
    of.map((report) => ({ ...report, session, payload: payloadColumns(report.details) })),
  );
  const whole = new Map<string, number>();
  for (const { session, listsAllTo = 0 } of beats)
    if (listsAllTo > (whole.get(session) ?? 0)) whole.set(session, listsAllTo);
  if (reports.length === 0 && whole.size === 0) return [];
  return query<HeardRow | ForgottenRow>("beat_leases", [
    ...columns(
      reports,
      (report) => report.runId,
      (report) => report.step,
      (report) => report.fence,
      (report) => report.secret,
      (report) => report.session,
      (report) => report.progress,
      (report) => report.payload.type,
      (report) => report.payload.json,
      (report) => report.payload.data,
    ),
    ...columns(
      [...whole],
      ([session]) => session,
      ([, listsAllTo]) => listsAllTo,
    ),
  ]);
}

function beatAnswer(row: HeardRow | undefined): BeatAnswer {
  if (!row) return { kind: "lease-lost" };
  if (row.busy) return { kind: "busy" };
  if (cancels.name(row.cancel) === "none") return { kind: "carry-on", leaseMs: row.heartbeat_ms };
  return { kind: "cancel", withinMs: row.cancel_left_ms ?? 0 };
}
