// Heartbeats: the session has beaten, and pages keep what was said of its tasks.
import type { Moment } from "../../core/attempt.ts";
import { hearHeartbeat } from "../../core/page/hand-out.ts";
import { pageNoOf } from "../../core/page/page.ts";
import type { BeatAnswer, BeatReport, BeatsHeard, SessionBeat, SessionLease } from "../beats.ts";
import { putPage, putPayloads, type Writing } from "./pages.ts";
import { pageKey, type Tables } from "./tables.ts";

export function beatSessions(writing: Writing, beats: readonly SessionBeat[]): BeatsHeard {
  const { tables, now } = writing;
  const foreign = new Set(beats.filter((beat) => !beatSession(tables, now, beat)));
  const own = beats.filter((beat) => !foreign.has(beat));
  return {
    answers: beats.map((beat) =>
      beat.reports.map((report) =>
        foreign.has(beat) ? { kind: "lease-lost" } : beatTask(writing, beat.session, report),
      ),
    ),
    forgotten: forgottenLeases(tables, own),
    foreign,
  };
}

/** False: the session belongs to another namespace, and nothing is stored. */
function beatSession(tables: Tables, now: Moment, beat: SessionBeat): boolean {
  const { session, namespaceId, agentId, agentVersion } = beat;
  const stored = tables.agentSession.get(session);
  if (stored && stored.namespaceId !== namespaceId) return false;
  tables.agentSession.put({ session, namespaceId, agentId, agentVersion, lastBeatAt: now });
  return true;
}

/** What sessions have left out of lists that they call whole: those of a session are one. */
function forgottenLeases(tables: Tables, beats: readonly SessionBeat[]): readonly SessionLease[] {
  const listed = new Set(beats.flatMap(({ reports }) => reports.map(({ secret }) => secret)));
  return [...Map.groupBy(beats, ({ session }) => session)].flatMap(([session, of]) => {
    const upTo = Math.max(...of.map(({ listsAllTo = 0 }) => listsAllTo));
    return tables.lease.where("session", session).flatMap((lease) => {
      const { runId, partition, step, fence, secret, pollSeq } = lease;
      const isForgotten = pollSeq <= upTo && !listed.has(secret);
      return isForgotten ? [{ runId, partition, step, fence, secret }] : [];
    });
  });
}

function beatTask(writing: Writing, session: string, report: BeatReport): BeatAnswer {
  const { tables, now } = writing;
  const { runId, step: place } = report;
  const row = tables.page.get(pageKey(runId, pageNoOf(place)));
  const was = row?.page.steps.get(place);
  const heard = was ? hearHeartbeat(was, session, report, now) : null;
  if (!row || !heard) return { kind: "lease-lost" };
  putPayloads(tables, runId, heard.payloads);
  if (heard.step !== was) {
    const { page } = row;
    putPage(writing, row, { ...page, steps: new Map(page.steps).set(place, heard.step) });
  }
  return heard.answer;
}
